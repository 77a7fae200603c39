"""Import and export of operators that move, select or sort elements."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.formats.constant_shapes import Copied, resolved_sizes, size_source
from qmlir.formats.one_to_one import OneToOne, attributes_of, number
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node

# Data movement: operators that reorder or reshape elements.

SPACE_MODE_SINCE = 28


def _identity(node: Node) -> SSAValue:
    (value,) = node.inputs
    assert value is not None  # its signature was checked
    return value


def _reshape(node: Node) -> SSAValue:
    """ONNX Reshape: 0 copies a size unless `allowzero`, and -1 is inferred from the others."""
    data, before, target = node.quantized(0), node.shape(0), node.quantized(1)
    allow_zero = bool(node.attribute("allowzero", 0))
    if len(node.shape(1)) != 1:
        raise node.error(f"shape must be a vector, but got {target.type}")
    known = node.graph.known_integers(target)
    if known is None:
        known = (None,) * movement.known_length(target, "sizes")
    if any(size is not None and size < -1 for size in known) or known.count(-1) > 1:
        raise node.error(f"cannot reshape to {list(known)}")
    # A copied size is represented by its axis, to distinguish it from other unknown sizes.
    sizes: list[int | Copied] = []
    for position, size in enumerate(known):
        if size == 0 and not allow_zero:
            if position >= len(before):
                raise node.error(f"size {position} cannot be copied from an input of rank {len(before)}")
            source = position
        else:
            source = size_source(target, position, data) if size is None else None
        if source is not None:
            sizes.append(Copied(source))
        else:
            sizes.append(DYNAMIC_INDEX if size in (None, -1) else size)
    after = resolved_sizes(before, sizes)
    type_ = TensorType(element_of(data), after)
    shape = None if after.count(DYNAMIC_INDEX) <= 1 else node.input(1)
    return node.add(movement.ReshapeOp, data, shape, result_types=[type_], allow_zero=allow_zero).result


def flattened(node: Node, value: SSAValue) -> SSAValue:
    """Returns `value` flattened to one axis."""
    sizes = shape_of(value)
    size = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else math.prod(sizes)
    return node.reshaped(value, [size])


def _flatten(node: Node) -> SSAValue:
    """ONNX Flatten: `[product of the sizes before axis, product of the others]`."""
    data, sizes = node.quantized(), node.shape()
    axis = node.attribute("axis")
    if not -len(sizes) <= axis <= len(sizes):
        raise node.error(f"axis {axis} is out of range for rank {len(sizes)}")
    axis += len(sizes) if axis < 0 else 0
    after = [DYNAMIC_INDEX if DYNAMIC_INDEX in part else math.prod(part) for part in (sizes[:axis], sizes[axis:])]
    if after.count(DYNAMIC_INDEX) <= 1:
        return node.reshaped(data, after)
    parts = [
        node.add(reduction.ReduceProdOp, node.add(shapes.ShapeOp, data, start=start, end=end).result).result
        for start, end in ((0, axis), (axis, None))
    ]
    shape = node.add(movement.ConcatOp, parts, axis=0).result
    type_ = TensorType(element_of(data), after)
    return node.add(movement.ReshapeOp, data, shape, result_types=[type_], allow_zero=True).result


def _transpose(node: Node) -> SSAValue:
    order = node.attribute("perm", None)
    permutation = range(len(node.shape()))[::-1] if order is None else order
    return node.add(movement.TransposeOp, node.quantized(), permutation=permutation).result


def _split(node: Node) -> Sequence[SSAValue]:
    """ONNX Split: the sizes are an attribute before version 13, an input from then on."""
    count = len(node.proto.output)
    sizes: Any = node.attribute("split", None) if node.version < 13 else node.parameter(1)
    axis = node.attribute("axis")
    if sizes is None and node.version < 18:
        size = node.shape()[normalized_axis(axis, len(node.shape()))]
        if size != DYNAMIC_INDEX and size % count:
            raise node.error(f"cannot split {size} elements into {count} equal parts")
    if node.attribute("num_outputs", count) != count:
        raise node.error(f"num_outputs must be {count}, the number of outputs, but got {node.attribute('num_outputs')}")
    return node.add(movement.SplitOp, node.quantized(), split=sizes, axis=axis, results=count).results


def _export_reshape(out: NodeEmitter, op: movement.ReshapeOp) -> None:
    data = out.name(op.input)
    if op.shape is not None:
        out.node("Reshape", [data, out.name(op.shape)], out.output, allowzero=number(op.allow_zero) or None)
        return
    sizes = [-1 if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    if 0 in sizes and -1 in sizes:
        raise out.error(
            f"reshapes to {op.result.type}, but ONNX does not support a size of 0 together with a dynamic one"
        )
    out.node("Reshape", [data, out.constant(np.array(sizes, np.int64))], out.output, allowzero=int(0 in sizes) or None)


def _export_split(out: NodeEmitter, op: movement.SplitOp) -> None:
    sizes = out.parameter("split")
    count = None if sizes else len(op.parts)
    out.node("Split", [out.name(op.input), sizes], out.outputs, axis=number(op.axis), num_outputs=count)


def _export_space_to_depth(out: NodeEmitter, op: movement.SpaceToDepthOp) -> None:
    mode = None if op.is_depth_outer else op.mode.data
    if mode is not None:
        out.needs(SPACE_MODE_SINCE, f"SpaceToDepth of mode {mode}")
    out.node("SpaceToDepth", out.inputs, out.output, blocksize=op.block, mode=mode)


# Operators that select or sort elements by value.


def _compress(node: Node) -> SSAValue:
    """ONNX Compress: a gather along `axis`, or of the flattened input, at the places where the condition is true."""
    data, condition = node.quantized(), node.input(1)
    axis = node.attribute("axis")
    if axis is None:
        data, axis = flattened(node, data), 0
    positions = node.add(indexing.NonZeroOp, condition).result
    positions = node.add(movement.SqueezeOp, positions, axes=(0,)).result
    return node.add(indexing.GatherOp, data, positions, axis=axis).result


def _export_top_k(out: NodeEmitter, op: indexing.TopKOp) -> None:
    k = out.parameter("k") if op.k_value is None else out.scalar(op.k_value, axes=1)
    out.node("TopK", [out.name(op.input), k], out.outputs, **attributes_of(op, "axis largest"))


IMPORTERS: dict[str, Importer] = {
    "Identity": _identity,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Split": _split,
    "SpaceToDepth": OneToOne("SpaceToDepth", movement.SpaceToDepthOp, "mode blocksize=block_size").imported,
    "TopK": OneToOne("TopK", indexing.TopKOp, "axis largest").imported,
    "Compress": _compress,
}
EXPORTERS: dict[type[Operation], Exporter] = {
    movement.ReshapeOp: _export_reshape,
    movement.SplitOp: _export_split,
    movement.SpaceToDepthOp: _export_space_to_depth,
    indexing.TopKOp: _export_top_k,
}
