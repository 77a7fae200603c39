"""Masks: values that only select the elements that take part in a softmax, in any of the forms that models use.

A mask is added to the scores (0 for an element that takes part, a large negative number for the others), or replaces
them (`Where(keep, scores, fill)`). Treated as data, a mask would widen the range of the scores so much that one 8-bit
step exceeds all differences between them. Treated as a selection, it is exact: an element takes part, or its
probability is 0.

A value is known to be a mask from its producers (constants, conditions, `1 - m` of a Boolean `m`), or from the recorded
statistics, if each element is 0 or lies below a gap. The statistics count zeros, and sums of equal values are exact, so
they prove this for all samples.

`recognized` moves a mask from the scores of a softmax to its mask operand, if the masked probabilities round to 0 in
f32.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, Float32Type, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, Use
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.base import Kind, NnOp, build, kind_of, plain_type, shapes_agree
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    AndOp,
    CastOp,
    ClipOp,
    DivOp,
    EqualOp,
    GreaterOp,
    IsInfOp,
    IsNaNOp,
    MaxOp,
    MulOp,
    NegOp,
    NotOp,
    SubOp,
    WhereOp,
    broadcast_shapes,
)
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.movement.ops import AxesOp, ReshapeOp, SliceOp, TransposeOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.raising.spellings import defining_op
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp, ReduceOp
from qmlir.dialects.nn.shapes.ops import ExpandOp, ShapeOp, TileOp, TriluOp
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.ir.control_flow import read_only_by
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import assign_role, describe, origins_of, set_origins, set_tensor_names, tensor_names
from qmlir.quantization.profiles.statistics import observed, seen_statistics, with_range
from qmlir.text.elements import dense_dtype

NEGLIGIBLE = 2.0**-24
"""The largest total probability of a row's masked elements that is negligible in f32: half a unit in the last place
of 1."""

WEAKEST = math.log(NEGLIGIBLE)
"""The largest fill of a mask. A value with nonzero elements above it is data, such as a positional bias."""

_UNSEEN = -64.0
"""The bound that is assumed if all observed masking elements are smaller; elements up to half the bound mask."""

SURE = -1e4
"""The largest fill of a mask if the range of the scores is unknown; no exporter writes a larger fill."""

_MOST_KNOWN = 1 << 20
"""The largest number of elements of a mask that is computed from constants: 1024 queries times 1024 keys."""

_DEPTH = 24
"""The largest depth of constant expressions that are evaluated."""

_MOVED = (ReshapeOp, TransposeOp, AxesOp, SliceOp, ExpandOp, TileOp, GatherOp)
"""Operations that move a mask as they move data; the data is the first operand."""

_RESHAPED = (ReshapeOp, TransposeOp, AxesOp)
"""Operations allowed between the addition of a mask and the softmax: they keep scores one to one."""


@dataclass(frozen=True)
class ScoreMask:
    """A mask in the scores of a softmax, and the number that it adds or writes."""

    keep: SSAValue
    """A tensor of i1 that is true for the elements that take part."""

    fill: float
    """The largest number that the mask adds to masked elements, or replaces them with."""

    source: SSAValue
    """The value in the model that masks the scores."""

    addend: float | None = None
    """The number that the mask adds to each masked element; `None` if it adds several numbers, or replaces scores."""


@dataclass(frozen=True)
class Scores:
    """Scores as a sum of terms, with the masks that apply to the sum."""

    terms: tuple[SSAValue, ...]
    masks: tuple[ScoreMask, ...] = ()


def _largest_below_zero(seen: Statistics) -> float | None:
    """Returns an upper bound of all observed values except 0; `None` if some are above 0 or next to it."""
    histogram = seen.histogram
    positions = np.flatnonzero(histogram.counts) + histogram.first
    zeros = int(histogram.counts[-histogram.first]) if (positions == 0).any() else 0
    if seen.infinities[1] or seen.maximum > 0 or zeros != seen.moments.zeros:
        return None
    below = positions[positions < 0]
    if not below.size:
        return -math.inf
    edge = math.ldexp(int(below.max()) + 1, histogram.exponent)
    return edge if edge < 0 else None


@dataclass
class MaskReader:
    """Finds the masks in the input of one softmax, and builds the operations that compute its mask operand."""

    softmax: SoftmaxOp
    made: list[Operation] = field(default_factory=list[Operation])
    _known: dict[SSAValue, Array | None] = field(default_factory=dict[SSAValue, "Array | None"])

    # --- Built operations ---------------------------------------------------------------------------------------------

    def _add(self, op: NnOp, role: str = "mask") -> SSAValue:
        assign_role(op, origins_of(self.softmax), role)
        self.made.append(op)
        return op.results[0]

    def discard(self) -> None:
        """Erases the operations that were built, if the mask is not used after all."""
        for op in reversed(self.made):
            op.erase(safe_erase=False)
        self.made.clear()

    @staticmethod
    def _ranged(value: SSAValue, limits: tuple[float, float] | None) -> SSAValue:
        """Returns `value` with the range `limits`, if it is a float and the range is known."""
        is_float = isinstance(plain_type(element_of(value)), AnyFloat)
        return value if limits is None or not is_float else with_range(value, *limits)

    def _constant(self, array: Array, element: Attribute) -> SSAValue:
        return self._add(ConstantOp.of(np.ascontiguousarray(array), TensorType(element, array.shape)))

    def _not(self, bits: SSAValue) -> SSAValue:
        return self._add(NotOp(bits))

    def both(self, left: SSAValue, right: SSAValue) -> SSAValue:
        return self._add(AndOp(left, right))

    def _above(self, value: SSAValue, number: float) -> SSAValue:
        """Returns the condition `value > number`."""
        element = plain_type(element_of(value))
        dtype = dense_dtype(element)
        assert dtype is not None
        return self._add(build(GreaterOp, [value, self._constant(np.array(number, dtype), element)]))

    def _moved(self, op: Operation, value: SSAValue, role: str = "mask") -> SSAValue:
        """Returns `value` moved as `op` moves its first operand, after expanding it to the shape of that operand."""
        shape = shape_of(op.operands[0])
        if shape_of(value) != shape:
            if DYNAMIC_INDEX in shape:
                expanded = build(ExpandOp, [value, self._add(build(ShapeOp, [op.operands[0]]), role)])
            else:
                expanded = build(ExpandOp, [value], {"shape": shape})
            value = self._ranged(self._add(expanded, role), _range(value))
        moved = op.clone({op.operands[0]: value})
        assert isinstance(moved, NnOp)
        moved.attributes.clear()
        type_ = TensorType(element_of(value), shape_of(op.results[0]))
        Rewriter.replace_value_with_new_type(moved.results[0], type_)
        return self._add(moved, role)

    # --- Constants ----------------------------------------------------------------------------------------------------

    def _array(self, value: SSAValue, depth: int = _DEPTH) -> Array | None:
        """Returns the elements of a value that is computed from constants alone; `None` for any other value."""
        if value not in self._known:
            self._known[value] = self._evaluated(value, depth)
        return self._known[value]

    def _evaluated(self, value: SSAValue, depth: int) -> Array | None:
        op, shape = defining_op(value), shape_of(value)
        if isinstance(op, ConstantOp) or op is None:
            return constant_array(value)
        if not isinstance(op, NnOp) or not op.operands or not depth or len(op.results) != 1 or op.regions:
            return None
        if DYNAMIC_INDEX in shape or math.prod(shape) > _MOST_KNOWN:
            return None
        arrays: list[Array] = []
        for operand in op.operands:
            if (array := self._array(operand, depth - 1)) is None:
                return None
            arrays.append(array)
        try:
            found = evaluate(op, arrays)
        except (InterpretationError, VerifyException):
            return None
        return None if found is None else found[0]

    def _numbers(self, value: SSAValue) -> Array | None:
        """Returns the elements of a constant, also if it is moved or expanded to a dynamic shape."""
        while (array := self._array(value)) is None and isinstance(op := defining_op(value), _MOVED):
            value = op.operands[0]
        return array

    def _number(self, value: SSAValue) -> float | None:
        array = self._numbers(value)
        if array is None or not array.size or (array != array.flat[0]).any():
            return None
        return float(array.flat[0])

    # --- Values that are 0 or 1 ---------------------------------------------------------------------------------------

    def _bits(self, value: SSAValue) -> SSAValue | None:
        """Returns a condition that holds where `value` is 1, if all elements are 0 or 1.

        This follows from the producers of the value, or from its statistics.
        """
        array, op = self._array(value), defining_op(value)
        if array is not None:
            return self._constant((array == 1).astype(np.int8), i1) if np.isin(array, (0, 1)).all() else None
        match op:
            case CastOp() if element_of(op.input) == i1:
                return op.input
            case SubOp() if self._number(op.lhs) == 1:
                bits = self._bits(op.rhs)
                return None if bits is None else self._not(bits)
            case MulOp():
                left, right = self._bits(op.lhs), self._bits(op.rhs)
                return None if left is None or right is None else self.both(left, right)
            case WhereOp() if (self._number(op.lhs), self._number(op.rhs)) == (1, 0):
                return op.condition
            case WhereOp() if (self._number(op.lhs), self._number(op.rhs)) == (0, 1):
                return self._not(op.condition)
            case _ if isinstance(op, _MOVED) and (bits := self._bits(op.operands[0])) is not None:
                return self._moved(op, bits)
            case _:
                return self._observed_bits(value)

    def _observed_bits(self, value: SSAValue) -> SSAValue | None:
        """Returns a condition for a value that was 0 or 1 in all samples.

        If all elements lie in [0, 1], the sum of the nonzero ones equals their number only if each is 1: the sums do
        not round an f32 near 1 up.
        """
        seen, op = seen_statistics(value), defining_op(value)
        if seen is None or not seen.count or any(seen.infinities) or seen.minimum < 0 or seen.maximum > 1:
            return None
        if seen.moments.total != seen.count - seen.moments.zeros:
            return None
        if isinstance(op, CastOp) and as_integer(element_of(op.input)) is not None:
            return self._above(op.input, 0)
        return self._above(value, 0.5)

    # --- Masks --------------------------------------------------------------------------------------------------------

    def mask(self, value: SSAValue, sign: int = 1) -> ScoreMask | None:
        """Interprets `sign * value`, added to scores, as a mask. Returns `None` if it is not a mask."""
        if kind_of(element_of(value)) is not Kind.FLOAT:
            return None
        array, op = self._array(value), defining_op(value)
        if array is not None:
            below = sign * array < 0
            if below.all() or not below.any() or (array[~below] != 0).any():
                return None
            fills = (sign * array)[below]
            addend = float(fills[0]) if (fills == fills[0]).all() else None
            return ScoreMask(self._constant((~below).astype(np.int8), i1), float(fills.max()), value, addend)
        match op:
            case WhereOp():
                return self._chosen_mask(op, sign)
            case NegOp():
                return self.mask(op.input, -sign)
            case AddOp():
                if (left := self.mask(op.lhs, sign)) is None or (right := self.mask(op.rhs, sign)) is None:
                    return None
                return self._joined(left, right, value)
            case TriluOp():
                if (inner := self.mask(op.input, sign)) is None:
                    return None
                outside = self._moved(op, self._not(inner.keep))  # elsewhere it adds 0
                return replace(inner, keep=self._not(outside), source=value)
            case _ if isinstance(op, _MOVED):
                inner = self.mask(op.operands[0], sign)
                if inner is not None:
                    return replace(inner, keep=self._moved(op, inner.keep), source=value)
            case _:
                pass
        return self._line_mask(value, sign) or (self._observed_mask(value) if sign > 0 else None)

    def _joined(self, left: ScoreMask, right: ScoreMask, source: SSAValue) -> ScoreMask:
        return ScoreMask(self.both(left.keep, right.keep), max(left.fill, right.fill), source)

    def _fill(self, value: SSAValue, sign: int) -> float | None:
        """Returns the maximum of `sign * value` if it is constant and negative everywhere, otherwise `None`."""
        array = self._numbers(value)
        if array is None or not array.size or not (sign * array < 0).all():
            return None
        return float((sign * array).max())

    def _choices(self, op: WhereOp, sign: int) -> Iterator[tuple[SSAValue, SSAValue, float]]:
        """Yields, for each branch of a `where` that masks: the keep condition, the other branch, and the fill."""
        if (fill := self._fill(op.rhs, sign)) is not None:
            yield op.condition, op.lhs, fill
        if (fill := self._fill(op.lhs, sign)) is not None:
            yield self._not(op.condition), op.rhs, fill

    def _chosen_mask(self, op: WhereOp, sign: int) -> ScoreMask | None:
        for keep, taken, fill in self._choices(op, sign):
            addends = {self._number(op.lhs), self._number(op.rhs)} - {0.0}
            own = ScoreMask(keep, fill, op.result, fill if len(addends) == 1 and None not in addends else None)
            condition = defining_op(op.condition)
            # `m.masked_fill(m.to(bool), lowest)`: elements that are not filled are 0
            is_filled = taken is op.rhs and isinstance(condition, CastOp) and condition.input is taken
            if is_filled or self._number(taken) == 0:
                return own
            inner = self.mask(taken, sign)
            if inner is not None:
                return self._joined(own, inner, op.result)
        return None

    def _line(self, value: SSAValue) -> tuple[SSAValue, float, float]:
        """Returns `x`, `factor` and `summand` such that `value = factor * x + summand`."""
        op = defining_op(value)
        match op:
            case NegOp():
                x, factor, summand = self._line(op.input)
                return x, -factor, -summand
            case AddOp() | MulOp():
                for inner, other in (op.operands, op.operands[::-1]):
                    if (number := self._number(other)) is not None:
                        x, factor, summand = self._line(inner)
                        is_sum = isinstance(op, AddOp)
                        return (x, factor, summand + number) if is_sum else (x, factor * number, summand * number)
            case SubOp() if (number := self._number(op.rhs)) is not None:
                x, factor, summand = self._line(op.lhs)
                return x, factor, summand - number
            case SubOp() if (number := self._number(op.lhs)) is not None:
                x, factor, summand = self._line(op.rhs)
                return x, -factor, number - summand
            case DivOp() if number := self._number(op.rhs):
                x, factor, summand = self._line(op.lhs)
                return x, factor / number, summand / number
            case _:
                pass
        return value, 1.0, 0.0

    def _line_mask(self, value: SSAValue, sign: int) -> ScoreMask | None:
        """Returns the mask `(1 - m) * fill` or `m * fill` for `m` in {0, 1}."""
        x, factor, summand = self._line(value)
        if x is value or not math.isfinite(factor) or not math.isfinite(summand):
            return None
        one, zero = sign * (factor + summand), sign * summand
        if not (one == 0 > zero or zero == 0 > one) or (bits := self._bits(x)) is None:
            return None
        return ScoreMask(bits, zero, value, zero) if one == 0 else ScoreMask(self._not(bits), one, value, one)

    def _observed_mask(self, value: SSAValue) -> ScoreMask | None:
        """Returns the mask for a value whose elements were 0 or below a gap.

        An argument that was 0 in all samples is a mask that has not masked anything yet.
        """
        seen = seen_statistics(value)
        bound = None if seen is None else _largest_below_zero(seen)
        if seen is None or bound is None:
            return None
        given = value
        while isinstance(op := defining_op(given), _MOVED):
            given = op.operands[0]
        if seen.minimum >= 0 and not seen.infinities[0] and not isinstance(given, BlockArgument):
            return None
        # No value is above 0, so the nonzero ones add up to their number times the minimum only if all equal it.
        others = seen.count - seen.moments.zeros
        is_one = not seen.infinities[0] and seen.moments.total == seen.minimum * others
        addend = seen.minimum if is_one and seen.minimum < 0 else None
        return ScoreMask(self._above(value, max(bound, _UNSEEN) / 2), bound, value, addend)

    # --- Scores -------------------------------------------------------------------------------------------------------

    def scores(self, value: SSAValue) -> Scores:
        """Returns the scores `value` as a sum of data terms and the masks that apply to the sum."""
        if (found := self.mask(value)) is not None and found.fill <= WEAKEST:
            return Scores((), (found,))
        op = defining_op(value)
        inner: Scores | None = None
        match op:
            case AddOp():
                left, right = self.scores(op.lhs), self.scores(op.rhs)
                inner = Scores(left.terms + right.terms, left.masks + right.masks)
            case SubOp() if (found := self.mask(op.rhs, -1)) is not None and found.fill <= WEAKEST:
                left = self.scores(op.lhs)
                inner = Scores(left.terms, (*left.masks, found))
            case WhereOp():
                for keep, taken, fill in self._choices(op, 1):
                    left = self.scores(taken)
                    inner = Scores(left.terms, (*left.masks, ScoreMask(keep, fill, value)))
            case MulOp():
                for taken, other in (op.operands, op.operands[::-1]):
                    inner = self._scaled(op, taken, self._number(other)) or inner
            case DivOp() if number := self._number(op.rhs):
                inner = self._scaled(op, op.lhs, 1 / number)
            case MaxOp():  # max(scores + mask, lowest)
                for taken, other in (op.operands, op.operands[::-1]):
                    inner = self._clamped(taken, self._fill(other, 1)) or inner
            case ClipOp() if op.minimum is not None and op.maximum is None:
                inner = self._clamped(op.input, op.minimum.value.data)
            case _ if isinstance(op, _RESHAPED):
                inner = self._reshaped(op, self.scores(op.operands[0]))
            case CastOp() if kind_of(element_of(op.input)) is kind_of(element_of(value)) is Kind.FLOAT:
                inner = self._cast(op, self.scores(op.input))
            case _:
                pass
        return inner if inner is not None and inner.masks else Scores((value,))

    def _clamped(self, value: SSAValue, least: float | None) -> Scores | None:
        if least is None or least > SURE:
            return None
        found = self.scores(value)
        masks = tuple(ScoreMask(each.keep, max(each.fill, least), each.source) for each in found.masks)
        return Scores(found.terms, masks)

    def _scaled(self, op: NnOp, value: SSAValue, factor: float | None) -> Scores | None:
        """Returns scores that are scaled after masking: a positive factor keeps the masks."""
        if factor is None or not 0 < factor < math.inf:
            return None
        found = self.scores(value)
        if not found.masks or not found.terms:
            return None
        total = self.sum_of(found.terms)
        operands = [total if each is value else each for each in op.operands]
        limits = self.range_of(found.terms)
        scaled = None if limits is None else (limits[0] * factor, limits[1] * factor)
        product = self._ranged(self._add(build(type(op), operands), "scores"), scaled)
        masks = (replace(each, fill=each.fill * factor, addend=None) for each in found.masks)
        return Scores((product,), tuple(masks))

    def _reshaped(self, op: Operation, inner: Scores) -> Scores | None:
        """Returns scores that are moved after masking: terms and masks move alike."""
        shape = shape_of(op.operands[0])
        if not inner.masks or not inner.terms or DYNAMIC_INDEX in shape:
            return None
        terms = self._moved(op, self.sum_of(inner.terms), "scores")
        masks: list[ScoreMask] = []
        for mask in inner.masks:
            whole = self._add(build(ExpandOp, [mask.keep], {"shape": shape}))
            masks.append(replace(mask, keep=self._moved(op, whole)))
        return Scores((terms,), tuple(masks))

    def _cast(self, op: CastOp, inner: Scores) -> Scores | None:
        """Returns half-precision scores cast to f32 for the softmax: masked elements are masked in both types."""
        if not inner.masks or not inner.terms:
            return None
        total, element = self.sum_of(inner.terms), plain_type(element_of(op.result))
        cast = CastOp.create(operands=[total], result_types=[TensorType(element, shape_of(total))])
        return Scores((self._ranged(self._add(cast, "scores"), self.range_of(inner.terms)),), inner.masks)

    def range_of(self, terms: Sequence[SSAValue]) -> tuple[float, float] | None:
        """Returns the range of the sum of `terms`; `None` if the range of a term is unknown."""
        ranges = [known for each in terms if (known := _range(each)) is not None]
        return (sum(low for low, _ in ranges), sum(high for _, high in ranges)) if len(ranges) == len(terms) else None

    def spread_of(self, terms: Sequence[SSAValue]) -> float | None:
        """Returns a bound on the difference between a masked score, before masking, and the largest unmasked score.

        Returns `None` if the range of a term is unknown.
        """
        ranges = [known for each in terms if (known := _range(each)) is not None]
        return sum(max(high, 0.0) - low for low, high in ranges) if len(ranges) == len(terms) else None

    def sum_of(self, terms: Sequence[SSAValue]) -> SSAValue:
        """Builds the sum of `terms`, with a range derived from the ranges of the terms."""
        total = terms[0]
        for position, term in enumerate(terms[1:], 2):
            total = self._ranged(self._add(AddOp(total, term), "scores"), self.range_of(terms[:position]))
        return total


def _range(value: SSAValue) -> tuple[float, float] | None:
    array = constant_array(value)
    if array is not None and array.size:
        return float(array.min()), float(array.max())
    seen = observed(value)
    return None if seen is None else (seen.minimum, seen.maximum)


# Masked softmax: a softmax with a mask operand replaces one with a mask in its scores.

LONGEST_ROW = 1 << 16
"""The row length assumed for a dynamic length."""


@dataclass(frozen=True)
class MaskedSoftmax:
    """A softmax with a mask operand, which replaces a softmax whose input is masked."""

    reader: MaskReader
    composite: SoftmaxOp
    masks: tuple[ScoreMask, ...]

    def replace(self) -> None:
        """Replaces the original softmax, and inserts the operations that compute the mask."""
        old = self.reader.softmax
        block = old.parent
        assert block is not None
        block.insert_ops_before([*self.reader.made, self.composite], old)
        self.composite.location = old.location
        self.composite.result.name_hint = old.result.name_hint
        masked = old.input, *(mask.source for mask in self.masks)
        keeps = {old.mask, *(mask.keep for mask in self.masks)}
        old.result.replace_all_uses_with(self.composite.result)
        Rewriter.erase_op(old)
        _drop_guards(self.composite, masked, keeps)

    def text(self) -> str:
        """Returns a message that names the masks and their effect."""
        names, fill = " and ".join(dict.fromkeys(_named(each.source) for each in self.masks)), self.composite.fill
        what = "have probability 0" if fill is None else f"get {fill.value.data:g} in the softmax"
        return f"is masked by {names}; the masked elements {what} and are excluded from calibration ranges"


def _named(value: SSAValue) -> str:
    if isinstance(value.owner, Operation):
        return describe(value.owner)
    return f"the argument %{value.name_hint or getattr(value, 'index', '')}"


def recognized(op: SoftmaxOp) -> MaskedSoftmax | str | None:
    """Returns the masked form of `op`, the reason why its mask is treated as data, or `None` if there is no mask."""
    if not isinstance(plain_type(element_of(op.input)), Float32Type) or op.requantize is not None:
        return None
    reader = MaskReader(op)
    found = reader.scores(op.input)
    made = _with_mask(reader, found) if found.masks and found.terms else None
    if not isinstance(made, MaskedSoftmax):
        reader.discard()
    return made


def _with_mask(reader: MaskReader, found: Scores) -> MaskedSoftmax | str | None:
    op = reader.softmax
    row, spread = shape_of(op.input)[op.axis.value.data], reader.spread_of(found.terms)
    fill: float | None = None
    for mask in found.masks:
        if mask.fill > (WEAKEST if spread is not None else SURE):
            return None
        if spread is not None and not _is_negligible(mask.fill + spread, LONGEST_ROW if row == DYNAMIC_INDEX else row):
            fill = mask.addend if len(found.masks) == 1 and op.mask is None else None
            why = f"scores differ by up to {spread:g}, so adding {mask.fill:g} does not make each probability 0"
            if fill is None:
                return f"treats the mask {_named(mask.source)} as data: {why}"
    scores = reader.sum_of(found.terms)
    keep = found.masks[0].keep
    for mask in found.masks[1:]:
        keep = reader.both(keep, mask.keep)
    is_uniform = all(math.isfinite(mask.fill) for mask in found.masks)
    if op.mask is not None:
        keep, is_uniform = reader.both(op.mask, keep), op.is_uniform_if_empty
    if not shapes_agree(shape_of(scores), shape_of(op.input)) or len(shape_of(keep)) > len(shape_of(scores)):
        return None
    try:
        if broadcast_shapes(shape_of(keep), shape_of(scores)) != tuple(shape_of(op.input)):
            return None
    except VerifyException:
        return None
    what = {"empty_rows": "uniform" if is_uniform else "zero"} if fill is None else {"fill": fill}
    made = build(SoftmaxOp, [scores, keep], {"axis": op.axis, **what})
    made.attributes.update(op.attributes)
    Rewriter.replace_value_with_new_type(made.result, op.result.type)
    set_origins(made, origins_of(op))
    set_tensor_names(made, tensor_names(op))
    return MaskedSoftmax(reader, made, found.masks)


# The probability of a masked element is at most e^(fill + its score - the largest unmasked score), and the scores in a
# row differ by at most their range. For n masked elements, the bound on the total probability is n times as large.
def _is_negligible(exponent: float, row: int) -> bool:
    return exponent <= WEAKEST - math.log(max(row, 1))


# --- Guards against fully masked rows ---------------------------------------------------------------------------------


def _drop_guards(softmax: SoftmaxOp, masked: Collection[SSAValue], keeps: Collection[SSAValue | None]) -> None:
    """Erases operations that replace the NaN of fully masked rows by 0: the masked softmax already returns 0 there.

    `masked` holds scores and masks, `keeps` the conditions under which elements take part.
    """
    for use in list(softmax.result.uses):
        guard = use.operation
        if not isinstance(guard, WhereOp) or guard.rhs is not softmax.result:
            continue
        array, shapes = constant_array(guard.lhs), {shape_of(guard.result), shape_of(softmax.result)}
        test = defining_op(guard.condition)
        is_nan = isinstance(test, IsNaNOp) and test.input is softmax.result
        is_empty = is_nan or _is_all_masked(guard.condition, softmax, masked, keeps)
        if is_empty and array is not None and not array.any() and len(shapes) == 1:
            result = Rewriter.replace_value_with_new_type(softmax.result, guard.result.type)
            guard.result.replace_all_uses_with(result)
            Rewriter.erase_op(guard)


def _is_minus_infinity(condition: SSAValue) -> SSAValue | None:
    """Returns the value that a condition compares with minus infinity, or `None` for another condition."""
    op = defining_op(condition)
    if isinstance(op, IsInfOp):
        return op.input
    array = constant_array(op.rhs) if isinstance(op, EqualOp) else None
    return op.operands[0] if op is not None and array is not None and np.isneginf(array).all() else None


# Finite scores never equal minus infinity, and a softmax row that is fully masked with minus infinity is 0. So the
# condition may test the scores before or after masking, or the mask itself.
def _is_all_masked(
    condition: SSAValue, softmax: SoftmaxOp, masked: Collection[SSAValue], keeps: Collection[SSAValue | None]
) -> bool:
    """Returns True if a condition holds exactly for rows that are all minus infinity, so the guard is redundant."""
    op = defining_op(condition)
    if isinstance(op, CastOp):  # all(x == -inf)
        reduced, value = defining_op(op.input), None
        if isinstance(reduced, ReduceMinOp) and isinstance(each := defining_op(reduced.input), CastOp):
            value = _is_minus_infinity(each.input)
    else:  # max(x) == -inf
        largest = _is_minus_infinity(condition)
        reduced = None if largest is None else defining_op(largest)
        value = reduced.input if isinstance(reduced, ReduceMaxOp) else None
    chosen = None if value is None else defining_op(value)
    if isinstance(chosen, WhereOp) and chosen.condition in keeps and _number(chosen.rhs) == -math.inf:
        value = chosen.lhs
    return value in masked and isinstance(reduced, ReduceOp) and _reduces_rows(reduced, softmax)


def _number(value: SSAValue) -> float | None:
    array = constant_array(value)
    return float(array) if array is not None and array.size == 1 else None


def _reduces_rows(op: ReduceOp, softmax: SoftmaxOp) -> bool:
    axis, rank = softmax.axis.value.data % len(shape_of(softmax.input)), len(shape_of(op.input))
    return op.keeps_axes and op.reduced_axes(rank) == (axis - len(shape_of(softmax.input)) + rank,)


# --- Operations that only compute masks -------------------------------------------------------------------------------


def mask_arithmetic(function: FuncOp) -> set[Operation]:
    """Returns the operations used only to compute masks: comparisons, and the operations that compute their operands.

    These must not be quantized: a value of 1 in the same 8-bit tensor as the lowest float, for example, becomes 0.
    """

    def is_mask(use: Use) -> bool:
        op, value = use.operation, use.operation.operands[use.index]
        return isinstance(op, SoftmaxOp | AttentionOp) and value is op.mask and element_of(value) == i1

    return read_only_by(function, is_mask)
