"""Float constants that are quantized to chosen codes, and weights whose partial sums fit in 16 bits."""

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
from qmlir.dialects.nn.contraction.evaluate import ContractionRows, rows_of
from qmlir.dialects.nn.elementwise.ops import AddOp
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
from qmlir.quantization.stored_constants import is_signed, unrounded

# Codes are chosen while a constant is still in float, before its cast (`quant-assign-types{float_constants}`). To
# choose other codes, a pass stores other floats, which the cast quantizes to these codes. The original floats are kept
# as an attribute until the constant is stored in integers.


@dataclass(frozen=True)
class RoundedConstant:
    """A float constant, and the single quantized type that it is cast to."""

    op: ConstantOp
    element: UniformQuantizedType

    @property
    def array(self) -> Array:
        """The current float values of the constant."""
        return self.op.array

    @property
    def unrounded(self) -> Array:
        """The original float values, before any codes were chosen."""
        return unrounded(self.op)

    @property
    def rounded(self) -> Array:
        """The elements of `array` after quantization and dequantization."""
        return dequantize(quantize(self.array, self.element), self.element)

    def set(self, array: Array) -> None:
        """Replaces the float values with `array`; the first call saves the original values in `quant.unrounded`."""
        if UNROUNDED not in self.op.attributes:
            self.op.attributes[UNROUNDED] = self.op.value
        self.op.properties["value"] = ConstantOp.of(array.astype(np.float32), TensorType(f32, array.shape)).value


@dataclass(frozen=True)
class RoundedWeight(RoundedConstant):
    """Weights, and the contractions that read them, all with the same layout."""

    readers: Sequence[tuple[Operation, ContractionRows]]

    @property
    def rows(self) -> ContractionRows:
        """The layout in which the contractions read the weights."""
        return self.readers[0][1]

    def may_be_repaired(self, name: str) -> bool:
        """Returns true if the recipe allows the pass `name` to change the weights for all their readers."""
        said = self.op.attributes.get(REPAIR)
        rules = [rule.split(",") for rule in said.data.split(";")] if isinstance(said, StringAttr) else []
        return all(any(fnmatchcase(name, glob) for glob in rule) for rule in rules)

    @property
    def bias(self) -> RoundedConstant | None:
        """The constant, one element per channel, that is added to the accumulators of every reader, if any."""
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
        steps = steps.astype(np.float32)  # the type in which `quant.qcast` divides by them
        parts = (self.rows.of_weights(np.asarray(each, np.float64)) for each in (steps, low, high))
        return [CodeGrid(*each, is_signed=is_signed(self.op.result)) for each in zip(*parts, strict=True)]


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
        layouts = {(type(reader), *(str(each) for each in reader.properties.values())) for reader, _ in known}
        if element is not None and len(layouts) == 1 and len(known) == len(readers):
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


def bias_beside(op: Operation) -> RoundedConstant | None:
    """Returns the constant, one element per channel, that is added to the accumulators of `op`, if any."""
    for use in op.results[0].uses:
        cast = use.operation.operands[1 - use.index].owner if isinstance(use.operation, AddOp) else None
        if not isinstance(cast, QuantizeCastOp) or not is_bias(cast.result):
            continue
        constant, element = cast.input.owner, quantized_type(cast.result)
        if isinstance(constant, ConstantOp) and element is not None and TRAINABLE in constant.attributes:
            return RoundedConstant(constant, element)
    return None


# The terms of a contraction that share a 16-bit sum, in the order in which byte loops read them.
#
# A step of such a loop reads four adjacent terms, and each pair of neighbors forms one sum. The pairs at the same
# position in several steps may be added to one sum before it is widened. Data is channels-last: the terms of a
# convolution are ordered by tap, then by channel, and taps along the last axis are contiguous unless the windows are
# dilated or the convolution is grouped. If weights are later packed in another order, they are not proven to fit and
# use other loops (`qmlir.analysis.contraction_ranges`).

STEPS = (1, 2, 4)
"""The supported numbers of steps: loops exist for each of them."""

_GROUP, _BITS = 4, 8

_TRANSFORMED = 8
"""The minimum number of channels with which stride-1 convolutions with 3-wide windows use Winograd's algorithms."""


def sums_of_terms(op: Operation, steps: int) -> Array:
    """Returns the index of the 16-bit sum of each term in a row of the weights: `[terms]`.

    `steps` is the number of steps whose products are added to one sum.
    """
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
    position = np.arange(terms)
    own = position // (_GROUP * steps) * each + position % _GROUP // NEIGHBOURS
    return (np.arange(runs)[:, None] * (int(own.max(initial=-1)) + 1) + own).reshape(-1)


def may_be_short(weight: RoundedWeight, *, windows: bool) -> bool:
    """Returns true if loops with 16-bit sums of byte products can use `weight`.

    With `windows`, this includes stride-1 convolutions with 3-wide windows, which use Winograd's algorithms by default.
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
