"""Operators that move elements: they copy stored integers, whatever the scales of their output."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.extensions.litert.flatbuffer import MalformedError
from qmlir.extensions.litert.node import LiteNode, followed
from qmlir.extensions.litert.operators.elementwise import axes_of
from qmlir.extensions.litert.operators.row import ALL, LiteRow
from qmlir.extensions.litert.values import IMAGE
from qmlir.ir.builtin_types import element_of, shape_of

_WHOLE = np.iinfo(np.int64)


def _vector(node: LiteNode, slot: int) -> list[int]:
    """Returns the list of integers in a field of the options."""
    table = node.operator.table
    try:
        return [] if table is None else [int(number) for number in table.numbers(slot, "i4")]
    except MalformedError as error:
        raise node.error(str(error)) from error


def _axis(node: LiteNode, value: SSAValue, name: str = "axis") -> int:
    """Returns the option `axis`, counted from the front, in the layout of the node."""
    rank, axis = len(shape_of(value)), int(node.attribute(name) or 0)
    return _at(node, axis, rank)


def _at(node: LiteNode, axis: int, rank: int) -> int:
    found = axis + rank if axis < 0 else axis
    if not 0 <= found < rank:
        raise node.error(f"axis {axis} is not among the {rank} axes of its input")
    return node.layout.axis(found) if rank == IMAGE else found


def _ordered(node: LiteNode, numbers: Sequence[int], value: SSAValue) -> list[int]:
    """Returns one number per axis, in the order of the layout of the node."""
    rank = len(shape_of(value))
    if len(numbers) != rank:
        raise node.error(f"expected one number for each of the {rank} axes, but got {list(numbers)}")
    return node.layout.ordered(numbers) if rank == IMAGE else list(numbers)


def _reshape(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    wanted = list(node.numbers(1)) if node.tensor(1) is not None else _vector(node, 0)
    count = int(np.prod(shape_of(value)))
    if wanted.count(-1) == 1:
        known = int(np.prod([size for size in wanted if size != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = count // known if known else 0
    if min(wanted, default=0) < 0 or int(np.prod(wanted, dtype=object)) != count:
        raise node.error(f"cannot reshape {list(shape_of(value))} to {wanted}")
    return node.restamped(node.reshaped(value, wanted))


def _squeeze(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    shape = shape_of(value)
    axes = {_at(node, axis, len(shape)) for axis in _vector(node, 0)}
    if any(shape[axis] != 1 for axis in axes):
        raise node.error(f"cannot squeeze axes {sorted(axes)} of shape {list(shape)}")
    kept = [size for axis, size in enumerate(shape) if (axis not in axes if axes else size != 1)]
    return node.restamped(node.reshaped(value, kept))


def _expand_dims(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    shape, axis = list(shape_of(value)), node.integer_of(1)
    place = axis + len(shape) + 1 if axis < 0 else axis
    if not 0 <= place <= len(shape):
        raise node.error(f"axis {axis} is not among the {len(shape) + 1} axes of its output")
    return node.restamped(node.reshaped(value, (*shape[:place], 1, *shape[place:])))


def _transpose(node: LiteNode) -> SSAValue:
    return node.restamped(node.add(movement.TransposeOp, node.quantized(0), permutation=list(node.numbers(1))).result)


def _pad(node: LiteNode) -> SSAValue:
    value, pads = node.quantized(0), node.numbers(1)
    if len(pads) != 2 * len(shape_of(value)) or min(pads, default=0) < 0:
        raise node.error(f"padding must have two numbers >= 0 for each axis, but is {list(pads)}")
    before, after = (_ordered(node, pads[start::2], value) for start in (0, 1))
    fill = node.quantized(2) if node.tensor(2) is not None else None
    return node.restamped(node.add(shapes.PadOp, value, fill, pads=[*before, *after]).result)


def _mirror_pad(node: LiteNode) -> SSAValue:
    if node.attribute("mode"):
        raise node.unsupported("symmetric padding is not supported, only reflection")
    value, pads = node.quantized(0), node.numbers(1)
    before, after = (_ordered(node, pads[start::2], value) for start in (0, 1))
    return node.restamped(node.add(shapes.PadOp, value, pads=[*before, *after], mode="reflect").result)


def _concatenation(node: LiteNode) -> SSAValue:
    values = [node.quantized(index) for index in range(len(node.operator.inputs))]
    elements = {element_of(value) for value in values}
    if len(elements) > 1 or elements != {node.element()}:
        raise node.error("its inputs and its output must have the same type, scale and zero point")
    if node.is_quantized and node.attribute("fused_activation_function"):
        raise node.unsupported("LiteRT has no activation for quantized values")
    result = node.add(movement.ConcatOp, values, axis=_axis(node, values[0])).results[0]
    return node.activated(result)


def _slice(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    starts, sizes = (_ordered(node, node.numbers(index), value) for index in (1, 2))
    ends = [
        extent if size == -1 else start + size
        for start, size, extent in zip(starts, sizes, shape_of(value), strict=True)
    ]
    if any(not 0 <= a <= b <= extent for a, b, extent in zip(starts, ends, shape_of(value), strict=True)):
        raise node.error(f"cannot take {sizes} elements from {starts} of shape {list(shape_of(value))}")
    axes = list(range(len(starts)))
    return node.restamped(node.add(movement.SliceOp, value, starts=starts, ends=ends, axes=axes).result)


def _strided_slice(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    shape = shape_of(value)
    begins, ends, steps = (list(node.numbers(index)) for index in (1, 2, 3))
    if any(node.attribute(name) for name in ("ellipsis_mask", "new_axis_mask", "offset")):
        raise node.unsupported("masks of new axes and of ellipses, and ends that are offsets, are not supported")
    if not len(begins) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise node.error(f"cannot slice {list(shape)} from {begins} to {ends} by {steps}")
    masks = [int(node.attribute(name) or 0) for name in ("begin_mask", "end_mask", "shrink_axis_mask")]
    shrunk: list[int] = []
    for axis, step in enumerate(steps):
        free_begin, free_end, is_one = (bool(mask >> axis & 1) for mask in masks)
        if is_one:
            begins[axis] += shape[axis] if begins[axis] < 0 else 0
            if not 0 <= begins[axis] < shape[axis]:
                raise node.error(f"index {begins[axis]} is outside axis {axis} of size {shape[axis]}")
            ends[axis], steps[axis] = begins[axis] + 1, 1
            shrunk.append(axis)
            continue
        if free_begin:
            begins[axis] = 0 if step > 0 else _WHOLE.max
        if free_end:
            ends[axis] = _WHOLE.max if step > 0 else _WHOLE.min
    axes = list(range(len(begins)))
    result = node.add(movement.SliceOp, value, starts=begins, ends=ends, axes=axes, steps=steps).result
    if shrunk:
        kept = [size for axis, size in enumerate(shape_of(result)) if axis not in shrunk]
        result = node.reshaped(result, kept)
    return node.restamped(result)


def _parts(node: LiteNode, value: SSAValue, axis: int, sizes: Sequence[int] | None) -> list[SSAValue]:
    count = len(node.operator.outputs)
    extent = shape_of(value)[axis]
    if sizes is None:
        if extent % count:
            raise node.error(f"cannot split axis {axis} of size {extent} into {count} equal parts")
        sizes = [extent // count] * count
    if len(sizes) != count:
        raise node.error(f"has {count} outputs, but sizes {list(sizes)}")
    parts = node.add(movement.SplitOp, value, axis=axis, split=list(sizes), results=count).parts
    return [node.restamped(part, index) for index, part in enumerate(parts)]


def _split(node: LiteNode) -> list[SSAValue]:
    value, axis = node.quantized(1), node.integer_of(0)
    return _parts(node, value, _at(node, axis, len(shape_of(value))), None)


def _split_v(node: LiteNode) -> list[SSAValue]:
    value, sizes, axis = node.quantized(0), list(node.numbers(1)), node.integer_of(2)
    place = _at(node, axis, len(shape_of(value)))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape_of(value)[place] - sum(size for size in sizes if size != -1)
    return _parts(node, value, place, sizes)


def _pack(node: LiteNode) -> SSAValue:
    axis, values = int(node.attribute("axis") or 0), list[SSAValue]()
    for index in range(len(node.operator.inputs)):
        value = node.restamped(node.quantized(index))
        shape = list(shape_of(value))
        place = axis + len(shape) + 1 if axis < 0 else axis
        if not 0 <= place <= len(shape):
            raise node.error(f"axis {axis} is not among the {len(shape) + 1} axes of its output")
        values.append(node.reshaped(value, (*shape[:place], 1, *shape[place:])))
        axis = place
    return node.add(movement.ConcatOp, values, axis=axis).results[0]


def _unpack(node: LiteNode) -> list[SSAValue]:
    value = node.quantized(0)
    axis = _axis(node, value)
    parts = _parts(node, value, axis, None)
    shape = [size for place, size in enumerate(shape_of(value)) if place != axis]
    return [node.reshaped(part, shape) for part in parts]


def _gather(node: LiteNode) -> SSAValue:
    if node.attribute("batch_dims"):
        raise node.unsupported("batch_dims must be 0")
    value, indices = node.quantized(0), node.cast(node.input(1), i64)
    return node.restamped(node.add(indexing.GatherOp, value, indices, axis=_axis(node, value)).result)


def _gather_nd(node: LiteNode) -> SSAValue:
    value, indices = node.quantized(0), node.cast(node.input(1), i64)
    return node.restamped(node.add(indexing.GatherNDOp, value, indices).result)


def _embedding_lookup(node: LiteNode) -> SSAValue:
    indices, table = node.cast(node.input(0), i64), node.quantized(1)
    return node.restamped(node.add(indexing.GatherOp, table, indices, axis=0).result)


def _tile(node: LiteNode) -> SSAValue:
    value = node.quantized(0)
    return node.restamped(node.add(shapes.TileOp, value, repeats=_ordered(node, node.numbers(1), value)).result)


def _broadcast_to(node: LiteNode) -> SSAValue:
    return node.restamped(node.add(shapes.ExpandOp, node.quantized(0), shape=list(node.numbers(1))).result)


def _reverse(node: LiteNode) -> SSAValue:
    value, axes = node.quantized(0), axes_of(node, 1)
    ends, steps = [_WHOLE.min] * len(axes), [-1] * len(axes)
    starts = [_WHOLE.max] * len(axes)
    return node.restamped(node.add(movement.SliceOp, value, starts=starts, ends=ends, axes=axes, steps=steps).result)


def _space_to_batch(node: LiteNode) -> SSAValue:
    value, blocks, pads = node.quantized(0), node.numbers(1), node.numbers(2)
    rank = len(shape_of(value))
    if not 0 < len(blocks) < rank or min(blocks) < 1 or len(pads) != 2 * len(blocks) or min(pads) < 0:
        raise node.error(f"blocks {list(blocks)} and padding {list(pads)} don't fit {list(shape_of(value))}")
    rest = [0] * (rank - len(blocks) - 1)
    value = node.add(shapes.PadOp, value, pads=[0, *pads[::2], *rest, 0, *pads[1::2], *rest]).result
    batch, *sizes = shape_of(value)
    if any(size % block for size, block in zip(sizes, blocks, strict=False)):
        raise node.error(f"blocks {list(blocks)} don't divide the padded shape {list(shape_of(value))}")
    count = len(blocks)
    split = [number for size, block in zip(sizes, blocks, strict=False) for number in (size // block, block)]
    value = node.reshaped(value, (batch, *split, *sizes[count:]))
    outer, inner = ([*range(start, 2 * count + 1, 2)] for start in (1, 2))
    order = [*inner, 0, *outer, *range(2 * count + 1, rank + count)]
    value = node.add(movement.TransposeOp, value, permutation=order).result
    shape = (batch * int(np.prod(blocks)), *split[::2], *sizes[count:])
    return node.restamped(node.reshaped(value, shape))


def _batch_to_space(node: LiteNode) -> SSAValue:
    value, blocks, crops = node.quantized(0), node.numbers(1), node.numbers(2)
    (batch, *sizes), rank, count = shape_of(value), len(shape_of(value)), len(blocks)
    whole = int(np.prod(blocks, dtype=object)) if blocks else 0
    if not 0 < count < rank or min(blocks) < 1 or batch % whole or len(crops) != 2 * count or min(crops) < 0:
        raise node.error(f"blocks {list(blocks)} and crops {list(crops)} don't fit {list(shape_of(value))}")
    value = node.reshaped(value, (*blocks, batch // whole, *sizes))
    order = [count, *(axis for place in range(count) for axis in (count + 1 + place, place))]
    order += range(2 * count + 1, rank + count)
    value = node.add(movement.TransposeOp, value, permutation=order).result
    spaces = [size * block for size, block in zip(sizes, blocks, strict=False)]
    value = node.reshaped(value, (batch // whole, *spaces, *sizes[count:]))
    ends = [space - crop for space, crop in zip(spaces, crops[1::2], strict=True)]
    axes = list(range(1, count + 1))
    return node.restamped(node.add(movement.SliceOp, value, starts=list(crops[::2]), ends=ends, axes=axes).result)


def _shape(node: LiteNode) -> SSAValue:
    return node.cast(node.add(shapes.ShapeOp, node.graph.plain(node.quantized(0))).result, node.element())


def _fill(node: LiteNode) -> SSAValue:
    return node.restamped(node.add(shapes.ExpandOp, node.quantized(1), shape=list(node.numbers(0))).result)


def _zeros_like(node: LiteNode) -> SSAValue:
    zero = node.scalar(0, node.quantized(0))
    return node.add(shapes.ExpandOp, zero, shape=list(shape_of(node.quantized(0)))).result


def _top_k(node: LiteNode) -> list[SSAValue]:
    value, count = node.quantized(0), node.integer_of(1)
    types = [TensorType(element_of(value), []), TensorType(i64, [])]
    values, indices = node.add(indexing.TopKOp, value, k=count, result_types=types).results
    return [node.restamped(values), node.cast(indices, node.element(1))]


OPERATORS: Mapping[str, LiteRow] = {
    "RESHAPE": LiteRow(_reshape, stored=ALL),
    "SQUEEZE": LiteRow(_squeeze, stored=ALL),
    "EXPAND_DIMS": LiteRow(_expand_dims, stored=ALL),
    "TRANSPOSE": LiteRow(_transpose, stored=ALL),
    "PAD": LiteRow(_pad, followed, ALL),
    "PADV2": LiteRow(_pad, followed, ALL),
    "MIRROR_PAD": LiteRow(_mirror_pad, followed, ALL),
    "CONCATENATION": LiteRow(_concatenation, followed, ALL),
    "SLICE": LiteRow(_slice, followed, ALL),
    "STRIDED_SLICE": LiteRow(_strided_slice, stored=ALL),
    "SPLIT": LiteRow(_split, followed, ALL),
    "SPLIT_V": LiteRow(_split_v, followed, ALL),
    "PACK": LiteRow(_pack, stored=ALL),
    "UNPACK": LiteRow(_unpack, stored=ALL),
    "GATHER": LiteRow(_gather, stored=ALL),
    "GATHER_ND": LiteRow(_gather_nd, stored=ALL),
    "EMBEDDING_LOOKUP": LiteRow(_embedding_lookup, stored=ALL),
    "TILE": LiteRow(_tile, followed, ALL),
    "BROADCAST_TO": LiteRow(_broadcast_to, stored=ALL),
    "REVERSE_V2": LiteRow(_reverse, stored=ALL),
    "SPACE_TO_BATCH_ND": LiteRow(_space_to_batch, stored=ALL),
    "BATCH_TO_SPACE_ND": LiteRow(_batch_to_space, stored=ALL),
    "SHAPE": LiteRow(_shape, stored=ALL),
    "FILL": LiteRow(_fill, stored=ALL),
    "ZEROS_LIKE": LiteRow(_zeros_like),
    "TOPK_V2": LiteRow(_top_k, stored=ALL),
}
"""The operators of this module."""
