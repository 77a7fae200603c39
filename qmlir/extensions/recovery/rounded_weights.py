"""Float constants that are quantized to chosen codes, and weights whose partial sums fit 16 bits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.contraction_ranges import NEIGHBOURS
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.evaluation.arrays import ContractionRows, rows_of
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.recovery.weight_rounding import CodeGrid
from qmlir.extensions.training.fake_quantization import is_bias
from qmlir.ir.builtin_types import shape_of
from qmlir.quantization.retyping import REPAIR, TRAINABLE, UNROUNDED
from qmlir.quantization.signed_weights import is_signed, unrounded

# Codes are chosen while a constant is still in float, in front of its cast (`quant-assign-types{float_constants}`):
# choosing other codes means storing other floats, which the cast quantizes to these codes. The original floats are kept
# as an attribute until the constant is stored in integers.


@dataclass(frozen=True)
class RoundedConstant:
    """A float constant, and the only type that it is quantized to."""

    op: ConstantOp
    element: UniformQuantizedType

    @property
    def array(self) -> Array:
        """The floats of the constant at present."""
        return self.op.array

    @property
    def unrounded(self) -> Array:
        """The original floats, from before any codes were chosen."""
        return unrounded(self.op)

    @property
    def rounded(self) -> Array:
        """The dequantized codes of `array`."""
        return dequantize(quantize(self.array, self.element), self.element)

    def set(self, array: Array) -> None:
        """Replaces the floats by `array`; the first call keeps the original ones in `quant.unrounded`."""
        if UNROUNDED not in self.op.attributes:
            self.op.attributes[UNROUNDED] = self.op.value
        self.op.properties["value"] = ConstantOp.of(array.astype(np.float32), TensorType(f32, array.shape)).value


@dataclass(frozen=True)
class RoundedWeight(RoundedConstant):
    """Weights, with the contractions that read them; all of these use the same layout."""

    readers: Sequence[tuple[Operation, ContractionRows]]

    @property
    def rows(self) -> ContractionRows:
        """The layout in which the readers use the weights."""
        return self.readers[0][1]

    def may_be_repaired(self, name: str) -> bool:
        """Returns true if the recipe lets the pass `name` change the weights for every reader."""
        said = self.op.attributes.get(REPAIR)
        rules = [rule.split(",") for rule in said.data.split(";")] if isinstance(said, StringAttr) else []
        return all(any(fnmatchcase(name, glob) for glob in rule) for rule in rules)

    @property
    def bias(self) -> RoundedConstant | None:
        """The constant added to the sums of every reader, one element per channel; `None` if there is none."""
        first, *others = (bias_beside(reader) for reader, _ in self.readers)
        if first is None or any(each is None or each.op is not first.op for each in others):
            return None
        read = {use.operation for cast in first.op.result.uses for use in cast.operation.results[0].uses}
        if len(read) != len(self.readers):  # other layers add it as well
            return None
        groups, channels, _ = self.rows.of_weights(self.array).shape
        return first if first.array.size == groups * channels else None

    def grid(self) -> list[CodeGrid]:
        """Returns the allowed codes of each group of channels."""
        shape = self.array.shape
        steps, zeros = (np.broadcast_to(each, shape) for each in broadcast_parameters(self.element, shape))
        low, high = (limit - zeros for limit in (self.element.storage_min, self.element.storage_max))
        parts = (self.rows.of_weights(np.asarray(each, np.float64)) for each in (_in_f32(steps), low, high))
        return [CodeGrid(*each, is_signed=is_signed(self.op.result)) for each in zip(*parts, strict=True)]


def _in_f32(steps: Array) -> Array:
    """Converts scales to the type in which `quant.qcast` divides by them."""
    return steps.astype(np.float32)


def rounded_weights(function: FuncOp) -> Iterator[RoundedWeight]:
    """Yields the weights whose codes may be chosen: constants of one quantized type, read by contractions."""
    for op in function.walk():
        if not isinstance(op, ConstantOp) or TRAINABLE not in op.attributes or constant_array(op.result) is None:
            continue
        casts = [use.operation for use in reversed(list(op.result.uses))]
        types = {quantized_type(cast.results[0]) for cast in casts if isinstance(cast, QuantizeCastOp)}
        element = types.pop() if len(types) == 1 else None
        readers = [each for cast in casts for each in _readers(cast.results[0])]
        known = [(reader, rows) for reader, rows in readers if rows is not None]
        if element is not None and known and len(known) == len(readers) and _is_alike(known):
            yield RoundedWeight(op, element, known)


def _readers(value: SSAValue) -> Iterator[tuple[Operation, ContractionRows | None]]:
    """Yields the readers of a quantized constant, directly or dequantized, with the layout of weights.

    The layout is `None` for a reader that does not use the constant as weights.
    """
    for use in reversed(list(value.uses)):  # in the order of the program
        if isinstance(use.operation, DequantizeCastOp):
            yield from _readers(use.operation.result)
            continue
        rows = rows_of(use.operation)
        yield use.operation, None if rows is None or rows.weight is not value else rows


def _is_alike(readers: Sequence[tuple[Operation, ContractionRows]]) -> bool:
    """Returns true if all readers use the weights in the same layout."""
    return len({(type(op), *(str(each) for each in op.properties.values())) for op, _ in readers}) == 1


def bias_beside(op: Operation) -> RoundedConstant | None:
    """Returns the constant that is added to the sums of `op`, one element per channel."""
    for use in op.results[0].uses:
        cast = use.operation.operands[1 - use.index].owner if isinstance(use.operation, AddOp) else None
        if not isinstance(cast, QuantizeCastOp) or not is_bias(cast.result):
            continue
        constant, element = cast.input.owner, quantized_type(cast.result)
        if isinstance(constant, ConstantOp) and element is not None and TRAINABLE in constant.attributes:
            return RoundedConstant(constant, element)
    return None


# Which terms of a contraction share a 16-bit sum, in the order in which byte loops read them.
#
# A step of such a loop takes four adjacent terms, of which two neighbors form one sum; the same positions of several
# steps may be added to it before it is widened. Data is channels-last: the terms of a convolution are the channels of
# one tap after the other, and taps along the last axis are contiguous if nothing lies between them. Weights that are
# packed in another order after all are not proven to fit, and use other loops (`qmlir.analysis.contraction_ranges`).

STEPS = (1, 2, 4)
"""The numbers of steps that loops exist for."""

_GROUP, _BITS = 4, 8

_TRANSFORMED = 8
"""The number of channels from which stride-1 convolutions with 3-wide windows use Winograd's algorithms."""


def sums_of_terms(op: Operation, steps: int) -> Array:
    """Returns the index of the sum of each term in a row of the weights, `[terms]`, if `steps` steps are added."""
    if not isinstance(op, ops.ConvOp):
        assert isinstance(op, ops.FullyConnectedOp | ops.MatMulOp)
        is_rows = isinstance(op, ops.FullyConnectedOp) or op.is_rhs_transposed
        terms = shape_of(op.operands[1])[1 if is_rows else 0]
        # A flattened image is stored channels-last, and so are the weights that multiply it.
        return _sums_of_runs(1, terms, steps)[_channels_last(op.operands[0], terms)]
    _, depth, *taps = shape_of(op.weight)
    last = taps[-1] if op.group_count == 1 and op.windows.dilations[-1] == 1 else 1
    found = _sums_of_runs(math.prod(taps) // last, last * depth, steps)
    return np.moveaxis(found.reshape(*taps, depth), -1, 0).reshape(-1)


def _channels_last(row: SSAValue, terms: int) -> Array:
    """Returns the position in memory of each of the `terms` elements of a row.

    A row reshaped from an image `[N, C, H, W]` is stored channels-last.
    """
    owner = row.owner
    shape = shape_of(owner.operands[0]) if isinstance(owner, ReshapeOp) else ()
    if len(shape) < 4 or math.prod(shape[1:]) != terms or DYNAMIC_INDEX in shape[1:]:
        return np.arange(terms)
    return np.moveaxis(np.arange(terms).reshape(*shape[2:], shape[1]), -1, 0).reshape(-1)


def _sums_of_runs(runs: int, terms: int, steps: int) -> Array:
    """Returns the sum index of each term for `runs` runs of `terms` contiguous terms."""
    each = _GROUP // NEIGHBOURS
    place = np.arange(terms)
    own = place // (_GROUP * steps) * each + place % _GROUP // NEIGHBOURS
    return (np.arange(runs)[:, None] * (int(own.max(initial=-1)) + 1) + own).reshape(-1)


def may_be_short(weight: RoundedWeight, *, windows: bool) -> bool:
    """Returns true if byte loops can take `weight` with byte data.

    With `windows`, this includes stride-1 convolutions with 3-wide windows, for which Winograd's algorithms are the
    default.
    """
    op, data = weight.readers[0][0], quantized_type(weight.rows.data)
    if not isinstance(op, ops.ConvOp | ops.FullyConnectedOp | ops.MatMulOp) or data is None:
        return False
    is_of_bytes = data.bits == _BITS and weight.element.bits <= _BITS
    if not is_of_bytes or not isinstance(op, ops.ConvOp):
        return is_of_bytes
    outputs, depth, *taps = shape_of(op.weight)
    if depth == 1 and op.group_count > 1:
        return False
    is_transformed = {*taps} == {3} and {*op.windows.strides, *op.windows.dilations, op.group_count} == {1}
    return windows or not is_transformed or min(outputs, depth) < _TRANSFORMED
