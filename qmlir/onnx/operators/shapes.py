"""Import and export of shapes, ranges, and operators that repeat, pad or mask elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float64Type, TensorType, f32, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.nn.shapes.ops import range_size
from qmlir.dialects.nn.training.ops import DropoutOp
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node

# Ranges and constants, and the indices along an axis for importers of other operators.

_NUMBERS: dict[str, Attribute] = {"value_float": f32, "value_floats": f32, "value_int": i64, "value_ints": i64}
"""The attributes of Constant that contain numbers, each with its element type."""


def _constant(node: Node) -> SSAValue:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return node.graph.initializer(attribute.t, node.origin.name)
        if attribute.name in _NUMBERS:
            element = _NUMBERS[attribute.name]
            numbers = np.array(node.attribute(attribute.name), dtype=node.graph.dtype_of(element))
            return node.add_constant(numbers, element)
    found = ", ".join(f"'{attribute.name}'" for attribute in node.proto.attribute) or "no attribute"
    raise node.unsupported(f"value must be a dense tensor, floats or integers, but got {found}")


def _range(node: Node) -> SSAValue:
    """ONNX Range; f16 and bf16 may ask for sums in f64."""
    bounds = [node.input(position) for position in range(3)]
    element = element_of(bounds[0])
    if node.attribute("stash_type", TensorProto.FLOAT) != TensorProto.DOUBLE or isinstance(element, Float64Type):
        return _range_of(node, bounds)
    wide = node.element_type(TensorProto.DOUBLE)
    return node.cast(_range_of(node, [node.cast(each, wide) for each in bounds]), element)


def _range_of(node: Node, bounds: list[SSAValue]) -> SSAValue:
    known: list[Any] = [None if (value := node.graph.constant_value(bound)) is None else value for bound in bounds]
    hint = None
    if all(value is not None for value in known):
        start, limit, delta = (value.reshape(()).item() for value in known)
        if not delta:
            raise node.error("the step of a range must not be 0")
        hint = [TensorType(element_of(bounds[0]), [range_size(start, limit, delta)])]
    return node.add(ops.RangeOp, *bounds, result_types=hint).result


def size_of(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """Returns the size of an axis as an i64 vector of one element."""
    size = shape_of(value)[axis]
    if size != DYNAMIC_INDEX:
        return node.add_constant(np.array([size], np.int64), i64)
    return node.add(ops.ShapeOp, value, start=axis, end=axis + 1).result


def counting(node: Node, count: SSAValue | None, size: int = DYNAMIC_INDEX) -> SSAValue:
    """Returns the i64 vector `0, 1, …, size - 1`.

    If `size` is dynamic, `count`, an i64 vector of one element, is the number of elements.
    """
    if count is None:
        return node.add_constant(np.arange(size, dtype=np.int64), i64)
    start, step = (node.add_constant(np.array([number], np.int64), i64) for number in (0, 1))
    return node.add(ops.RangeOp, start, count, step).result


def position_indices(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """Returns the indices along an axis as an i64 vector."""
    size = shape_of(value)[axis]
    return counting(node, size_of(node, value, axis) if size == DYNAMIC_INDEX else None, size)


def _export_range(out: NodeEmitter, op: ops.RangeOp) -> None:
    """Exports ONNX Range, whose operands have no axes."""
    out.node("Range", list(map(out.scalar, op.operands)), out.output)


# Operators that repeat elements or add some: Expand, Pad, Trilu, and constants of a shape.

TRAINING_SINCE = 12
"""The first version of Dropout with the input `training_mode`."""


def expanded(node: Node, value: SSAValue, target: int) -> SSAValue:
    """Returns `value` broadcast to the shape in input `target`; the result type has all known sizes."""
    shape = node.parameter(target)
    if not isinstance(shape, SSAValue):
        return node.add(ops.ExpandOp, value, shape=shape or ()).result
    known = node.graph.known_integers(node.quantized(target)) or ()
    if any(size is not None and size < 0 for size in known):
        raise node.error(f"sizes must be >= 0, but got {list(known)}")
    sizes = [DYNAMIC_INDEX if size is None else size for size in known]
    # If some sizes are known, so are those of the result.
    hint = [TensorType(element_of(value), broadcast_shapes(shape_of(value), sizes))]
    return node.add(ops.ExpandOp, value, shape=shape, result_types=hint if known else None).result


def filled(node: Node, number: float, element: Attribute, like: SSAValue) -> SSAValue:
    """Returns a tensor with the shape of `like` whose elements are all `number`."""
    return expanded_as(node, node.add_constant(np.array(number, dtype=node.graph.dtype_of(element)), element), like)


def expanded_as(node: Node, value: SSAValue, like: SSAValue) -> SSAValue:
    """Returns `value` broadcast to the shape of `like`."""
    sizes = shape_of(like)
    if DYNAMIC_INDEX not in sizes:
        return node.add(ops.ExpandOp, value, shape=sizes).result
    shape = node.add(ops.ShapeOp, like).result
    return node.add(ops.ExpandOp, value, shape=shape, result_types=[TensorType(element_of(value), sizes)]).result


def _constant_of_shape(node: Node) -> SSAValue:
    """ONNX ConstantOfShape. The constant is a scalar that is expanded; folding makes a constant of a small result."""
    value, element = np.zeros((), np.float32), f32
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            value, element = node.graph.tensor_array(attribute.t), node.element_type(attribute.t.data_type)
    if value.size != 1:
        raise node.error(f"value must have one element, but got {value.size}")
    return expanded(node, node.add_constant(value.reshape(()), element), 0)


def _pad(node: Node) -> SSAValue:
    """ONNX Pad: padding and value are attributes before version 11, inputs from then on."""
    mode = node.attribute("mode")
    if node.version < 11:
        data, fill = node.input(), node.attribute("value")
        value = node.scalar(fill, data) if fill and mode == "constant" else None
        return node.add(ops.PadOp, data, value, pads=node.attribute("pads"), mode=mode).result
    data = node.quantized()
    value = _pad_value(node, data) if mode == "constant" else None
    return node.add(ops.PadOp, data, value, pads=node.parameter(1), axes=node.parameter(3), mode=mode).result


def _pad_value(node: Node, data: SSAValue) -> SSAValue | None:
    """The value that Pad adds; to ONNX quantized data are integers, and so is what pads them: 0 where nothing says."""
    value = node.inputs[2] if len(node.inputs) > 2 else None
    element = element_of(data)
    if not isinstance(element, UniformQuantizedType):
        return value
    number = np.zeros((), storage_dtype(element)) if value is None else node.constant(2)
    if number is None or number.size != 1 or element.granularity is not Granularity.TENSOR:
        return node.scalar(0, node.input()) if value is None else value
    return node.add_constant(number.reshape(()), element)


def _trilu(node: Node) -> SSAValue:
    """ONNX Trilu. To ONNX quantized data are integers: what goes becomes 0, which the zero point need not be."""
    element = element_of(node.quantized())
    is_shifted = isinstance(element, UniformQuantizedType) and element.zero_points.any()
    data = node.input() if is_shifted else node.quantized()
    return node.add(ops.TriluOp, data, k=node.integer(1), upper=bool(node.attribute("upper"))).result


def _eye_like(node: Node) -> SSAValue:
    """ONNX EyeLike: what two triangles of a matrix of ones have in common."""
    data_type, like = node.attribute("dtype", None), node.input()
    element = element_of(like) if data_type is None else node.element_type(data_type)
    ones = filled(node, 1, element, like)
    k = node.attribute("k")
    return node.add(ops.TriluOp, node.add(ops.TriluOp, ones, k=k).result, k=k, upper=False).result


def _dropout(node: Node) -> Sequence[SSAValue]:
    """ONNX Dropout, which keeps every element at inference."""
    if _drops(node):
        ratio = node.optional(1)
        if ratio is None:
            ratio = node.scalar(0.5, node.input())
        training = None if node.constant(2) is not None else node.input(2)
        return node.add(DropoutOp, node.input(), ratio, training, seed=node.attribute("seed")).results
    value = node.quantized()
    if len(node.proto.output) < 2:
        return [value]
    return [value, filled(node, 1, element_of(node.input()) if node.version < 10 else i1, value)]


def _drops(node: Node) -> bool:
    """Whether elements are dropped, or may be."""
    if node.version < TRAINING_SINCE or len(node.inputs) < 3 or node.inputs[2] is None:
        return False
    training, ratio = node.constant(2), node.constant(1)
    if training is not None and not training.any():
        return False
    return ratio is None or bool(ratio.any())


def _reflected(op: ops.PadOp) -> dict[int, list[int]] | None:
    """Returns the source indices along each axis that a reflecting pad changes; `None` if ONNX Pad can express it.

    ONNX Runtime's Pad reflects only once: on each side, it must add fewer elements than the axis has.
    """
    shape = shape_of(op.input)
    if op.mode.data != "reflect" or not op.is_known("pads") or not op.is_known("axes"):
        return None
    changed = {axis: padding for axis, padding in enumerate(op.paddings(len(shape))) if padding != (0, 0)}
    if any(shape[axis] == DYNAMIC_INDEX for axis in changed):
        return None
    found: dict[int, list[int]] = {}
    is_once = True
    for axis, padding in changed.items():
        left = np.arange(shape[axis])[max(-padding.before, 0) : shape[axis] - max(-padding.after, 0)]
        added = max(padding.before, 0), max(padding.after, 0)
        if not left.size:
            return None
        found[axis] = np.pad(left, added, mode="reflect").tolist()
        is_once &= max(added) < left.size
    return None if is_once else found


def _export_pad(out: NodeEmitter, op: ops.PadOp) -> None:
    if reflected := _reflected(op):
        name, last = out.name(op.input), list(reflected)[-1]
        for axis, positions in reflected.items():
            indices = out.constant(np.array(positions, np.int64))
            name = out.node("Gather", [name, indices], out.output if axis == last else None, axis=axis)
        return
    inputs = [out.name(op.input), out.parameter("pads"), out.name(op.value), out.parameter("axes")]
    out.node("Pad", inputs, out.output, mode=op.mode.data)


def _export_dropout(out: NodeEmitter, op: DropoutOp) -> None:
    out.needs(TRAINING_SINCE, "Dropout that is told whether it is in training")
    inputs = [out.name(op.input), out.scalar(op.ratio), out.scalar(op.training) or out.constant(np.array(True), i1)]
    out.node("Dropout", inputs, out.outputs, **attributes_of(op, "seed"))


IMPORTERS: dict[str, Importer] = {
    "Constant": _constant,
    "Range": _range,
    "Expand": lambda node: expanded(node, node.quantized(), 1),
    "ConstantOfShape": _constant_of_shape,
    "Pad": _pad,
    "Trilu": _trilu,
    "EyeLike": _eye_like,
    "Dropout": _dropout,
}

EXPORTERS: dict[type[Operation], Exporter] = {
    ops.RangeOp: _export_range,
    ops.PadOp: _export_pad,
    DropoutOp: _export_dropout,
}
