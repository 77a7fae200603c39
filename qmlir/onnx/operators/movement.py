"""Importers of movement and of shapes."""

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from qmlir.dialects.nn.base import element_of
from qmlir.dialects.nn.ops import indexing, movement, shapes
from qmlir.onnx.node import Importer, Node


def _identity(node: Node) -> SSAValue:
    return node.quantized()


def _constant(node: Node) -> SSAValue:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return node.graph.initializer(attribute.t, node.origin.name)
    raise node.error("has no value that is supported")


def _reshape(node: Node) -> SSAValue:
    """ONNX Reshape: 0 copies a size unless `allowzero`, -1 is what the others leave."""
    data, before = node.quantized(0), node.shape(0)
    allow_zero = bool(node.attribute("allowzero", 0))
    target = node.quantized(1)
    known = node.graph.known_integers(target)
    if known is None:
        (rank,) = node.shape(1)
        known = (None,) * rank
    sizes: list[int] = []
    for place, number in enumerate(known):
        if number == 0 and not allow_zero:
            if place >= len(before):
                raise node.error(f"copies size {place} of an input of rank {len(before)}")
            sizes.append(before[place])
        else:
            sizes.append(DYNAMIC_INDEX if number in (None, -1) else number)
    if any(size < 0 and size != DYNAMIC_INDEX for size in sizes):
        raise node.error(f"cannot reshape to {list(known)}")
    sizes = _with_remaining(before, sizes)
    type_ = TensorType(element_of(data), sizes)
    shape = None if sizes.count(DYNAMIC_INDEX) <= 1 else node.input(1)
    return node.add(movement.ReshapeOp, data, shape, result_types=[type_], allow_zero=allow_zero).result


def _with_remaining(before: tuple[int, ...], after: list[int]) -> list[int]:
    """`after` with its one open size, where the number of elements tells it."""
    if DYNAMIC_INDEX in before or after.count(DYNAMIC_INDEX) != 1:
        return after
    rest = math.prod(size for size in after if size != DYNAMIC_INDEX)
    count = math.prod(before)
    if rest == 0 or count % rest:
        return after
    return [count // rest if size == DYNAMIC_INDEX else size for size in after]


def _flatten(node: Node) -> SSAValue:
    """ONNX Flatten: `[product of the sizes before axis, product of the others]`."""
    shape = node.shape()
    axis = node.attribute("axis")
    if not -len(shape) <= axis <= len(shape):
        raise node.error(f"axis {axis} is out of range for rank {len(shape)}")
    axis += len(shape) if axis < 0 else 0
    sizes = [DYNAMIC_INDEX if DYNAMIC_INDEX in part else math.prod(part) for part in (shape[:axis], shape[axis:])]
    if sizes.count(DYNAMIC_INDEX) > 1:
        raise node.error(f"cannot flatten {node.quantized().type}: sizes on both sides of axis {axis} are open")
    type_ = TensorType(element_of(node.quantized()), sizes)
    return node.add(movement.ReshapeOp, node.quantized(), result_types=[type_]).result


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


def _slice(node: Node) -> SSAValue:
    """ONNX Slice: bounds are attributes before version 10, inputs from then on."""
    names = ("starts", "ends", "axes", "steps")
    if node.version < 10:
        bounds = {name: node.attribute(name, None) for name in names[:3]}
    else:
        bounds = {name: node.parameter(place + 1) for place, name in enumerate(names)}
    return node.add(movement.SliceOp, node.quantized(), **bounds).result


def _gather(node: Node) -> SSAValue:
    return node.add(indexing.GatherOp, node.quantized(), node.input(1), axis=node.attribute("axis")).result


def _shape(node: Node) -> SSAValue:
    start, end = node.attribute("start", 0), node.attribute("end", None)
    return node.add(shapes.ShapeOp, node.quantized(), start=start, end=end).result


def _size(node: Node) -> SSAValue:
    return node.add(shapes.SizeOp, node.quantized()).result


IMPORTERS: dict[str, Importer] = {
    "Identity": _identity,
    "Constant": _constant,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Slice": _slice,
    "Gather": _gather,
    "Shape": _shape,
    "Size": _size,
}
