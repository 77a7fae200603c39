"""Fill values of masks: constants far outside the range of the other elements of a tensor, and how they propagate.

A model excludes elements by overwriting them with a constant, or by adding one to them: -1e4, -1e9, -65504, the lowest
f32, or +1e9 for a cost. Operations that read the tensor compare its elements and never select the filled ones. With a
single scale for all elements, only a handful of codes, or a single one, remain for the other elements. So operations on
a tensor with a fill compute in float, as operations on infinities do. A softmax reads its mask as a separate operand,
so none of this applies to it (see `masks`).

The source of a fill is certain: a constant, a number selected by a condition, or a value that had only two distinct
elements in all samples. Its distance from the other elements is derived from their recorded ranges or, after an
operation that computes new values, from a gap in the histogram.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp, MulOp, NegOp, SubOp, WhereOp
from qmlir.dialects.nn.indexing.ops import ScatteringOp
from qmlir.dialects.nn.movement.ops import AxesOp, ReshapeOp, TransposeOp
from qmlir.dialects.nn.shapes.ops import ExpandOp, TileOp
from qmlir.ir.builtin_types import as_integer, element_of
from qmlir.ir.control_flow import ForwardedValue, read_only_by, together
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.quantization.profiles.statistics import observed, seen_statistics
from qmlir.quantization.retyping import is_f32, slots_of

FAR = 4.0
"""The least factor by which a fill exceeds the largest other element of a mask: at this factor, 8 bits lose 8 dB."""

FAR_REPEATED = 16.0
"""This factor if the fill is one of many distinct elements and occurs repeatedly, and for a gap in a histogram."""

FAR_ONCE = 1024.0
"""This factor for an element that occurs only once in a constant table, such as the transitions of a CRF."""

_FEW = 8
"""The largest number of distinct elements of a value that is itself a mask."""

_REPEATED = 16
"""The number of elements needed to prove by statistics that all of them are one or two distinct numbers."""

_LARGEST = 1 << 20
"""The largest number of elements of a constant that is searched for a fill: 1024 by 1024 transition scores."""

_RESHAPED = (ReshapeOp, TransposeOp, AxesOp, ExpandOp, TileOp)
"""Operations whose results have exactly the elements of their operands."""

_ARITHMETIC: Mapping[type[Operation], np.ufunc] = {AddOp: np.add, SubOp: np.subtract, MulOp: np.multiply}
_NUMBERED = (CastOp, WhereOp, NegOp, AddOp, SubOp, MulOp, *_RESHAPED)
"""Operations whose results have few distinct elements if their operands do."""


_Numbers = dict[SSAValue, "tuple[float, ...] | None"]


@dataclass(frozen=True)
class Fill:
    """The magnitudes of the fill and of the other elements of a value."""

    others: float
    """The largest magnitude of the elements that are not fills."""

    fill: float
    """The fill, or the one with the smallest magnitude if there are several."""

    @property
    def reason(self) -> str:
        """Why an operation on such a value stays in float."""
        return FloatCause.FAR_FILL.reason(fill=self.fill)


def _split(numbers: npt.ArrayLike, others: float, far: float) -> Fill | None:
    """Returns the first of `numbers` whose magnitude is more than `far` times `others` and all smaller ones.

    Returns the last such number if nothing is known of the others (0): the smallest ones may also be far apart.
    """
    given = np.asarray(numbers, np.float64)
    ascending = given[np.argsort(np.abs(given), kind="stable")]
    magnitudes = np.abs(ascending)
    before = np.maximum(np.concatenate(([others], magnitudes[:-1])), others)[: len(magnitudes)]
    (far_ones,) = np.nonzero((far * before > 0) & (far * before < magnitudes))
    if not far_ones.size:
        return None
    position = far_ones[0 if others > 0 else -1]
    return Fill(float(before[position]), float(ascending[position]))


def _occupied(seen: Statistics) -> F64:
    """Returns the element of each occupied bin that is farthest from 0; the bins at 0 count as one, with their
    width."""
    edges, occupied = seen.histogram.edges, np.flatnonzero(seen.histogram.counts)
    low, high = edges[occupied], edges[occupied + 1]
    ends = np.clip(np.where(low < 0, low, high), seen.minimum, seen.maximum)
    return np.where((low == 0) | (high == 0), seen.histogram.width, ends)


def _ends(seen: Statistics) -> tuple[float, ...] | None:
    """Returns the one or two numbers that all elements of a value were; `None` if there were others.

    No term of the sum of (v - low) (v - high) is above 0, so the sum is 0 only if each term is. It is exact.
    """
    low, high = Fraction(seen.minimum), Fraction(seen.maximum)
    if any(seen.infinities) or np.count_nonzero(seen.histogram.counts) > 2:
        return None
    if seen.moments.squares - (low + high) * seen.moments.total + low * high * seen.count:
        return None
    return tuple(sorted({float(low), float(high)}))


def _few_of(array: Array) -> tuple[float, ...] | None:
    """Returns the distinct finite elements of a constant; `None` if there are none, or more than a few.

    The bias of a few channels is excluded: its elements are mostly distinct.
    """
    if np.unique(array.reshape(-1)[: 4 * _FEW]).size > _FEW:
        return None
    numbers: list[float] = np.unique(array[np.isfinite(array)]).tolist()
    return tuple(numbers) if numbers and (array.size == 1 or 2 * len(numbers) <= array.size) else None


@dataclass
class Fills:
    """The values of a function that contain fills, and the operations that stay in float because of them."""

    function: FuncOp
    of: dict[SSAValue, Fill] = field(default_factory=dict[SSAValue, Fill], init=False)
    reasons: dict[Operation, str] = field(default_factory=dict[Operation, str], init=False)
    """The operations that read or compute a value with a fill, or only compute its mask, with the reasons for float."""

    _numbers: _Numbers = field(default_factory=_Numbers, init=False)

    def __post_init__(self) -> None:
        for value in self.function.body.block.args:
            if is_f32(value) and (found := self._given(value)) is not None:
                self.of[value] = found
        known = -1
        while known != len(self.of):  # the end of a loop body determines what its iterations carry
            known = len(self.of)
            for op in self.function.walk():
                self._visit(op)
        # Operations that only compute the mask also stay in float: in 8 bits, 3e38 may become infinity.
        masks = read_only_by(self.function, lambda use: use.operation in self.reasons, self._may_be_mask)
        self.reasons |= dict.fromkeys(masks, FloatCause.FAR_FILL_MASK.reason())

    def _visit(self, op: Operation) -> None:
        for given, taken in together(op):
            values = [value for value in (*(each.given for each in given), *taken) if is_f32(value)]
            found = next((self.of[each] for each in values if each in self.of), None) or self._begun(given)
            if found is not None:
                self.of.update((each, self.of.get(each, found)) for each in values if constant_array(each) is None)
        if not isinstance(op, Quantizable):
            return
        if isinstance(op, _NUMBERED):  # operands before results, so that long chains do not recurse
            self.numbers(op.results[0])
        carried = next((self.of[each] for each in op.operands if each in self.of), None)
        made = self._made(op)
        for result in filter(is_f32, op.results):
            found = made or (None if carried is None else self._behind(op, result, carried))
            if found is not None:
                self.of.setdefault(result, found)
        fill = made or carried or next((self.of[each] for each in op.results if each in self.of), None)
        if fill is not None:
            self.reasons.setdefault(op, fill.reason)

    def _may_be_mask(self, op: Operation) -> bool:
        is_number = isinstance(op, Quantizable) and not isinstance(op, MultipliesAndAdds | ConstantOp)
        return is_number and op not in self.reasons and all(map(self.numbers, op.results))

    # --- Which elements a value can have ------------------------------------------------------------------------------

    def numbers(self, value: SSAValue) -> tuple[float, ...] | None:
        """Returns the distinct elements of a mask or a constant that has few of them; `None` for any other value."""
        if value not in self._numbers:
            self._numbers[value] = None  # a loop-carried value is not a mask because of the loop body alone
            found = self._few(value)
            self._numbers[value] = found if found is not None and len(found) <= _FEW else None
        return self._numbers[value]

    def _few(self, value: SSAValue) -> tuple[float, ...] | None:
        op, array = value.owner, constant_array(value)
        if array is not None:
            return _few_of(array) if is_f32(value) else None
        found: tuple[float, ...] | None = None
        match op:
            case CastOp() if self._is_bit(element_of(op.input), value):
                found = (0.0, 1.0)
            case WhereOp():
                left, right = self.numbers(op.lhs), self.numbers(op.rhs)
                found = None if left is None or right is None else (*left, *right)
            case NegOp() | AddOp() | SubOp() | MulOp():
                found = self._computed(op)
            case _ if isinstance(op, _RESHAPED):
                found = self.numbers(op.operands[0])
            case _:
                pass
        if found is None and isinstance(value.owner, Block) and value.owner is not self.function.body.block:
            return None
        seen = seen_statistics(value) if found is None else None
        if seen is not None and seen.count >= _REPEATED:
            return _ends(seen)
        return None if found is None else tuple(sorted(set(found)))

    @staticmethod
    def _is_bit(source: Attribute, value: SSAValue) -> bool:
        """Returns True if `value`, which was cast from elements of type `source`, can only be 0 or 1."""
        seen = observed(value) if as_integer(source) is not None else None
        return source == i1 or (seen is not None and seen.minimum >= 0 and seen.maximum <= 1)

    def _computed(self, op: NegOp | AddOp | SubOp | MulOp) -> tuple[float, ...] | None:
        few = [self.numbers(each) for each in op.operands]
        choices = [np.array(each, np.float32) for each in few if each is not None]
        if len(choices) < len(few) or math.prod(map(len, choices)) > _FEW**2:
            return None
        with np.errstate(all="ignore"):
            found = -choices[0] if isinstance(op, NegOp) else _ARITHMETIC[type(op)].outer(*choices)
        return tuple(found[np.isfinite(found)].tolist())

    def _reach(self, value: SSAValue) -> float:
        """Returns the largest magnitude of `value`, except for its fills."""
        array, seen = constant_array(value), observed(value)
        if value in self.of:
            return self.of[value].others
        if array is not None:
            return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
        if seen is None:
            return 0.0
        own = seen.statistics  # the range of a loop-carried value includes its initial value
        ends = (seen.minimum, seen.maximum) if own is None or not own.count else (own.minimum, own.maximum)
        return max(map(abs, ends))

    # --- Where fills come from ----------------------------------------------------------------------------------------

    def _begun(self, given: Sequence[ForwardedValue]) -> Fill | None:
        """Returns the fill of a constant that initializes a loop, or that a branch yields alongside computed values."""
        masks = [number for each in given for number in self.numbers(each.given) or ()]
        near = [self._near(each.given, masks) for each in given if self.numbers(each.given) is None]
        return _split(masks, max(near, default=0.0), FAR)

    def _near(self, value: SSAValue, masks: Sequence[float]) -> float:
        """Returns the largest magnitude of `value`, except for elements near one of `masks` and far from all others."""
        seen = seen_statistics(value)
        if value in self.of or seen is None or not seen.count:
            return self._reach(value)
        found = _split(_occupied(seen), 0.0, FAR)
        is_mask = found is not None and any(abs(found.fill - each) <= 2 * found.others for each in masks)
        return found.others if found is not None and is_mask else self._reach(value)

    @staticmethod
    def _given(value: SSAValue) -> Fill | None:
        """Returns the fill of an argument: one number far from the others that many elements have."""
        statistics = seen_statistics(value)
        if statistics is None or not statistics.count or any(statistics.infinities):
            return None
        found = _split(_occupied(statistics), 0.0, FAR_REPEATED)
        if found is None or len({statistics.minimum, statistics.maximum} & {found.fill}) != 1:
            return None
        counts, fill = statistics.histogram.counts, Fraction(found.fill)
        number = int(counts[0] if found.fill == statistics.minimum else counts[-1])
        rest = statistics.moments.squares - number * fill**2  # 0 to others^2 for each of the others
        is_one = 0 <= rest <= (statistics.count - number) * Fraction(found.others) ** 2
        return found if is_one and number >= _REPEATED else None

    def _made(self, op: Quantizable) -> Fill | None:
        """Returns the fill that `op` writes among the elements of its operands, or adds to some of them."""
        data = [op.operands[position] for position, slot in slots_of(op).items() if slot is not Slot.WEIGHT]
        data = [value for value in data if is_f32(value)]
        if isinstance(op, AddOp | SubOp) or (isinstance(op, ScatteringOp) and op.reduction.data == "add"):
            pairs = permutations(data) if len(data) == 2 else ()  # no sums of integers
            return next((found for value, mask in pairs if (found := self._added(value, mask)) is not None), None)
        if op.quantization_slots().shares_parameters:
            return self._joined(data) if len(data) > 1 else next(filter(None, map(self._in_constant, data)), None)
        return None

    def _added(self, value: SSAValue, mask: SSAValue) -> Fill | None:
        """Returns the fill that `mask` adds to some elements of `value`; adding it to all would only shift them."""
        few, others = self.numbers(mask), self._reach(value)
        if self.numbers(value) is not None or not others:
            return None
        own = None if few is None else self._in_constant(value)
        if own is not None or (few is None and constant_array(value) is not None):
            return own
        if few is None:
            found = self._in_constant(mask, others)
            return None if found is None else Fill(others + found.others, found.fill)
        return _split(few, others, FAR) if min(map(abs, few)) <= FAR * others else None

    def _joined(self, data: Sequence[SSAValue]) -> Fill | None:
        """Returns the fill of an operand that `op` joins with the others."""
        masks = [few for value in data if (few := self.numbers(value)) is not None]
        rest = [value for value in data if self.numbers(value) is None]
        computed = [value for value in rest if constant_array(value) is None]
        others = max(map(self._reach, computed), default=0.0)
        parts = [self._in_constant(value, others) for value in rest if value not in computed]
        fills = [part.fill for part in parts if part is not None]
        return _split([number for few in masks for number in few] + fills, others, FAR)

    @staticmethod
    def _in_constant(value: SSAValue, others: float = 0.0) -> Fill | None:
        """Returns the fill of a constant of many elements, used together with values of a magnitude up to `others`.

        The fill is one number, up to the differences of the other elements. A single far element of a vector is an
        outlier of a bias, not a fill.
        """
        array = constant_array(value)
        if array is None or not 0 < array.size <= _LARGEST or not np.abs(array).max() > FAR_REPEATED * others:
            return None
        numbers, counts = np.unique(array[np.isfinite(array)], return_counts=True)
        is_table = sum(size > 1 for size in array.shape) > 1
        for far in (FAR_ONCE, FAR_REPEATED) if is_table else (FAR_REPEATED,):
            found = _split(numbers, others, far)
            if found is None:
                continue
            is_fill = np.abs(numbers) >= abs(found.fill)
            near = max(2 * found.others, 1e-3 * abs(found.fill)) if far == FAR_ONCE else 0.0
            sides = [numbers[is_fill & side] for side in (numbers < 0, numbers > 0)]
            if all(np.ptp(each) <= near for each in sides if each.size) and (near or counts[is_fill].min() > 1):
                return found
        return None

    # --- How fills propagate ------------------------------------------------------------------------------------------

    def _behind(self, op: Quantizable, result: SSAValue, carried: Fill) -> Fill | None:
        """Returns the fill of a result of `op`, one of whose operands has the fill `carried`."""
        if isinstance(op, _RESHAPED):
            return carried
        seen = observed(result)
        if seen is None:
            return None
        if op.quantization_slots().shares_parameters or seen.statistics is None:
            reach = max(abs(seen.minimum), abs(seen.maximum))
            return carried if reach >= math.sqrt(abs(carried.fill) * carried.others) else None
        found = _split(_occupied(seen.statistics), 0.0, FAR)
        is_same = found is not None and 2 * abs(found.fill) >= abs(carried.fill)
        return found if is_same else _split(_occupied(seen.statistics), 0.0, FAR_REPEATED)
