"""Padding rules for windows, resizing and recurrent layers along dynamic dimensions.

The valid elements of a result are those that it would have at the runtime size. Beyond the valid part of an operand,
they must read the value that the operation itself pads with: a mask inserts it unless no valid window reaches that far.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, TensorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.assembly import SEGMENT_SIZES
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.contraction.ops import values_of
from qmlir.dialects.nn.decomposition import components_of
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.dialects.nn.recurrent.decompose import CELLS, prefix_of
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.dialects.nn.resizing import evaluate as resized
from qmlir.dialects.nn.resizing.ops import STRETCH, Resized, ResizeOp, scaled_size
from qmlir.dialects.nn.result_shapes import Windows, output_size, transposed_size
from qmlir.dialects.nn.shapes import ops as expansion
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS
from qmlir.specialization.padding.padding import Axes, PaddedValue, PaddingWalk, Rule, limit_of, zero_of
from qmlir.specialization.padding.rows import broadcast, mean_of_the_run
from qmlir.specialization.padding.symbolic_sizes import Extent, as_extent, extents, quotient, sizes_in

ONE = Extent()

Fill = Callable[[SSAValue], Array | None]
"""Returns the value that an operation pads its operand with."""


def _lowest(value: SSAValue) -> Array | None:
    return limit_of(value, highest=False)


def _images(op: Operation, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """The rule of operations that compute each sample separately: only the batch size may be dynamic."""
    data, *others = (walk.axes(value) for value in op.operands)
    results = [shape_of(result)[1:] for result in op.results]
    is_open = any(axis.names for axis in (*data[1:], *(axis for axes in others for axis in axes)))
    if is_open or any(size < 0 for shape in results for size in shape):
        return None
    return [PaddedValue((data[0], *extents(shape))) for shape in results]


def _beside_channels(op: normalization.LocalResponseNormOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    axes = walk.axes(op.input)
    _check_others(op, walk, axes[1])
    return [PaddedValue(axes)]


def _is_image_by_image(walk: PaddingWalk, data: Axes) -> bool:
    return walk.is_sized or not any(axis.names for axis in data[1:])


def _check_others(op: Operation, walk: PaddingWalk, *axes: Extent) -> None:
    """Declines if channels or weights have dynamic sizes."""
    for axis in axes:
        if axis.names:
            walk.decline(op, f"has {axis} channels or weights, but only spatial axes and the batch can be padded")


def _fill(op: Operation, walk: PaddingWalk, data: SSAValue, axes: Sequence[int], fill: Fill) -> None:
    """Replaces the padding along `axes` that `op` reads by its own padding value, unless it already has that value."""
    is_zero = fill is zero_of
    walk.select(op, data, [axis for axis in axes if not (is_zero and axis in walk.facts(data).zeros)], fill(data))


# --- Windows ----------------------------------------------------------------------------------------------------------


def _windows_along(
    op: Operation, walk: PaddingWalk, extent: Extent, windows: Windows, axis: int, is_ceil: bool
) -> tuple[Extent, bool]:
    """Returns the number of windows along a spatial axis, and True if the last ones reach beyond its valid part."""
    if extent.number is not None:
        return Extent.of(output_size(extent.number, windows, axis, is_ceil)), False
    stride, length, (begin, end) = windows.strides[axis], windows.extent(axis), windows.padding(axis)
    if (stride, length, begin, end) == (1, 1, 0, 0):
        return extent, False
    walk.derived(op, extent)
    if is_ceil and end >= length:
        walk.decline(op, f"pads by a whole window in ceil_mode, so the number of windows along {extent} is unknown")
    room = begin + end - length
    walk.require(op, quotient(extent, room + 1, 1), ONE, is_equal=False)
    # With ceil_mode, the remainder gets one more window, which must start in the data or the padding before it:
    # min(ceil(room / s), floor((n + begin - 1) / s)) + 1.
    last = min(room + stride - 1, begin - 1) if is_ceil else room
    return quotient(extent, last + stride, stride), end > 0 or is_ceil


def _slide(
    op: Any, walk: PaddingWalk, windows: Windows, fill: Fill, *, is_ceil: bool = False
) -> tuple[tuple[Extent, ...], list[int]]:
    """Returns the spatial extents of the result and the axes whose last windows reach padding, which it fills."""
    data = walk.axes(op.data)
    found = [_windows_along(op, walk, each, windows, axis, is_ceil) for axis, each in enumerate(data[2:])]
    reached = [axis for axis, (_, is_reached) in enumerate(found, 2) if is_reached]
    _fill(op, walk, op.data, reached, fill)
    return tuple(count for count, _ in found), reached


def _kernel(op: contraction.WindowedContractionOp, walk: PaddingWalk) -> Windows:
    data, weight = walk.axes(op.data), walk.axes(op.weight)
    _check_others(op, walk, data[1], *weight)
    return op.windows_of([axis.at({}) for axis in weight[2:]])


def _conv(op: contraction.ConvOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data = walk.axes(op.data)
    if _is_image_by_image(walk, data):
        return _images(op, walk)
    spatial, _ = _slide(op, walk, _kernel(op, walk), zero_of)
    return [PaddedValue((data[0], walk.axes(op.weight)[0], *spatial))]


def _conv_transpose(op: contraction.ConvTransposeOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, weight = walk.axes(op.data), walk.axes(op.weight)
    if _is_image_by_image(walk, data):
        return _images(op, walk)
    windows = _kernel(op, walk)
    added = values_of(op.output_padding) or (0,) * len(windows.kernel)
    spatial: list[Extent] = []
    reached: list[int] = []
    for axis, extent in enumerate(data[2:]):
        if extent.number is not None:
            spatial.append(Extent.of(transposed_size(extent.number, windows, axis, added[axis])))
            continue
        begin, end = windows.padding(axis)
        stride = windows.strides[axis]
        more = windows.extent(axis) - stride + added[axis] - begin - end
        # The first padding element adds its kernel from n * stride - begin on; the result has n * stride + more.
        if more + begin > 0:
            reached.append(axis + 2)
        if more == 0 and stride == 1:
            spatial.append(extent)
        else:
            walk.derived(op, extent)
            spatial.append(quotient(extent * stride, more, 1))
        walk.require(op, spatial[-1], ONE, is_equal=False)
    walk.mix(*data[2:])
    _fill(op, walk, op.data, reached, zero_of)
    return [PaddedValue((data[0], Extent.of(weight[1].at({}) * op.group_count), *spatial))]


def _pool(fill: Fill) -> Rule:
    """Returns the rule of a pool whose results don't change if its input is padded with `fill`."""

    def rule(op: pooling.PoolOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
        data = walk.axes(op.data)
        if _is_image_by_image(walk, data):
            return _images(op, walk)
        _check_others(op, walk, data[1])
        spatial, _ = _slide(op, walk, op.windows, fill, is_ceil=bool(op.ceil_mode.value.data))
        return [PaddedValue((*data[:2], *spatial))]

    return rule


def _average_pool(op: pooling.AveragePoolOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, is_ceil = walk.axes(op.data), bool(op.ceil_mode.value.data)
    if _is_image_by_image(walk, data):
        return _images(op, walk)
    _check_others(op, walk, data[1])
    spatial, reached = _slide(op, walk, op.windows, zero_of, is_ceil=is_ceil)
    if is_qlinear(op):
        walk.decline(op, f"rescales means of {op.data.type}, which may round differently for another size")
    found = PaddedValue((*data[:2], *spatial))
    if reached and (is_ceil or not op.count_include_pad.value.data):
        stacked = _stacked(op, walk, spatial)
        mean_of_the_run(op, walk, stacked, [len(data)], found, keeps=False, count=_covered(op, walk, data, spatial))
    return [found]


def _stacked(op: pooling.AveragePoolOp, walk: PaddingWalk, spatial: Sequence[Extent]) -> SSAValue:
    """Stacks the elements of each window along a new last axis, in row-major order; elements outside are 0."""
    windows, axes = op.windows, walk.axes(op.data)
    rank, counts = len(axes), [each.at(walk.capacities) for each in spatial]
    pads = [0] * 2 * rank
    for axis, count in enumerate(counts):
        last = (count - 1) * windows.strides[axis] + windows.extent(axis)
        begin = windows.padding(axis)[0]
        pads[2 + axis] = begin
        pads[rank + 2 + axis] = max(0, last - begin - axes[2 + axis].at(walk.capacities))
    padded = walk.insert(op, build(expansion.PadOp, [op.data, None, None, None], {"pads": pads})).result
    parts: list[SSAValue] = []
    for taps in product(*map(range, windows.kernel)):
        starts = [tap * dilation for tap, dilation in zip(taps, windows.dilations, strict=True)]
        spans = [(count - 1) * stride + 1 for count, stride in zip(counts, windows.strides, strict=True)]
        cut = {
            "starts": starts,
            "ends": [start + span for start, span in zip(starts, spans, strict=True)],
            "axes": list(range(2, rank)),
            "steps": list(windows.strides),
        }
        part = walk.insert(op, build(movement.SliceOp, [padded, None, None, None, None], cut)).result
        parts.append(walk.insert(op, build(movement.UnsqueezeOp, [part, None], {"axes": [rank]})).result)
    stacked = walk.insert(op, movement.ConcatOp(parts, rank)).result
    return walk.keep(stacked, PaddedValue((*axes[:2], *spatial, Extent.of(len(parts)))))


def _covered(op: pooling.AveragePoolOp, walk: PaddingWalk, data: Axes, spatial: Sequence[Extent]) -> SSAValue:
    """Computes the number of elements that each window covers at run time, `[*spatial]`; 1 for padding windows."""
    windows, with_padding = op.windows, bool(op.count_include_pad.value.data)
    total = walk.size(ONE)
    for axis, extent in enumerate(spatial):
        count, (begin, end) = extent.at(walk.capacities), windows.padding(axis)
        starts = np.arange(count) * windows.strides[axis] - begin
        places = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
        first, behind = (-begin, end) if with_padding else (0, 0)
        bound = walk.size(quotient(data[2 + axis], behind, 1))
        places = walk.constant(np.where(places >= first, places, np.iinfo(np.int64).max))
        is_there = walk.begin(build(elementwise.LessOp, [places, bound]))
        ones = elementwise.CastOp.build(operands=[is_there], result_types=[TensorType(i64, shape_of(places))])
        covered = walk.begin(reduction.ReduceSumOp(walk.begin(ones), [1], keep_dims=False))
        some = walk.begin(build(elementwise.MaxOp, [covered, walk.size(ONE)]))
        shaped = walk.begin(movement.ReshapeOp(some, [count, *(1,) * (len(spatial) - axis - 1)]))
        total = walk.begin(build(elementwise.MulOp, [total, shaped]))
    return total


def _counted_images(op: Operation, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data = walk.axes(op.operands[0])
    if not walk.is_sized and any(axis.names for axis in data[1:]):
        walk.decline(op, "returns flat indices, which change if a dimension is padded")
    walk.count(op, data[0])
    return _images(op, walk)


def _global_pool(fill: Fill) -> Rule:
    def rule(op: pooling.GlobalPoolOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
        data = walk.axes(op.data)
        if _is_image_by_image(walk, data):
            return _images(op, walk)
        _check_others(op, walk, data[1])
        spatial = range(2, len(data))
        walk.mix(*data[2:])
        facts = PaddedValue((*data[:2], *(ONE for _ in spatial)))
        is_open = [axis for axis in spatial if data[axis].names]
        if isinstance(op, pooling.GlobalAveragePoolOp):
            _fill(op, walk, op.data, is_open, zero_of)
            mean_of_the_run(op, walk, op.data, list(spatial), facts)
        else:
            _fill(op, walk, op.data, is_open, fill)
        return [facts]

    return rule


# --- Blocks and resizing ----------------------------------------------------------------------------------------------


def _blocks(op: movement.BlocksOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, block = walk.axes(op.input), op.block
    if _is_image_by_image(walk, data):
        return _images(op, walk)
    _check_others(op, walk, data[1])
    channels = data[1].at({})
    for axis in data[2:]:
        walk.derived(op, axis)
    if isinstance(op, movement.DepthToSpaceOp):
        return [PaddedValue((data[0], Extent.of(channels // block**2), *(axis * block for axis in data[2:])))]
    blocks = [quotient(axis, 0, block) for axis in data[2:]]
    for axis, each in zip(data[2:], blocks, strict=True):
        walk.require(op, axis, each * block, is_equal=True)
    return [PaddedValue((data[0], Extent.of(channels * block**2), *blocks))]


MOST_DENOMINATOR = 64
"""The largest denominator of a scale that is recognized as a fraction."""


def _resize(op: ResizeOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    axes = walk.axes(op.input)
    chosen = op.resized_axes(len(axes))
    is_open = [axis for axis in chosen if axes[axis].names]
    scales = op.floats("scales")
    if walk.is_sized or not is_open:
        is_moved = 0 in chosen and (scales is None or scales[0] != 1)
        return None if is_moved else _images(op, walk)
    if op.is_crop or op.scales_value is not None or op.keep_aspect_ratio_policy.data != STRETCH:
        walk.decline(
            op,
            f"resizes a dimension of size {axes[is_open[0]]} by a crop, by runtime scales or by one scale for all axes",
        )
    after = list(axes)
    for axis, (grown, ratio, scale) in zip(chosen, _grown(op, walk, axes, chosen), strict=True):
        extent, after[axis] = axes[axis], grown
        if extent.names and ratio != 1:
            walk.derived(op, extent)
            walk.require(op, grown, ONE, is_equal=False)
            _repeat_the_last(op, walk, axis, ratio, scale)
    return [PaddedValue(tuple(after))]


def _grown(op: ResizeOp, walk: PaddingWalk, axes: Axes, chosen: Sequence[int]) -> list[tuple[Extent, Fraction, float]]:
    """Returns, for each of the `chosen` axes, its new extent, its scale as a fraction, and its scale."""
    scales = op.floats("scales")
    if scales is not None:
        return [_scaled(op, walk, axes[axis], scale) for axis, scale in zip(chosen, scales, strict=True)]
    content = None if op.sizes_value is None else walk.facts(op.sizes_value).content
    sizes = list(op.integers("sizes") or ()) if content is None else sizes_in(content)
    found: list[tuple[Extent, Fraction, float]] = []
    for axis, size in zip(chosen, sizes, strict=True):
        before, after = axes[axis], as_extent(size)
        if before.opened != after.opened:
            walk.decline(op, f"resizes a dimension from {before} to {after}, a scale that depends on the runtime size")
        ratio = Fraction(after.scale, before.scale) if before.names else Fraction(1)
        found.append((after, ratio, float(ratio)))
    return found


def _scaled(op: ResizeOp, walk: PaddingWalk, extent: Extent, scale: float) -> tuple[Extent, Fraction, float]:
    """Returns these for one axis. For a dynamic axis, the fraction must give the right size at every runtime size."""
    if extent.number is not None:
        return Extent.of(scaled_size(extent.number, scale)), Fraction(scale), scale
    ratio = Fraction(scale).limit_denominator(MOST_DENOMINATOR)
    capacity = extent.at(walk.capacities)
    if np.float32(float(ratio)) != np.float32(scale) or any(
        scaled_size(size, scale) != size * ratio.numerator // ratio.denominator for size in range(1, capacity + 1)
    ):
        walk.decline(op, f"resizes a dimension of size {extent} by {scale}, which is not a simple fraction")
    return quotient(extent * ratio.numerator, 0, ratio.denominator), ratio, scale


def _sampled(op: ResizeOp, axis: int, length: int, ratio: Fraction, scale: float) -> tuple[Array, Array]:
    """Returns the input indices and weights of each result element along an axis of `length`."""
    size = length * ratio.numerator // ratio.denominator
    to = resized.Axis(length, Resized(axis, scale, size), *map(np.float32, (scale, 0, 1)))
    x = resized.coordinates(op, to)
    if op.is_nearest:
        elements = resized.nearest_elements(op, x, to)[:, None]
        return elements, np.ones(elements.shape)
    return resized.weights_of(op, x, to)


def _repeat_the_last(op: ResizeOp, walk: PaddingWalk, axis: int, ratio: Fraction, scale: float) -> None:
    """Replaces padding along `axis` by the last valid element if valid result elements read it.

    For every runtime size, this checks that each valid element then reads the same elements with the same weights as it
    would at that size.
    """
    extent = walk.axes(op.input)[axis]
    capacity = extent.at(walk.capacities)
    elements, weights = _sampled(op, axis, capacity, ratio, scale)
    is_reached = False
    for length in range(1, capacity):
        own, own_weights = _sampled(op, axis, length, ratio, scale)
        count, taps = own.shape
        reads = elements[:count]
        if taps != reads.shape[1] or not (
            np.array_equal(own, np.minimum(reads, length - 1)) and np.array_equal(own_weights, weights[:count])
        ):
            mode = op.coordinate_transformation_mode.data
            walk.decline(
                op, f"samples a dimension of size {extent} at coordinates ({mode}) that depend on the runtime size"
            )
        is_reached = is_reached or bool((reads[own_weights != 0] >= length).any())
    if is_reached:
        last = walk.begin(build(elementwise.SubOp, [walk.size(extent), walk.size(ONE)]))
        places = walk.constant(np.arange(capacity))
        walk.take(op, op.input, axis, walk.begin(build(elementwise.MinOp, [places, last])))


# --- Sequences --------------------------------------------------------------------------------------------------------


def _recurrent(op: Any, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """The rule of recurrent layers. A dynamic length applies to all sequences; after it, states stay unchanged."""
    steps, sequences, width = walk.axes(op.data)
    states = [op.initial_hidden, getattr(op, "initial_cell", None)]
    given = [walk.axes(state)[1] for state in states if state is not None]
    given += [] if op.lengths is None else walk.axes(op.lengths)
    if width.names or broadcast(op, walk, (sequences,), *((each,) for each in given)) != (sequences,):
        return None
    per_sequence = [op.data, op.lengths, *states]
    others = [walk.axes(value) for value in op.operands if value not in per_sequence]
    others += [(axes[0], axes[2]) for state in states if state is not None and (axes := walk.axes(state))]
    if any(axis.names for axes in others for axis in axes):
        walk.decline(op, "has weights or states with dynamic dimensions")
    if steps.names and walk.is_sized:
        walk.mix(steps)
        walk.decline(op, "iterates over the batch axis")
    results = [shape_of(result) for result in op.results]
    found = [PaddedValue((*extents(shape[:-2]), sequences, *extents(shape[-1:]))) for shape in results]
    if steps.names:
        walk.count(op, steps)
        found[0] = PaddedValue((steps, *found[0].axes[1:]), frozenset([0]))
        if op.lengths is None:
            _end_after(op, walk, steps, sequences, found)
    return found


def _end_after(
    op: recurrent.Layer, walk: PaddingWalk, steps: Extent, sequences: Extent, found: Sequence[PaddedValue]
) -> None:
    """Passes the runtime size to a layer as the length of each sequence."""
    zeros = walk.constant(np.zeros(sequences.at(walk.capacities)))
    lengths = walk.begin(build(elementwise.AddOp, [zeros, walk.size(steps)]))
    short = elementwise.CastOp.build(operands=[lengths], result_types=[TensorType(i32, shape_of(lengths))])
    operands: dict[str, SSAValue | None] = {name: getattr(op, name) for name, _ in op.get_irdl_definition().operands}
    operands["lengths"] = walk.begin(short)
    components = _keep_one_type(op, walk, operands)
    made: recurrent.Layer = type(op).build(
        operands=[[] if each is None else each for each in operands.values()],
        result_types=[result.type for result in op.results],
        properties={
            **{name: each for name, each in op.properties.items() if name != SEGMENT_SIZES},
            **components,
        },
        attributes=op.attributes,
    )
    walk.insert(op, made)
    for old, new, facts in zip(op.results, made.results, found, strict=True):
        old.replace_all_uses_with(walk.keep(new, facts))


def _keep_one_type(
    op: recurrent.Layer, walk: PaddingWalk, operands: dict[str, SSAValue | None]
) -> Mapping[str, Attribute]:
    """Returns the component types of a quantized layer with sequence lengths, in which each state keeps one type.

    States are copied unchanged after the end of a sequence, so their type can't change. An initial state of 0 is
    dropped, because 0 is 0 in any type.
    """
    components = components_of(op)
    found = dict(components)
    for way, name in product(range(op.directions if components else 0), [each for each in _STATES if each in operands]):
        prefix = prefix_of(way)
        element = element_of(op.hidden_states) if name == HIDDEN else components[f"{prefix}{CELLS[0]}"]
        role, given = f"{prefix}{_STATES[name]}/initial", getattr(op, name)
        before = components.get(role, element) if given is None else element_of(given)
        if before != element:
            if op.requantize is not None or not (given is None or _is_zero(given)):
                walk.decline(op, f"must keep one state type, but starts with {before} and continues with {element}")
            operands[name] = None
        if operands[name] is None:
            found[role] = element
        found[f"{prefix}hidden/zero"] = element_of(op.hidden_states)
    return {COMPONENTS: DictionaryAttr(found)} if components else {}


HIDDEN = "initial_hidden"
_STATES = {HIDDEN: "hidden", "initial_cell": "cell"}
"""The operand of each initial state, and the prefix of the roles of its components."""

_COPIES = (expansion.ExpandOp, movement.ReshapeOp, movement.UnsqueezeOp, movement.TransposeOp)
"""Operations that only move the elements of their first operand."""


def _is_zero(value: SSAValue) -> bool:
    """Returns True if all elements are known to be 0."""
    while isinstance(value.owner, _COPIES):
        value = value.owner.operands[0]
    if isinstance(value.owner, QuantizeCastOp):
        return _is_zero(value.owner.input)
    array, zero = constant_array(value), zero_of(value)
    return array is not None and zero is not None and bool((array == zero).all())


RULES: dict[type[Operation], Rule] = {
    normalization.ScaledChannelNormOp: _images,
    normalization.LocalResponseNormOp: _beside_channels,
    contraction.ConvOp: _conv,
    contraction.ConvTransposeOp: _conv_transpose,
    pooling.MaxPoolOp: _pool(_lowest),
    pooling.LpPoolOp: _pool(zero_of),
    pooling.AveragePoolOp: _average_pool,
    pooling.MaxPoolWithIndicesOp: _counted_images,
    pooling.GlobalMaxPoolOp: _global_pool(_lowest),
    pooling.GlobalLpPoolOp: _global_pool(zero_of),
    pooling.GlobalAveragePoolOp: _global_pool(zero_of),
    recurrent.RnnOp: _recurrent,
    recurrent.GruOp: _recurrent,
    recurrent.LstmOp: _recurrent,
    ResizeOp: _resize,
    movement.BlocksOp: _blocks,
}
