"""Packs weights into the layout of a variant, including dequantized and computed weights and block-wise scales."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, builtin
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.contraction_ranges import known_weights
from qmlir.analysis.operand_accesses import (
    computes_only,
    is_elementwise,
    is_movement,
    is_repeated,
    output_maps,
    permutation_of,
    read_elements,
    readings_of,
    repeated_array,
)
from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.arithmetic.schemes import SCALE_TYPES, TwoLevelScales, scale_type_of
from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.attributes import LayoutAttr, ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, MatMulOp
from qmlir.dialects.kernel.lowering.lowering import Body, Input, Lowering, integer_types, unchanged
from qmlir.dialects.kernel.lowering.quantized import plain_decoded, plain_place
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, joined_scales
from qmlir.dialects.kernel.variants import Variant, WeightLayout, variant_named
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.control_flow import has_uses, terminator_of
from qmlir.ir.evaluation import evaluate_if_defined
from qmlir.ir.provenance import hand_on
from qmlir.targets.cpu.isa.predicates import has_offset_bytes
from qmlir.targets.cpu.loops.emitter import row_major, step_along
from qmlir.targets.cpu.scheduled.schedule import tile_rows
from qmlir.text.elements import dtype_of, narrowed

# Constant weights that an operation dequantizes: their stored values and scales.

FUSED = "splat_fma"
"""The float microkernel of CPUs that dequantize stored weights at run time.

Portable C and WebAssembly have no microkernel that reads stored weights directly: their programs hold f32 weights,
since a microcontroller has more weight memory than working memory.
"""

_WIDEST = 8
"""The widest encoded weights, in bits, that are decoded by a table."""

OF_BYTES = ("f32s8", "f32e4m3", "f32e5m2", "f32e3m4")
"""Variants that convert one-byte weights to floats, fastest first."""

HOLDING = ("f32s2", "f32s4", "f32e2m1", *OF_BYTES)
"""All variants that convert weights to floats, fewest bits first."""


@dataclass(frozen=True)
class HeldWeights:
    """Weights in the encoding of a variant: integers or float codes in int8, and matching scales."""

    variant: Variant
    codes: Array
    scales: Array


@dataclass(frozen=True)
class DequantizedWeights:
    """Constant weights as the product of `numbers` and `scales`, in f32.

    The numbers are integers without zero points, or low-precision floats. Both arrays have the same shape, or `scales`
    is broadcast.
    """

    numbers: Array
    scales: Array

    def held(self, names: Sequence[str]) -> HeldWeights | None:
        """Encodes the weights for the first of `names` whose variant holds each number exactly; `None` if none does."""
        return next(filter(None, (self._held_by(variant_named(name)) for name in names)), None)

    def _held_by(self, variant: Variant) -> HeldWeights | None:
        if variant.weight_float is not None:
            return self._as_floats(variant, variant.weight_float)
        assert variant.weight_bits is not None
        low, high = integer_limits(variant.weight_bits)
        if not (self.numbers.min() >= low and self.numbers.max() <= high):  # also false for NaN
            return None
        codes = self.numbers.astype(np.int8)
        is_exact = np.array_equal(codes, self.numbers) and not (np.signbit(self.numbers) & (codes == 0)).any()
        return HeldWeights(variant, codes, self.scales) if is_exact else None

    def _as_floats(self, variant: Variant, format_: PlainFloat) -> HeldWeights | None:
        found = format_.scaled_codes(self.numbers)
        if found is None:
            return None
        codes, power = found
        scales = np.ldexp(self.scales, power)
        is_exact = np.isfinite(scales).all() and np.array_equal(np.ldexp(scales, -power), self.scales)
        return HeldWeights(variant, codes, scales) if is_exact else None

    def reals(self) -> Array:
        """Returns the dequantized weights in f32, each rounded once."""
        with np.errstate(all="ignore"):  # infinities and NaN are weights, too
            return np.asarray(self.scales * self.numbers, np.float32)


def elementwise_owner(value: SSAValue) -> GenericOp | None:
    """Returns the elementwise operation that computes `value`; `None` if it is computed in another way."""
    op = value.owner
    if not isinstance(op, GenericOp) or not is_elementwise(op):
        return None
    return op if output_maps(op)[0] == AffineMap.identity(len(op.iterator_types)) else None


@dataclass(frozen=True)
class _Product:
    """The body `scale * number` of a dequantization: the scales as it reads them, and the value of the number."""

    scales: Array
    scale: SSAValue
    number: SSAValue

    def numbers(self, op: GenericOp) -> Array | None:
        """Evaluates the numbers in f32, using a table of all codes if possible; `None` if they aren't constant."""
        block = op.body.block
        sources = [each for each in block.args[: len(op.inputs)] if each is not self.scale]
        arrays = [read_elements(op, each.index) for each in sources]
        known = [array for array in arrays if array is not None and array.size]
        element = as_integer(sources[0].type) if len(sources) == len(known) > 0 else None
        if element is None:
            return None
        if len(sources) > 1 or element.width.data > _WIDEST:
            return self._computed(block, dict(zip(sources, known, strict=True)))
        codes = np.arange(1 << element.width.data)
        table = self._computed(block, {sources[0]: narrowed(codes.astype(np.uint8).view(np.int8), element)})
        if table is None:
            return None
        numbers = np.empty_like(known[0], np.float32)
        pairs = (known[0].T, numbers.T) if known[0].flags.f_contiguous else (known[0], numbers)
        for held, found in zip(*pairs, strict=True):  # in the order of memory; all indices would take 8 bytes a weight
            found[...] = table[held.astype(np.int64) & codes[-1]]
        return numbers

    def _computed(self, block: Block, values: dict[SSAValue, Any]) -> Array | None:
        """Evaluates the numbers for given values of the inputs."""
        for op in block.ops:
            if self.number in values:
                break
            if isinstance(op, IndexOp) or not computes_only(op) or any(each not in values for each in op.operands):
                return None
            results = evaluate_if_defined(op, [values[each] for each in op.operands])
            if results is None:
                return None
            values.update(zip(op.results, results, strict=True))
        return np.asarray(values[self.number], np.float32) if self.number in values else None


def _product(op: GenericOp) -> _Product | None:
    block = op.body.block
    product = terminator_of(block).operands[0].owner
    if not isinstance(product, arith.MulfOp) or product.result.type != builtin.f32:
        return None
    for scale, number in itertools.permutations(product.operands):
        if isinstance(scale, BlockArgument) and scale.block is block and 0 < scale.index < len(op.inputs):
            scales = read_elements(op, scale.index)
        else:
            found = scale.owner.value if isinstance(scale.owner, arith.ConstantOp) else None
            is_one = isinstance(found, builtin.FloatAttr)
            scales = np.full(shaped(op.results[0])[0], found.value.data, np.float32) if is_one else None
        if scales is not None:
            return _Product(scales, scale, number)
    return None


def dequantized_weights(value: SSAValue) -> DequantizedWeights | None:
    """Returns the stored numbers and scales of dequantized constant weights; `None` for any other value."""
    op = elementwise_owner(value)
    product = None if op is None else _product(op)
    numbers = None if op is None or product is None else product.numbers(op)
    return None if product is None or numbers is None else DequantizedWeights(numbers, product.scales)


def alike(array: Array, axis: int) -> int:
    """Returns the largest divisor of an axis's size such that each run of that length consists of equal slices."""
    size = array.shape[axis]
    moved = np.moveaxis(array, axis, 0).reshape(size, -1)
    changes = np.flatnonzero((moved[1:] != moved[:-1]).any(axis=1)) + 1
    return math.gcd(size, *changes.tolist())


# Constant weights that are computed elementwise, such as dequantized low-precision floats: expanded at run time.
#
# They stay encoded in memory, in packed order. Each run expands them to packed f32 weights, with one vectorized
# operation on packed constants that computes what the original did. Many rows use each weight, so that the expansion
# takes little time compared to the contraction.


@dataclass(frozen=True)
class _Axes:
    """The axes of packed weights, each split into `[size / run, run]` if inputs are constant along runs."""

    shape: tuple[int, ...]

    @staticmethod
    def of(arrays: Sequence[Array]) -> "_Axes":
        """Returns the split axes for inputs in packed order."""
        shape: list[int] = []
        for axis, size in enumerate(arrays[0].shape):
            run = math.gcd(size, *(found for array in arrays if (found := alike(array, axis)) > 1))
            shape += [size // run, run] if 1 < run < size else [size]
        return _Axes(tuple(shape))

    def input(self, at: Lowering, array: Array, element: Attribute) -> Input:
        """Creates a constant without the axes along which `array` is constant, and its map."""
        divided = array.reshape(self.shape)
        kept = [axis for axis, size in enumerate(self.shape) if size > 1 and alike(divided, axis) < size]
        first = divided[tuple(slice(None) if axis in kept else 0 for axis in range(divided.ndim))]
        map_ = AffineMap(len(self.shape), 0, tuple(AffineExpr.dimension(axis) for axis in kept))
        return Input(at.constant(first, element), map_)


def _inputs(op: GenericOp) -> list[Array] | None:
    """Returns the inputs of an operation per element of the result; `None` if it depends on anything but constants."""
    for each in op.body.block.ops:
        if isinstance(each, IndexOp) or (each is not op.body.block.last_op and not computes_only(each)):
            return None
    found = [read_elements(op, position) for position in range(len(op.inputs))]
    known = [each for each in found if each is not None and each.size]
    return known if len(known) == len(found) > 0 else None


def _of_codes(held: HeldWeights) -> Body:
    """Returns the body that decodes a weight from its code and its scale."""
    format_ = held.variant.weight_float

    def body(code: Scalar, scale: Scalar) -> Scalar:
        wide = code.to(builtin.i32)
        if format_ is None:
            return scale * wide.to(builtin.f32)
        moved = wide << plain_place(format_)
        return scale * Scalar(plain_decoded(wide.builder, moved.value, format_), wide.builder)

    return body


def _of_inputs(op: GenericOp) -> Body:
    """Returns the body of `op` as a function on scalars."""

    def body(*given: Scalar) -> Scalar:
        block, builder = op.body.block, given[0].builder
        scalars = (scalar.value for scalar in given)
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, scalars, strict=False))
        last = terminator_of(block)
        for each in block.ops:
            if each is not last:
                builder.insert(each.clone(values))
        result = last.operands[0]
        return Scalar(values.get(result, result), builder)

    return body


def expanded_weights(at: Lowering, weights: SSAValue, layout: WeightLayout) -> SSAValue | None:
    """Emits the expansion of `weights` in packed order; `None` if they aren't computed elementwise from constants.

    Dequantized weights are stored for the byte variant that converts them to floats with the least work.
    """
    op = elementwise_owner(weights)
    element = shaped(weights)[1]
    if op is None or not isinstance(element, builtin.AnyFloat) or layout.variant.element is not None:
        return None
    dequantized = dequantized_weights(weights) if element == builtin.f32 else None
    held = None if dequantized is None else dequantized.held(OF_BYTES)
    if held is not None:
        arrays, elements, body = [held.codes, held.scales], [builtin.i8, builtin.f32], _of_codes(held)
    else:
        arrays, elements, body = _inputs(op), [shaped(each)[1] for each in op.inputs], _of_inputs(op)
    if arrays is None:
        return None
    packed = [layout.pack(each.reshape(layout.unpadded)) for each in arrays]
    axes = _Axes.of(packed)
    inputs = [axes.input(at, *pair) for pair in zip(packed, elements, strict=True)]
    return at.reshape(at.compute(inputs, axes.shape, element, body), layout.shape)


# Packing weights into the layout of a variant, and the corrections of sums that this requires. Constants are packed
# with NumPy, computed weights by structured operations.


def pack_computed(layout: WeightLayout, at: Lowering, weights: SSAValue) -> SSAValue:
    """Emits operations that pack weights computed at run time.

    Weights that were only moved (transposed, reshaped) are read from their source; weights computed from constants are
    stored packed and expanded at run time.
    """
    expanded = expanded_weights(at, weights, layout)
    if expanded is not None:
        return expanded
    if layout.padded == layout.unpadded and layout.variant.parts == 1:
        packed = _packed_from_source(layout, at, weights)
        if packed is not None:
            return at.reshape(packed, layout.shape)
    source = at.reshape(weights, layout.unpadded)
    border = [after - before for before, after in zip(layout.unpadded, layout.padded, strict=True)]
    padded = at.pad(source, [0] * len(border), border, 0)
    return at.reshape(at.transpose(at.reshape(padded, layout.split), layout.order), layout.shape)


def _packed_from_source(layout: WeightLayout, at: Lowering, weights: SSAValue) -> SSAValue | None:
    """Emits one operation that reads the weights in packed order directly from the source of their moves.

    Returns `None` if an axis of the weights and one of the layout overlap only partially.
    """
    shape, element = shaped(weights)
    own, split = row_major(shape), row_major(layout.split)
    steps = sorted({*own, *split, math.prod(shape)})
    if any(large % small for small, large in itertools.pairwise(steps)):
        return None
    sizes = {small: large // small for small, large in itertools.pairwise(steps)}

    def parts(starts: Sequence[int], shape: Sequence[int], axis: int) -> list[int]:
        """Returns the strides that make up an axis, longest first."""
        return [step for step in reversed(sizes) if starts[axis] <= step < starts[axis] * shape[axis]]

    order = [step for axis in layout.order for step in parts(split, layout.split, axis)]
    position: list[AffineExpr] = []
    for axis, start in enumerate(own):
        terms = [AffineExpr.dimension(order.index(step)) * (step // start) for step in parts(own, shape, axis)]
        position.append(sum(terms[1:], terms[0]) if terms else AffineExpr.constant(0))
    source, found = moved_from(weights, position)
    map_ = AffineMap(len(order), 0, tuple(found))
    if layout.variant.is_unpacked and _keeps_order(map_, shaped(source)[0], [sizes[step] for step in order]):
        return source
    return at.compute([Input(source, map_)], [sizes[step] for step in order], element, unchanged)


def _keeps_order(map_: AffineMap, source: Sequence[int], shape: Sequence[int]) -> bool:
    """Returns true if `map_`, which is linear, reads all elements of a tensor in row-major order, as `shape` does."""
    dims = range(len(shape))
    steps = [step_along(dim, map_, row_major(source), len(shape)) for dim in dims]
    return math.prod(source) == math.prod(shape) and all(
        shape[dim] == 1 or steps[dim] == step for dim, step in enumerate(row_major(shape))
    )


def moved_from(value: SSAValue, position: Sequence[AffineExpr]) -> tuple[SSAValue, Sequence[AffineExpr]]:
    """Returns the source of the data movement that produced `value`, and the corresponding index there."""
    while isinstance(op := value.owner, GenericOp) and is_movement(op):
        (reading,), (written,) = readings_of(op), output_maps(op)
        order = permutation_of(written)
        assert order is not None
        dims = [position[order.index(dim)] for dim in range(len(order))]
        position = [each.replace_dims_and_symbols(dims, ()) for each in reading.map_.results]
        value = reading.value
    return value, position


@dataclass(frozen=True)
class PackedWeights:
    """Weights in their packed element type: an array, or an SSA value if they are computed."""

    array: Array | None
    value: SSAValue | None
    offset: int = 0
    """The difference between each element and the weight without its zero point."""


def _rows(op: ContractionOp, rank: int) -> AffineMap:
    """Returns the map from the axes of the weights to their output channel."""
    axis = rank - 2 if isinstance(op, MatMulOp) else 0
    return AffineMap(rank, 0, (AffineExpr.dimension(axis),))


BYTE_MIDDLE = 128
"""The difference between an unsigned byte and the signed byte at the same position in its range."""


def signed_byte(byte: Scalar) -> Scalar:
    """Subtracts 128 from an unsigned byte, by flipping its highest bit."""
    return byte ^ -BYTE_MIDDLE


def packed_weights(
    op: ContractionOp, at: Lowering, element: Attribute, more: int = 0, *, is_unpacked: bool = False
) -> PackedWeights:
    """Converts each weight to `element`, exactly: without its zero point, or as a signed byte if that can't fit.

    `more` is added to each element. `is_unpacked` keeps bytes as they are.
    """
    number = op.weight_zero_point.value.data
    if more:
        return replace(_less(op, at, element, number, more), offset=more)
    if element == builtin.i8 and (is_unpacked or has_offset_bytes(op)):
        taken = BYTE_MIDDLE if op.weight_unsigned is not None else 0
        return replace(_less(op, at, element, taken), offset=number - taken)
    return _less(op, at, element, number)


def _less(op: ContractionOp, at: Lowering, element: Attribute, number: int, more: int = 0) -> PackedWeights:
    """Converts each weight, minus its zero point (`number` if there is only one) plus `more`, to the type `element`.

    Raises `DiagnosticError` if a constant doesn't fit the type: a hand-written schedule may ask for that.
    """
    source, shape = shaped(op.w)[1], shaped(op.w)[0]
    is_unsigned = op.weight_unsigned is not None
    known = at.known(op.w)
    if known is None and element == builtin.f32 == source and (op.schedule is None or op.schedule.variant != FUSED):
        stored = dequantized_weights(op.w)
        known = None if stored is None else stored.reals()
    if known is not None and isinstance(source, builtin.AnyFloat):
        return PackedWeights(known.astype(dtype_of(element)), None)
    centered = known_weights(op)
    if centered is not None:
        own = op.weight_zero_point.value.data if op.weight_zero_points is None else number
        moved = centered if own - number + more == 0 else centered.astype(np.int64) + (own - number + more)
        made = moved.astype(dtype_of(element), copy=False)
        if not np.array_equal(made, moved):
            raise at.error(f"has weights in [{moved.min()}, {moved.max()}], but its schedule packs them as {element}")
        return PackedWeights(made, None)
    if source == element and not number and not more and op.weight_zero_points is None:
        return PackedWeights(None, op.w)
    inputs = [Input(op.w, AffineMap.identity(len(shape)), is_unsigned)]
    if op.weight_zero_points is not None:
        inputs.append(Input(op.weight_zero_points, _rows(op, len(shape))))

    is_flipped = is_unsigned and source == element == builtin.i8 and number - more == BYTE_MIDDLE and len(inputs) == 1

    def body(weight: Scalar, *offsets: Scalar) -> Scalar:
        if weight.is_float:
            return weight.to(element)
        if is_flipped:
            return signed_byte(weight)
        wide = weight.to(builtin.i64 if element == builtin.i64 else builtin.i32)
        wide = wide - (offsets[0].to(wide.type) if offsets else number)
        return (wide + more if more else wide).to(element)

    return PackedWeights(None, at.compute(inputs, shape, element, body))


def correction(op: ContractionOp, at: Lowering, weights: PackedWeights, offset: int) -> SSAValue | Array | None:
    """Returns `-offset * sum(w)` for each output channel (in each batch of weights); `None` if `offset` is 0.

    With weights `w = w' - z_w + p` and an input `x = x' - z_x + offset`, `sum (x' - z_x)(w' - z_w)` is
    `sum x w - offset * sum(w) - p * sum (x' - z_x)`; `row_correction` returns the last term.
    """
    element = op.accumulator_type
    if not offset or isinstance(element, builtin.AnyFloat):
        return None
    is_product = isinstance(op, MatMulOp)
    if weights.array is not None:
        known = op.form.sums_of_weights(weights.array) if isinstance(op, WinogradOp) else weights.array
        axes = (-1,) if is_product else tuple(range(1, known.ndim))
        sums = known.astype(np.int64).sum(axis=axes)
        return cast(Array, -offset * sums).astype(dtype_of(element))
    assert weights.value is not None
    shape = shaped(weights.value)[0]
    axes = (len(shape) - 1,) if is_product else tuple(range(1, len(shape)))
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    source = Input(weights.value, AffineMap.identity(len(shape)))
    return _multiplied_sums(at, source, axes, at.fill(kept, element, 0), -offset)


def _multiplied_sums(at: Lowering, source: Input, axes: Sequence[int], start: SSAValue, factor: int) -> SSAValue:
    """Emits `factor` times the sums of `source` over `axes`, which begin with `start`."""
    kept, element = shaped(start)
    sums = at.reduce(source, axes, start, lambda each, so_far: so_far + each.to(element))

    def multiplied(total: Scalar) -> Scalar:
        return total * factor

    return at.compute([Input(sums, AffineMap.identity(len(kept)))], kept, element, multiplied)


def row_correction(op: ContractionOp, at: Lowering, weights: PackedWeights) -> SSAValue | None:
    """Returns `-offset * sum(x - z_x)` for each row; `None` if the weights have no offset."""
    if not weights.offset:
        return None
    shape, element = shaped(op.x)[0], op.accumulator_type
    kept, rank = shape[:-1], len(shape)
    source = Input(op.x, AffineMap.identity(rank), op.input_unsigned is not None)
    start = at.fill(kept, element, -op.input_zero_point.value.data * shape[-1])
    return _multiplied_sums(at, source, (rank - 1,), start, -weights.offset)


def row_map(op: ContractionOp) -> AffineMap:
    """Returns the map from the dimensions of the result to those of a row correction."""
    rank = len(shaped(op.target)[0])
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in range(rank - 1)))


def channel_map(op: ContractionOp, correction_rank: int) -> AffineMap:
    """Returns the map from the dimensions of the result to those of a correction: weight batches, then the channel."""
    rank = len(shaped(op.target)[0])
    batches = range(correction_rank - 1)
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in (*batches, rank - 1)))


# Packed contractions by block-wise quantized weights, including float inputs by stored weights.
#
# A weight-only quantized model multiplies floats with weights that an operation dequantizes in each run. Since they are
# constants, loops can keep them encoded and convert them in registers. The sum of each block, of products by integers
# or low-precision floats, is multiplied by the scale of the block: the same terms, rounded in another order.

MOST_ROWS = 8
"""The most rows for which weights are decoded for each tile of rows, not once for all rows.

For 1024x1024 e4m3 weights, this takes 96, 119 and 237 µs with 2, 4 and 8 rows; f32 weights take 175, 149 and 221 µs.
For 512x512 weights and 16 rows, it takes 113 µs, and f32 weights take 53 µs.

With several rows, decoding is the bottleneck, not memory: 4-bit weights are then stored as bytes, which takes half the
time.
"""

_LEAST = 8
"""The smallest block for which a scale costs little memory and time."""


_SCALE_TYPES = {str(each): each for each in (builtin.f16, builtin.bf16, builtin.f32)}


def _levels(scales: Array, terms: int) -> tuple[Array, Array | None]:
    """Returns scales `[channel blocks, B, channels]`; as those of super-blocks with bytes for the blocks if smaller."""
    size = np.dtype(SCALE_TYPES[scale_type_of(scales)]).itemsize
    parts = list[TwoLevelScales]()
    for part in scales:
        if (found := TwoLevelScales.along(part, 0, terms)) is None:  # most scales have no levels: the first block tells
            return scales, None
        parts.append(found)
    steps, factors = np.stack([each.steps for each in parts]), np.stack([each.factors for each in parts])
    if np.dtype(SCALE_TYPES[scale_type_of(steps)]).itemsize >= (size - 1) * factors.shape[-1]:
        return scales, None
    by_block = factors.reshape(*factors.shape[:2], -1).swapaxes(1, 2)
    return steps.swapaxes(1, 2), np.ascontiguousarray(by_block)


def packed_blocks(
    at: Lowering,
    operands: tuple[SSAValue, Array, Array],
    layout: LayoutAttr,
    schedule: ScheduleAttr,
    body: Region,
    properties: dict[str, Attribute],
    epilogue: Sequence[tuple[SSAValue, AffineMap]] = (),
    starts: SSAValue | None = None,
) -> PackedBlocksOp:
    """Creates the matmul of `x` `[B, M, K]`, weights `[N, B, K]`, scales `[B, N]` over B blocks; returns `[M, N]`."""
    x, weights, scales = operands
    channels, count, terms = weights.shape
    positions = layout.weights(1, channels, (count,), terms)
    filled = np.pad(scales, [(0, 0), (0, positions.blocks * positions.width - channels)])
    by_place = np.ascontiguousarray(filled.reshape(count, positions.blocks, positions.width).swapaxes(0, 1))
    rows, (held, factors) = shaped(x)[0][1], _levels(by_place, terms)
    scale_type = _SCALE_TYPES[scale_type_of(held)]
    # Each sum needs two registers.
    height = tile_rows(rows, max(schedule.rows // 2, 1))
    hint = ScheduleAttr.of(rows=height, threads=schedule.threads, ahead=schedule.ahead).of_packed()
    result = terminator_of(body.block).operands[0].type
    return PackedBlocksOp.create(
        operands=[
            x,
            at.constant(joined_scales(positions.pack(weights), held, scale_type, factors), builtin.i8),
            *([] if starts is None else [starts]),
            *(each for each, _ in epilogue),
        ],
        result_types=[builtin.TensorType(result, (rows, channels))],
        properties={
            "layout": layout,
            "scale_type": scale_type,
            **({} if factors is None else {"super_block": builtin.IntegerAttr(count // held.shape[1], builtin.i32)}),
            **({} if hint is None else {"schedule": hint}),
            **properties,
            "epilogue_maps": builtin.ArrayAttr([builtin.AffineMapAttr(map_) for _, map_ in epilogue]),
            "operandSegmentSizes": builtin.DenseArrayBase.from_list(
                builtin.i32, [1, 1, starts is not None, len(epilogue), 0]
            ),
        },
        regions=[body],
    )


def _of_rows(op: MatMulOp, at: Lowering) -> list[tuple[SSAValue, AffineMap]] | None:
    """Returns the epilogue operands for a result with its rows collapsed to one axis; `None` if that isn't possible."""
    shape = shaped(op.target)[0]
    rank, found = len(shape), list[tuple[SSAValue, AffineMap]]()
    for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True):
        if attribute.data == AffineMap.identity(rank):
            found.append((at.reshape(value, (math.prod(shape[:-1]), shape[-1])), AffineMap.identity(2)))
        elif all(each == AffineDimExpr(rank - 1) for each in attribute.data.results):
            channel = tuple(AffineExpr.dimension(1) for _ in attribute.data.results)
            found.append((value, AffineMap(2, 0, channel)))
        else:
            return None
    return found


class PackWidened(RewritePattern):
    """Replaces a matmul by dequantized constant weights with a block-wise matmul by the stored weights."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatMulOp, rewriter: PatternRewriter, /) -> None:
        schedule = op.schedule
        if schedule is None or schedule.variant != FUSED or op.result is None or shaped(op.x)[1] != builtin.f32:
            return
        rows, is_matrix = math.prod(shaped(op.target)[0][:-1]), len(shaped(op.w)[0]) == 2
        if rows > MOST_ROWS or not is_matrix or op.accumulator_type != builtin.f32:
            return
        weights = dequantized_weights(op.w)
        held = None if weights is None else weights.held(HOLDING if rows == 1 else OF_BYTES)
        block = 0 if held is None else alike(held.scales, 1)
        if held is None or block < _LEAST or block % held.variant.parts:
            return
        at = Lowering(op, rewriter, integer_types())
        epilogue = _of_rows(op, at)
        if epilogue is None:
            return
        channels, terms = held.codes.shape
        count = terms // block
        x = at.transpose(at.reshape(op.x, (rows, count, block)), (1, 0, 2))
        codes = held.codes.reshape(channels, count, block)
        layout = LayoutAttr.of(held.variant.name, schedule.vectors, schedule.lanes)
        body, target, dequantized = op.detach_region(op.body), shaped(op.target)[0], op.w.owner
        made = packed_blocks(at, (x, codes, held.scales[:, ::block].T), layout, schedule, body, {}, epilogue)
        hand_on([op], made)
        rewriter.replace(op, [], [at.reshape(at.insert(made), target)])
        assert isinstance(dequantized, Operation)
        if not has_uses(dequantized):
            rewriter.erase(dequantized)


class RepeatAtCompileTime(RewritePattern):
    """Replaces repeated elements of a constant that no packed weights contain with a constant."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if is_repeated(op.result):
            array = repeated_array(op.result)
            assert array is not None
            rewriter.replace(op, [], [Lowering(op, rewriter, integer_types()).constant(array, shaped(op.result)[1])])
