"""Operations that move values and change none: on the stored integers, or between casts that undo each other.

Where ONNX Runtime has no kernel for the integers, they are moved as floats that hold them exactly.
"""

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.shapes import ops as expansion
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, Outgoing, container
from qmlir.onnx.export.forms.casts import dequantize, has_cast, quantize

DIRECT: tuple[type[Operation], ...] = (
    movement.ReshapeOp,
    movement.SqueezeOp,
    movement.UnsqueezeOp,
    movement.TransposeOp,
    movement.SliceOp,
    movement.ConcatOp,
    movement.SplitOp,
    expansion.ExpandOp,
    expansion.TileOp,
    indexing.GatherOp,
    indexing.GatherElementsOp,
    indexing.GatherNDOp,
    indexing.ReverseSequenceOp,
)
"""Operations whose operators take integers of any width in every runtime."""

CAST_BITS = 16
"""The widest values, in bits, that a dequantization and a quantization give back unchanged."""


def _is_stored(value: SSAValue) -> bool:
    return isinstance(element_of(value), StoredType)


def _stored(op: Operation) -> list[SSAValue]:
    return [value for value in (*op.operands, *op.results) if _is_stored(value)]


def between_equal_casts(op: Operation) -> bool:
    """Whether the operation may stand between casts that undo each other."""
    return all(
        isinstance(element := element_of(value), UniformQuantizedType)
        and element.bits <= CAST_BITS
        and has_cast(element, shape_of(value))
        for value in _stored(op)
    )


def write_between_equal_casts(out: Outgoing, op: NnOp, exporter: Exporter) -> None:
    """Dequantize, move, quantize to the same parameters."""
    names, elements = dict(out.names), dict(out.elements)
    for value in dict.fromkeys(op.operands):
        element = element_of(value)
        if isinstance(element, UniformQuantizedType):
            names[value] = dequantize(out, out.name(value), value, element)
            elements[value] = element.expressed_type
    inner = _write_inside(out, op, exporter, names, elements)
    for value, name, own in zip(op.results, inner, out.outputs, strict=True):
        element = element_of(value)
        if isinstance(element, UniformQuantizedType):
            quantize(out, name, value, whole_storage(element), own)


def whole_storage(element: UniformQuantizedType) -> UniformQuantizedType:
    """The type with all integers of what holds it: for values that lie inside the storage range already."""
    held = container(element)
    storage = UniformQuantizedType.per_tensor(held, element.expressed_type, 1.0).parameters[:3]
    return UniformQuantizedType.new([*storage, *element.parameters[3:]])


def _write_inside(
    out: Outgoing, op: NnOp, exporter: Exporter, names: dict[SSAValue, str], elements: dict[SSAValue, Attribute]
) -> list[str]:
    """Write `op` on other operands; the names of its results, those of stored ones still to become what they are."""
    temporary = [out.fresh("moved") + f"_{place}" for place in range(len(op.results))]
    inner = [
        name if _is_stored(each) else own for each, name, own in zip(op.results, temporary, out.outputs, strict=True)
    ]
    prefix = out.prefix or out.outputs[0]
    exporter(replace(out, names=names, outputs=inner, elements=elements, prefix=prefix), op)
    return inner


def write_moved(out: Outgoing, op: NnOp, exporter: Exporter) -> None:
    """Move the stored integers, or floats that hold them."""
    element = next(element_of(value) for value in _stored(op))
    assert isinstance(element, StoredType)
    if isinstance(op, expansion.TriluOp) or (isinstance(op, expansion.PadOp) and op.value is None):
        _write_around_zero_point(out, op, exporter, element)
    elif isinstance(op, DIRECT):
        exporter(out, op)
    else:
        _write_as(out, op, exporter, f32 if element.bits <= CAST_BITS else f64)


def _write_as(out: Outgoing, op: NnOp, exporter: Exporter, carrier: Attribute, offset: str = "") -> None:
    names, elements = dict(out.names), dict(out.elements)
    for value in dict.fromkeys(op.operands):
        if _is_stored(value):
            name = out.cast(out.name(value), carrier)
            names[value] = out.node("Sub", [name, offset]) if offset else name
            elements[value] = carrier
    inner = _write_inside(out, op, exporter, names, elements)
    for value, name, own in zip(op.results, inner, out.outputs, strict=True):
        element = element_of(value)
        if isinstance(element, StoredType):
            name = out.node("Add", [name, offset]) if offset else name
            out.cast(name, container(element), own)


def _write_around_zero_point(out: Outgoing, op: NnOp, exporter: Exporter, element: StoredType) -> None:
    """What adds zeros of its own adds zero points: it moves the integers without theirs."""
    carrier = f32 if element.bits <= CAST_BITS else f64 if isinstance(op, expansion.PadOp) else i64
    offset = ""
    if isinstance(element, UniformQuantizedType) and element.zero_points.any():
        points = element.zero_points
        if points.ndim:
            if (points != points.flat[0]).any():
                raise out.error(f"pads {element}, which must have a single zero point")
            points = points.flat[0]
        offset = out.constant(np.asarray(points), carrier)
    _write_as(out, op, exporter, carrier, offset)
