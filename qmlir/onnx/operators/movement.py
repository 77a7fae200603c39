"""Importers of movement: operators that put the same elements in another order or shape."""

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.dialects.nn.ops import movement, reduction, shapes
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.sizes import Copied, resolved_sizes, size_source


def single(node: Node, place: int) -> int | SSAValue | None:
    """Input `place`, one integer: the number where it is known, otherwise the value."""
    constant = node.constant(place)
    if constant is not None and constant.size == 1:
        return int(constant.reshape(())[()])
    found = node.parameter(place)
    if isinstance(found, tuple) and len(found) != 1:
        raise node.error(f"takes one number as input {place}, found {list(found)}")
    return found[0] if isinstance(found, tuple) else found


def _identity(node: Node) -> SSAValue:
    return node.any_input()


def _reshape(node: Node) -> SSAValue:
    """ONNX Reshape: 0 copies a size unless `allowzero`, -1 is what the others leave."""
    data, before, target = node.quantized(0), node.shape(0), node.quantized(1)
    allow_zero = bool(node.attribute("allowzero", 0))
    if len(node.shape(1)) != 1:
        raise node.error(f"takes a list of sizes, found {target.type}")
    known = node.graph.known_integers(target)
    if known is None:
        known = (None,) * movement.known_length(target, "sizes")
    if any(number is not None and number < -1 for number in known) or known.count(-1) > 1:
        raise node.error(f"cannot reshape to {list(known)}")
    # What is copied is named by the place that it comes from, so that it can be told from other unknown sizes.
    sizes: list[int | Copied] = []
    for place, number in enumerate(known):
        if number == 0 and not allow_zero:
            if place >= len(before):
                raise node.error(f"copies size {place} of an input of rank {len(before)}")
            source = place
        else:
            source = size_source(target, place, data) if number is None else None
        if source is not None:
            sizes.append(Copied(source))
        else:
            sizes.append(DYNAMIC_INDEX if number in (None, -1) else number)
    after = resolved_sizes(before, sizes)
    type_ = TensorType(element_of(data), after)
    shape = None if after.count(DYNAMIC_INDEX) <= 1 else node.input(1)
    return node.add(movement.ReshapeOp, data, shape, result_types=[type_], allow_zero=allow_zero).result


def flattened(node: Node, value: SSAValue) -> SSAValue:
    """The elements of `value` in one row."""
    sizes = shape_of(value)
    size = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else math.prod(sizes)
    return node.add(movement.ReshapeOp, value, result_types=[TensorType(element_of(value), [size])]).result


def _flatten(node: Node) -> SSAValue:
    """ONNX Flatten: `[product of the sizes before axis, product of the others]`."""
    data, sizes = node.quantized(), node.shape()
    axis = node.attribute("axis")
    if not -len(sizes) <= axis <= len(sizes):
        raise node.error(f"axis {axis} is out of range for rank {len(sizes)}")
    axis += len(sizes) if axis < 0 else 0
    after = [DYNAMIC_INDEX if DYNAMIC_INDEX in part else math.prod(part) for part in (sizes[:axis], sizes[axis:])]
    type_ = TensorType(element_of(data), after)
    if after.count(DYNAMIC_INDEX) <= 1:
        return node.add(movement.ReshapeOp, data, result_types=[type_]).result
    parts = [
        node.add(reduction.ReduceProdOp, node.add(shapes.ShapeOp, data, start=start, end=end).result).result
        for start, end in ((0, axis), (axis, None))
    ]
    shape = node.add(movement.ConcatOp, parts, axis=0).result
    return node.add(movement.ReshapeOp, data, shape, result_types=[type_], allow_zero=True).result


def _squeeze(node: Node) -> SSAValue:
    return node.add(movement.SqueezeOp, node.quantized(), axes=node.axes()).result


def _unsqueeze(node: Node) -> SSAValue:
    return node.add(movement.UnsqueezeOp, node.quantized(), axes=node.axes()).result


def _transpose(node: Node) -> SSAValue:
    order = node.attribute("perm", None)
    permutation = range(len(node.shape()))[::-1] if order is None else order
    return node.add(movement.TransposeOp, node.quantized(), permutation=permutation).result


def _concat(node: Node) -> SSAValue:
    return node.add(movement.ConcatOp, node.all_inputs(), axis=node.attribute("axis")).result


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
        raise node.error(f"num_outputs is {node.attribute('num_outputs')}, the node has {count} outputs")
    return node.add(movement.SplitOp, node.quantized(), split=sizes, axis=axis, results=count).results


def _blocks(operation: type[movement.BlocksOp]) -> Importer:
    def importer(node: Node) -> SSAValue:
        mode = node.attribute("mode", "DCR")
        return node.add(operation, node.quantized(), block_size=node.attribute("blocksize"), mode=mode).result

    return importer


def _slice(node: Node) -> SSAValue:
    """ONNX Slice: bounds are attributes before version 10, inputs from then on."""
    names = ("starts", "ends", "axes", "steps")
    bounds: dict[str, Any]
    if node.version < 10:
        bounds = {name: node.attribute(name, None) for name in names[:3]}
    else:
        bounds = {name: node.parameter(place + 1) for place, name in enumerate(names)}
    return node.add(movement.SliceOp, node.quantized(), **bounds).result


IMPORTERS: dict[str, Importer] = {
    "Identity": _identity,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "DepthToSpace": _blocks(movement.DepthToSpaceOp),
    "SpaceToDepth": _blocks(movement.SpaceToDepthOp),
}
