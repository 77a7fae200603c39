"""Fake quantization: the integer program's arithmetic, computed on floats that hold its integers, with gradients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, TensorType, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.calib import ops as calib
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import (
    BiasedContractionOp,
    ContractionOp,
    ConvTransposeOp,
    EinsumOp,
    MatMulOp,
    WindowedContractionOp,
)
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import uniform_of
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.pooling.ops import AveragePoolOp, GlobalAveragePoolOp
from qmlir.dialects.nn.reduction.ops import ArgExtremeOp, ReduceMeanOp, ReduceSumOp
from qmlir.dialects.nn.requantize import REQUANTIZE, Accumulator, quantized_type, ratios
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.nn.shapes.ops import TileOp
from qmlir.dialects.nn.terms import Expr, InsertionBuilder
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.training.reverse import insertion_before
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.interfaces import volume
from qmlir.quantization.stored_constants import SIGNED

# Rounding that passes gradients through, as `nn` operations: to the nearest integers, and to the signs of binary
# weights.


def straight_through(hard: Expr, soft: Expr) -> Expr:
    """Returns `hard` with the gradient of `soft`."""
    op = calib.StraightThroughOp.create(operands=[hard.value, soft.value], result_types=[hard.value.type])
    return Expr(hard.at, hard.at.append(op).result)


def rounded(term: Expr, ties: Ties = Ties.EVEN) -> Expr:
    """Rounds to the nearest integers, with a straight-through gradient."""
    hard = term.apply(elementwise.RoundOp) if ties is Ties.EVEN else (term + 0.5).apply(elementwise.FloorOp)
    return straight_through(hard, term)


def signs_of(real: Expr, scale: Expr) -> Expr:
    """Returns the codes -1 and 1 of binary weights `scale * sign(real)`; the sign of 0 is 1.

    The gradient of each weight passes to `real` unchanged (Courbariaux et al., BinaryConnect, 2015); that of the scale
    is the sum of the weights' gradients times their signs.
    """
    at = real.at
    hard = (real.apply(elementwise.SignOp) * 2.0 + 1.0).apply(elementwise.MinOp, 1.0).apply(elementwise.MaxOp, -1.0)
    fixed = straight_through(scale, Expr(at, at.constant(np.ones(shape_of(scale.value)), real.value)))
    return straight_through(hard, real / fixed)


# A row norm on integers, simulated on floats that hold them: the constants of its integer square root are derived from
# the scale in each run.


def simulated_rows(at: InsertionBuilder, op: ops.RowNormOp, integers: Expr, scale: SSAValue) -> Expr:
    """Returns the f32 result of `op`, before it is quantized, for `integers` (`q - z`) with a single `scale`.

    The steps are those of `qmlir.dialects.nn.normalization.evaluate`.
    """
    sizes = shape_of(op.operands[0])
    first, grouped = op.first_axis if isinstance(op, ops.TrailingNormOp) else 2, sizes
    parameters = [Expr(at, value) for value in op.operands[1:]]
    if isinstance(op, ops.ScaledChannelNormOp):
        batch, channels, *image = sizes
        if isinstance(op, ops.GroupNormOp) and (groups := op.groups.value.data) != channels:
            grouped = (batch, groups, channels // groups, *image)
        parameters = [Expr(at, at.reshaped(each.value, [channels, *(1 for _ in image)])) for each in parameters]
    rows = calib.RowNormOp.create(
        operands=[_shaped(at, integers.value, grouped), scale],
        result_types=[TensorType(f32, grouped)],
        properties={
            "axis": IntegerAttr(first, i64), "bits": IntegerAttr(op.row_bounds().bits, i64),
            "epsilon": op.epsilon, "centred": BoolAttr.from_bool(op.IS_CENTERED),
        },
    )  # fmt: skip
    found = Expr(at, _shaped(at, at.append(rows).result, sizes))
    kinds = elementwise.MulOp, elementwise.AddOp  # for the scale, and for the bias
    for kind, parameter in zip(kinds, parameters, strict=False):
        found = found.apply(kind, parameter)
    return found


def _shaped(at: InsertionBuilder, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(sizes) else at.reshaped(value, sizes)


# Quantized values as floats that hold their integers: the arithmetic of the integer program, as `nn` operations.
#
# A value with scale `s` and zero point `z` becomes the exact floats `q - z` and a separate value for its scale, which
# can be learned. The formulas follow `qmlir.dialects.nn.evaluators` step by step, so that every integer
# equals that of the quantized module; a zero may have a negative sign until it is dequantized. If a formula depends on
# which scales are equal, both variants are computed, and the scales select one at run time. Rounding passes gradients
# through (`calib.straight_through`), and a clip passes those of values within its limits after rounding. The gradient
# of a scale then equals that of LSQ (Esser et al., 2020), and the gradient of the logarithm of a threshold equals that
# of TQT (Jain et al., 2019).
#
# Accumulators below 2^24 are exact in f32; larger ones are computed in f64.

EXACT_IN_F32 = 1 << 24
"""The largest magnitude up to which f32 represents every integer."""

SOFT = "quant.soft"
"""The attribute that marks the cast of a constant whose rounding is learned. The constant holds codes without the zero
point, which may be fractional.
"""

Scales = Mapping[SSAValue, SSAValue]
"""The f32 scales of the quantized values with separate scales: one element, or one per index of an axis."""


def keeps_sums(value: SSAValue) -> bool:
    """Returns true if a value holds the exact, unscaled sums of an accumulator, even if operations moved them."""
    op, element = value.owner, quantized_type(value)
    if not isinstance(op, NnOp) or element is None or element.bits < 32 or np.any(element.zero_points):
        return False
    if op.quantization_slots().shares_parameters:
        return any(keeps_sums(operand) for operand in op.operands)
    return op.accumulator is not None and bool(np.all(ratios(op) == 1))


def is_bias(value: SSAValue) -> bool:
    """Returns true if all users add `value` to accumulators, and it has their scale."""
    return sums_beside(value) is not None


def sums_beside(value: SSAValue) -> SSAValue | None:
    """Returns the first accumulator that `value` is added to; `None` if `value` is not a bias.

    A bias is a constant or the result of a cast that all users add to accumulators of the same scale.
    """
    found = [sums_of(use) for use in value.uses]
    return None if None in found or not _is_cast(value) else next(iter(found), None)


def _is_cast(value: SSAValue) -> bool:
    """Returns true for a constant or a cast result, possibly moved."""
    op = value.owner
    if isinstance(op, NnOp) and op.quantization_slots().shares_parameters:
        return any(map(_is_cast, op.operands))
    return isinstance(op, ConstantOp | QuantizeCastOp)


def sums_of(use: Use) -> SSAValue | None:
    """Returns the accumulator that `use` adds its operand to; `None` if it is not such an addition."""
    op = use.operation
    if isinstance(op, BiasedContractionOp):
        is_bias = op.bias is not None and use.index == list(op.operands).index(op.bias)
        return op.result if is_bias and not _has_blocks(op.weight) else None
    if not isinstance(op, elementwise.AddOp):
        return None
    own, other = op.operands[use.index], op.operands[1 - use.index]
    return other if keeps_sums(other) and _are_alike(own, other) else None


def _has_blocks(value: SSAValue) -> bool:
    element = quantized_type(value)
    return element is not None and element.granularity is Granularity.BLOCK


def products_of(sums: SSAValue) -> Operation:
    """Returns the contraction that computes the accumulator `sums`, looking through moves and additions."""
    op = sums.owner
    assert isinstance(op, NnOp)
    source = next((operand for operand in op.operands if keeps_sums(operand)), None)
    return op if op.accumulator is Accumulator.PRODUCT or source is None else products_of(source)


def _are_alike(one: SSAValue, other: SSAValue) -> bool:
    """Returns true if two values have the same scales and widths, along whichever axes."""
    first, second = quantized_type(one), quantized_type(other)
    if first is None or second is None or first.bits != second.bits:
        return False
    return np.array_equal(first.scales.reshape(-1), second.scales.reshape(-1))


@dataclass(frozen=True)
class Simulated:
    """A quantized value as floats: its integers `q - z`, and its scale, a single one or one per index of an axis."""

    integers: SSAValue
    scale: SSAValue
    element: UniformQuantizedType

    def floats(self, at: InsertionBuilder, element: Attribute) -> Expr:
        """Returns the integers as floats of type `element`."""
        return as_type(Expr(at, self.integers), element)

    def beside(self, at: InsertionBuilder) -> Expr:
        """Returns the scale in a shape that broadcasts to the integers."""
        return beside(Expr(at, self.scale), self.element, len(shape_of(self.integers)))

    def real(self, at: InsertionBuilder) -> Expr:
        """Dequantizes as `quant.dcast` does; adding 0 removes the sign of a zero, which integers don't have."""
        return self.beside(at) * (self.floats(at, f32) + 0.0)

    def stored(self, at: InsertionBuilder) -> Expr:
        """Returns the integers as stored in memory, including the zero point."""
        zero_points = np.asarray(self.element.zero_points, np.float64)
        if not zero_points.any():
            return Expr(at, self.integers)
        numbers = Expr(at, at.constant(zero_points, self.integers))
        rank = len(shape_of(self.integers))
        return Expr(at, self.integers) + (numbers if zero_points.size == 1 else beside(numbers, self.element, rank))

    def largest(self) -> int:
        """Returns the largest magnitude of the integers."""
        low, high = centered_limits(self.element)
        return int(max(np.abs(low).max(), np.abs(high).max()))


def centered_limits(element: UniformQuantizedType) -> tuple[Array, Array]:
    """Returns the lower and upper limits of the integers `q - z`."""
    zero_points = np.asarray(element.zero_points, np.float64)
    return element.storage_min - zero_points, element.storage_max - zero_points


def beside(numbers: Expr, element: UniformQuantizedType, rank: int) -> Expr:
    """Reshapes the parameters of `element` so that they broadcast to `rank` axes.

    `numbers` holds a single parameter, one per index of an axis, or one per block.
    """
    match element.granularity:
        case Granularity.TENSOR:
            return numbers
        case Granularity.AXIS:
            return along(numbers, element.axis, rank)
        case Granularity.BLOCK:
            return _of_blocks(numbers, dict(zip(element.axes, element.block_sizes, strict=True)))


def _of_blocks(numbers: Expr, block_sizes: Mapping[int, int]) -> Expr:
    """Repeats each block's element by the block size along each axis."""
    at, counts = numbers.at, shape_of(numbers.value)
    sizes = [block_sizes.get(axis, 1) for axis in range(len(counts))]
    if all(size == 1 for size in sizes):
        return numbers
    pairs = list(zip(counts, sizes, strict=True))
    parted = at.reshaped(numbers.value, [each for count, _ in pairs for each in (count, 1)])
    repeated = at.expanded_to(parted, [each for pair in pairs for each in pair])
    return Expr(at, at.reshaped(repeated, [count * size for count, size in pairs]))


def along(numbers: Expr, axis: int, rank: int) -> Expr:
    """Reshapes a vector with one element per index of `axis` so that it broadcasts to `rank` axes."""
    sizes = [1] * rank
    sizes[axis] = shape_of(numbers.value)[0]
    return Expr(numbers.at, numbers.at.reshaped(numbers.value, sizes))


def as_type(term: Expr, element: Attribute) -> Expr:
    """Converts `term` to another float type."""
    if element_of(term.value) == element:
        return term
    cast = term.at.add(elementwise.CastOp, term.value, result_types=[TensorType(element, shape_of(term.value))])
    return Expr(term.at, cast.result)


def _saturated(term: Expr, element: UniformQuantizedType) -> Expr:
    """Clips integers to the limits of `q - z`; gradients pass within the limits.

    A single pair of limits becomes one clip. Limits that differ by channel become a max and a min, which pass half of
    the gradient at a limit: half of the values rounded to it lie outside.
    """
    low, high = centered_limits(element)
    kind = f32 if element.bits <= 16 else f64  # f32 cannot represent limits of 32 bits
    term = as_type(term, kind)
    is_one = np.all(low == low.flat[0]) and np.all(high == high.flat[0])
    if low.size == 1 or (element.bits > 16 and is_one):
        least, most = (FloatAttr(float(each.flat[0]), kind) for each in (low, high))
        clip = elementwise.ClipOp.create(
            operands=[term.value], result_types=[term.value.type], properties={"minimum": least, "maximum": most}
        )
        return Expr(term.at, term.at.append(clip).result)
    rank = len(shape_of(term.value))
    limits = [Expr(term.at, term.at.constant(each.flat[0] if is_one else each, term.value)) for each in (low, high)]
    least, most = limits if is_one else [beside(each, element, rank) for each in limits]
    return term.apply(elementwise.MaxOp, least).apply(elementwise.MinOp, most)


def _chosen(left: Expr, right: Expr, equal: Expr, other: Expr) -> Expr:
    """Returns `equal` where `left` and `right` are the same number, and `other` elsewhere."""
    is_equal = left.at.add(elementwise.EqualOp, left.value, right.value).result
    return Expr(left.at, left.at.add(elementwise.WhereOp, is_equal, equal.value, other.value).result)


def _summed_axes(at: InsertionBuilder, op: ContractionOp, element: UniformQuantizedType) -> tuple[int, int]:
    """Returns the axes of the data and of the weights along which weights of type `element` have blocks.

    Raises `DiagnosticError` for blocks along several axes, or with grouped channels.
    """
    match op:
        case MatMulOp():
            left, right = len(shape_of(op.lhs)), len(shape_of(op.rhs))
            axes = (left - 1, right - 1 if op.is_rhs_transposed or right == 1 else right - 2)
        case ConvTransposeOp():
            axes = (1, 0)
        case _:
            axes = (1, 1)
    channels = op.quantization_slots().weight_channel_axis
    blocked = [axis for axis in element.axes if axis != channels]
    if blocked != [axes[1]]:
        named = " and ".join(map(str, blocked))
        raise at.error(
            f"cannot be trained: weights must be quantized in blocks along axis {axes[1]} only, but have blocks "
            f"along {named}"
        )
    if isinstance(op, WindowedContractionOp) and op.group_count > 1:
        raise at.error(f"cannot be trained: block-wise weights require one group, but got {op.group_count}")
    return axes


def _terms(op: ContractionOp) -> int:
    """Returns the largest number of products in an accumulator of `op`."""
    if isinstance(op, ConvTransposeOp):  # some have fewer, depending on their position between the strides
        weight = shape_of(op.weight)
        return volume(weight) // (weight[1] * op.group_count)
    return op.multiply_adds() // max(volume(shape_of(op.results[0])), 1)


@dataclass(frozen=True)
class _Sums:
    """The exact integer sums of an operation."""

    integers: Expr
    scale: Expr
    """The scale, in a shape that broadcasts to the sums."""

    count: Array = field(default_factory=lambda: np.ones((), np.int64))
    """The divisor of a mean."""

    largest: int | None = None
    """A bound of the magnitude of the integers; `None` if unknown."""


@dataclass
class Simulation:
    """Rewrites operations on quantized values into operations on floats, in program order.

    `scales` holds the scales of all values except accumulators.
    """

    scales: Scales
    found: dict[SSAValue, Simulated] = field(default_factory=dict[SSAValue, Simulated])
    replaced: list[Operation] = field(default_factory=list[Operation])

    def take(self, op: Operation) -> None:
        """Inserts the float counterpart of `op` before it, if it has quantized operands or results."""
        if not any(quantized_type(value) is not None for value in (*op.operands, *op.results)):
            return
        at = insertion_before(op, op)
        match op:
            case QuantizeCastOp():
                if SOFT in op.attributes:
                    self._keep(op.result, Expr(at, op.input))
                elif SIGNED in op.attributes:
                    self._keep(op.result, signs_of(Expr(at, op.input), self._own_scale(at, op.result)))
                elif not is_bias(op.result):
                    self._keep(op.result, self._quantized(Expr(at, op.input), op.result))
            case DequantizeCastOp():
                op.result.replace_all_uses_with(self.found[op.input].real(at).value)
            case StorageCastOp() if op.input in self.found:
                stored = self.found[op.input].stored(at)
                kind = TensorType(element_of(op.result), shape_of(op.result))
                op.result.replace_all_uses_with(at.add(elementwise.CastOp, stored.value, result_types=[kind]).result)
            case ConstantOp():
                self._constant(at, op)
            case NnOp():
                self._compute(at, op)
            case StorageCastOp():
                raise at.error(
                    "cannot be trained: it reads plain integers, which have no gradient; pass a model in QDQ form"
                )
            case _:
                raise at.error("cannot be trained: it has no float counterpart")
        self.replaced.append(op)

    def finish(self) -> None:
        """Erases the operations that were rewritten."""
        for op in reversed(self.replaced):
            Rewriter.erase_op(op)

    # Values

    def _keep(
        self, value: SSAValue, integers: Expr, scale: SSAValue | None = None, largest: int = EXACT_IN_F32
    ) -> None:
        """Records `integers`, of a magnitude of at most `largest`, as the integers of `value`."""
        element = uniform_of(value)
        integers = as_type(integers, f32 if element.bits <= 16 or largest < EXACT_IN_F32 else f64)
        integers.value.name_hint = value.name_hint
        self.found[value] = Simulated(integers.value, self.scales[value] if scale is None else scale, element)

    def _own_scale(self, at: InsertionBuilder, value: SSAValue) -> Expr:
        return beside(Expr(at, self.scales[value]), uniform_of(value), len(shape_of(value)))

    def _quantized(self, real: Expr, value: SSAValue) -> Expr:
        """Returns the integers to which `quant.qcast` quantizes `real`."""
        return _saturated(rounded(real / self._own_scale(real.at, value)), uniform_of(value))

    def _constant(self, at: InsertionBuilder, op: ConstantOp) -> None:
        stored, element = constant_array(op.result), quantized_type(op.result)
        if stored is None or element is None:
            raise at.error("cannot be trained: its elements must be constant")
        if is_bias(op.result):
            return
        _, zero_points = broadcast_parameters(element, stored.shape)
        like, dtype = (f32, np.float32) if element.bits <= 16 else (f64, np.float64)
        held = ConstantOp.of((stored.astype(np.int64) - zero_points).astype(dtype), TensorType(like, stored.shape))
        self._keep(op.result, Expr(at, at.append(held).result))

    # Operations

    def _compute(self, at: InsertionBuilder, op: NnOp) -> None:
        attribute = op.requantize
        mode, ties = (Mode.F32, Ties.EVEN) if attribute is None else (attribute.mode, attribute.ties)
        if mode not in (Mode.F32, Mode.SHIFT) or ties is Ties.AWAY:
            named = f"{mode}:{ties}" if mode is Mode.SHIFT else mode
            raise at.error(f"cannot be trained: requantization must be f32, shift:even or shift:up, but got {named}")
        if op.quantization_slots().shares_parameters:
            self._move(at, op)
        elif isinstance(op, ops.RowNormOp):
            data = self.found[op.operands[0]]
            normalized = simulated_rows(at, op, data.floats(at, f32), data.scale)
            self._keep(op.results[0], self._quantized(normalized, op.results[0]))
        elif isinstance(op, ContractionOp) and _has_blocks(op.operands[1]):
            self._sum_blocks(at, op)
        elif isinstance(op, elementwise.ComparisonOp | ArgExtremeOp):
            self._through_reals(at, op, f64)
        elif op.accumulator is None:
            self._through_reals(at, op, f32)
        elif op.accumulator is Accumulator.COMMON and not self._is_common(op):
            if mode is Mode.SHIFT:
                self._through_reals(at, op, f64, ties)
            else:
                self._by_scales(at, op)
        else:
            self._rescale(op, self._sums(at, op), mode, ties)

    def _cloned(
        self, at: InsertionBuilder, op: NnOp, operands: Sequence[SSAValue | None], element: Attribute
    ) -> Operation:
        """Clones `op` with other operands, without those that are `None`, and with float results of type `element`."""
        kept = [value for value in operands if value is not None]
        properties = {name: each for name, each in op.properties.items() if name != REQUANTIZE}
        if len(kept) < len(operands) and "operandSegmentSizes" in properties:
            raise at.error("cannot be trained: its optional operands are not supported")
        types = [
            result.type if quantized_type(result) is None else TensorType(element, shape_of(result))
            for result in op.results
        ]
        made = type(op).create(operands=kept, result_types=types, properties=properties, attributes=dict(op.attributes))
        at.insert(made)
        for old, new in zip(op.results, made.results, strict=True):
            if quantized_type(old) is None:
                old.replace_all_uses_with(new)
        return made

    def _integers(self, at: InsertionBuilder, op: NnOp, element: Attribute) -> list[SSAValue | None]:
        """Returns the operands of `op`; quantized ones as integers in floats of type `element`."""
        return [self.found[value].floats(at, element).value if value in self.found else value for value in op.operands]

    def _widest(self, op: NnOp) -> Attribute:
        widths = {element_of(self.found[value].integers) for value in op.operands if value in self.found}
        return f64 if f64 in widths else f32

    def _move(self, at: InsertionBuilder, op: NnOp) -> None:
        """Simulates movement, max pools and selection: the integers move like the values."""
        element = self._widest(op)
        made = self._cloned(at, op, self._integers(at, op, element), element)
        first = next(self.found[value] for value in op.operands if value in self.found)
        for old, new in zip(op.results, made.results, strict=True):
            kind = quantized_type(old)
            if kind is None:
                continue
            if kind.granularity is not Granularity.TENSOR and shape_of(first.scale) != (len(kind.scales),):
                raise at.error("cannot be trained: it moves slices with separate quantization parameters")
            self._keep(old, Expr(at, new), first.scale)

    def _by_scales(self, at: InsertionBuilder, op: NnOp) -> None:
        """Simulates a sum, difference or extremum of two operands.

        It is computed on integers if both have the same scale at run time.
        """
        known = [self.found[value] for value in op.operands]
        self._through_reals(at, op, f32)
        if any(each.element.granularity is not Granularity.TENSOR for each in known):
            return
        result = op.results[0]
        by_reals = self.found[result]
        self._rescale(op, self._sums(at, op), Mode.F32, Ties.EVEN)
        left, right = (Expr(at, each.scale) for each in known)
        chosen = _chosen(left, right, Expr(at, self.found[result].integers), Expr(at, by_reals.integers))
        self._keep(result, chosen, by_reals.scale)

    def _through_reals(self, at: InsertionBuilder, op: NnOp, element: Attribute, ties: Ties = Ties.EVEN) -> None:
        operands: list[SSAValue | None] = []
        for value in op.operands:
            known = self.found.get(value)
            if known is None:
                operands.append(value)
            elif element is f32:
                operands.append(known.real(at).value)
            else:  # a scale of 24 bits times an integer of 29 bits is exact
                operands.append((as_type(known.beside(at), f64) * known.floats(at, f64)).value)
        made = self._cloned(at, op, operands, element)
        for old, new in zip(op.results, made.results, strict=True):
            kind = quantized_type(old)
            if kind is None:
                continue
            held = self.scales.get(old)
            if held is None:  # an accumulator of sums whose scales no longer agree: it has that of the first
                held = next(self.found[value].scale for value in op.operands if keeps_sums(value))
            scale = as_type(beside(Expr(at, held), kind, len(shape_of(old))), element)
            self._keep(old, _saturated(rounded(Expr(at, new) / scale, ties), kind), held)

    def _is_common(self, op: NnOp) -> bool:
        # A bias has the scale of all accumulators it is added to, such as those of all steps of a recurrent layer.
        if any(map(is_bias, op.operands)):
            return True
        return len({self.found[value].scale for value in op.operands if value in self.found}) == 1

    def _sums(self, at: InsertionBuilder, op: NnOp) -> _Sums:
        for value in op.operands:
            if op.accumulator is Accumulator.COMMON and value not in self.found:
                self._take_bias(at, op, value)
        rank, known = len(shape_of(op.results[0])), [self.found.get(value) for value in op.operands]
        if op.accumulator is not Accumulator.PRODUCT:
            operand = next(each for each in known if each is not None)
            if (
                operand.element.granularity is not Granularity.TENSOR
                and not isinstance(op, BiasedContractionOp)
                and shape_of(op.results[0]) != shape_of(op.operands[0])
            ):
                raise at.error("cannot be trained: it adds values with separate quantization parameters")
            if isinstance(op, AveragePoolOp | GlobalAveragePoolOp | ReduceMeanOp):
                return self._sums_of_mean(at, op, operand)
            if isinstance(op, elementwise.ClipOp):  # its bounds belong to the result
                return _Sums(operand.floats(at, self._widest(op)), operand.beside(at))
            is_wide = isinstance(op, ReduceSumOp) or any(each is not None and each.element.bits > 16 for each in known)
            element = f64 if is_wide else self._widest(op)
            made = self._cloned(at, op, self._integers(at, op, element), element)
            return _Sums(Expr(at, made.results[0]), operand.beside(at))
        if isinstance(op, EinsumOp):
            raise at.error("cannot be trained in float; exclude it with --exclude")
        x, w = (each for each in known[:2] if each is not None)
        largest = (_terms(op) if isinstance(op, ContractionOp) else 1) * x.largest() * w.largest()
        element = f32 if largest < EXACT_IN_F32 else f64
        operands: list[SSAValue | None] = [each.floats(at, element).value for each in (x, w)]
        made = self._cloned(at, op, operands, element)
        sums = Expr(at, made.results[0])
        if not isinstance(op, ContractionOp):
            return _Sums(sums, x.beside(at) * w.beside(at))
        scale = Expr(at, x.scale) * Expr(at, w.scale)
        if isinstance(op, ConvTransposeOp) and shape_of(scale.value) and op.group_count > 1:
            repeats = op.output_channels() // shape_of(scale.value)[0]
            if repeats > 1:
                scale = Expr(at, at.add(TileOp, scale.value, repeats=[repeats]).result)
        if isinstance(op, BiasedContractionOp) and op.bias is not None:
            sums = as_type(sums, f64) + self._laid(op, as_type(self._bias(at, op.bias, scale), f64), rank)
            return _Sums(sums, self._laid(op, scale, rank))
        return _Sums(sums, self._laid(op, scale, rank), largest=largest)

    def _sum_blocks(self, at: InsertionBuilder, op: ContractionOp) -> None:
        """Multiplies the exact sum of each block by its scale, and adds these in f32 in block order, the bias last."""
        x, w = (self.found[value] for value in op.operands[:2])
        data_axis, axis = _summed_axes(at, op, w.element)
        size = dict(zip(w.element.axes, w.element.block_sizes, strict=True))[axis]
        length = shape_of(w.integers)[axis]
        like = f32 if _terms(op) * size // length * x.largest() * w.largest() < EXACT_IN_F32 else f64
        integers, weights = (each.floats(at, like).value for each in (x, w))
        scales, rank = w.beside(at).value, len(shape_of(op.results[0]))
        parts: list[Expr] = []
        for start in range(0, length, size):
            factors = [
                at.sliced(integers, data_axis, start, start + size),
                at.sliced(weights, axis, start, start + size),
            ]
            sums = Expr(at, self._cloned(at, op, factors, like).results[0])
            scale = Expr(at, x.scale) * self._of_channels(op, Expr(at, at.sliced(scales, axis, start, start + 1)), rank)
            parts.append(scale * as_type(sums, f32))
        total = reduce(Expr.__add__, parts)
        if isinstance(op, BiasedContractionOp) and op.bias is not None:
            total = total + self._of_channels(op, self.found[op.bias].real(at), rank)
        self._keep(op.results[0], self._quantized(total, op.results[0]))

    def _of_channels(self, op: ContractionOp, numbers: Expr, rank: int) -> Expr:
        """Reshapes elements that differ only by output channel to broadcast to the result.

        They have the layout of weights or of a bias.
        """
        at, shape = numbers.at, shape_of(numbers.value)
        if isinstance(op, MatMulOp):
            turned = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            return (
                Expr(at, at.transposed(numbers.value, turned)) if op.is_rhs_transposed and len(shape) > 1 else numbers
            )
        return self._laid(op, Expr(at, at.reshaped(numbers.value, [volume(shape)])), rank)

    @staticmethod
    def _laid(op: ContractionOp, numbers: Expr, rank: int) -> Expr:
        """Reshapes one element, or one per channel, so that it broadcasts to the result."""
        if not shape_of(numbers.value):
            return numbers
        axis = op.quantization_slots().result_channel_axis
        assert axis is not None
        return along(numbers, axis, rank)

    def _take_bias(self, at: InsertionBuilder, op: NnOp, bias: SSAValue) -> None:
        """Records the integers of a bias that `op` adds to an accumulator."""
        sums = next(self.found[value] for value in op.operands if value in self.found)
        scale = beside(Expr(at, sums.scale), uniform_of(bias), len(shape_of(bias)))
        self._keep(bias, self._bias(at, bias, scale), sums.scale)

    def _bias(self, at: InsertionBuilder, bias: SSAValue, scale: Expr) -> Expr:
        """Returns the integers of a bias in the scale of the accumulator, which broadcasts to it."""
        if isinstance(bias.owner, QuantizeCastOp):
            return _saturated(as_type(rounded(Expr(at, bias.owner.input) / scale), f64), uniform_of(bias))
        stored = constant_array(bias)
        assert stored is not None
        held = ConstantOp.of(stored.astype(np.float64), TensorType(f64, stored.shape))
        return Expr(at, at.append(held).result)

    def _sums_of_mean(self, at: InsertionBuilder, op: NnOp, operand: Simulated) -> _Sums:
        """Returns the sums of a mean: the f64 mean times its count, rounded, as its error is far below 1/2."""
        mean = Expr(at, self._cloned(at, op, self._integers(at, op, f64), f64).results[0])
        count = op.divisors()
        if isinstance(op, AveragePoolOp) and count.size > 1:
            sizes = shape_of(op.data)[2:]
            count = covered_elements(op.windows, op.counts(sizes), sizes, bool(op.count_include_pad.value.data))
        if count.size != 1 and not isinstance(op, AveragePoolOp):
            raise at.error(
                "cannot be trained: its mean depends on dynamic dimensions; fix the input shapes with --shape"
            )
        count = count.reshape(()) if count.size == 1 else count
        total = mean * Expr(at, at.constant(count, mean.value))
        return _Sums(rounded(total), Expr(at, operand.scale), np.asarray(count))

    def _rescale(self, op: NnOp, given: _Sums, mode: Mode, ties: Ties) -> None:
        """Requantizes exact sums to the integers of the result."""
        sums, scale, count, result = given.integers, given.scale, given.count, op.results[0]
        at, element = sums.at, uniform_of(result)
        if result not in self.scales:  # an accumulator keeps the scale of its sums
            flat = scale
            if element.granularity is not Granularity.TENSOR:
                flat = Expr(at, at.reshaped(scale.value, [len(element.scales)]))
            if given.largest is not None and given.largest <= min(-element.storage_min, element.storage_max):
                self._keep(result, sums, flat.value, given.largest)
            else:
                self._keep(result, _saturated(as_type(sums, f64), element), flat.value)
            return
        target = self._own_scale(at, result)
        if count.size > 1 or count != 1:
            target = target * Expr(at, at.constant(count.astype(np.float32), target.value))
        integers = sums
        if scale.value is not target.value:  # a multiplier of 1 keeps the integers
            multiplier, kind = scale / target, f64 if mode is Mode.SHIFT else f32
            integers = rounded(as_type(sums, kind) * as_type(multiplier, kind), ties)
            if mode is Mode.F32 and element.bits > 16:  # equal scales keep integers that f32 cannot represent
                one = Expr(at, at.constant(1.0, multiplier.value))
                integers = _chosen(multiplier, one, as_type(sums, f64), as_type(integers, f64))
        integers = _saturated(integers, element)
        if isinstance(op, elementwise.ClipOp):
            integers = self._between(op, integers)
        self._keep(result, integers)

    def _between(self, op: elementwise.ClipOp, integers: Expr) -> Expr:
        """Clips to the bounds of `op`, quantized to the type of the result."""
        for bound, limit in ((op.minimum, elementwise.MaxOp), (op.maximum, elementwise.MinOp)):
            if bound is not None:
                at = integers.at
                real = Expr(at, at.constant(bound.value.data, self.scales[op.result]))
                number = self._quantized(real, op.result)
                integers = integers.apply(limit, as_type(number, element_of(integers.value)))
        return integers
