"""Exports data movement of quantized values: on the stored integers, or between casts that cancel out.

If ONNX Runtime has no kernel for the integer type, the integers are moved as floats that represent them exactly.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.casts import dequantize, has_cast, quantize, uniform
from qmlir.onnx.export.emission import Exporter, NodeEmitter, container

DIRECT: tuple[type[Operation], ...] = (
    movement.ReshapeOp,
    movement.SqueezeOp,
    movement.UnsqueezeOp,
    movement.TransposeOp,
    movement.SliceOp,
    movement.ConcatOp,
    movement.SplitOp,
    shapes.ExpandOp,
    shapes.TileOp,
    indexing.GatherOp,
    indexing.GatherElementsOp,
    indexing.GatherNDOp,
    indexing.ReverseSequenceOp,
)
"""Operations whose ONNX operators support integers of any width in every runtime."""

CAST_BITS = 16
"""The largest width, in bits, of integers that dequantization followed by quantization restores exactly."""


def _stored(op: Operation) -> list[SSAValue]:
    return [value for value in (*op.operands, *op.results) if isinstance(element_of(value), StoredType)]


def write_inside(
    out: NodeEmitter,
    op: NnOp,
    exporter: Exporter,
    hint: str,
    element: Callable[[SSAValue], Attribute],
    before: Callable[[SSAValue], str],
    after: Callable[[SSAValue, str, str], None],
) -> None:
    """Exports `op` on converted tensors instead of on stored integers; `element` returns their element types.

    `before` converts an operand and returns the name of the converted tensor. `after` converts a result back: its
    arguments are the value, the name of the converted tensor, and the name of the result. `hint` becomes part of the
    names of the converted tensors.
    """
    names, elements = dict(out.names), dict(out.elements)
    for value in dict.fromkeys(op.operands):
        if isinstance(element_of(value), StoredType):
            names[value], elements[value] = before(value), element(value)
    base, outputs = out.fresh(hint), list(out.outputs)
    results = [(position, each) for position, each in enumerate(op.results) if isinstance(element_of(each), StoredType)]
    for position, result in results:
        outputs[position], elements[result] = f"{base}_{position}", element(result)
    exporter(replace(out, names=names, outputs=outputs, elements=elements, prefix=out.prefix or out.outputs[0]), op)
    for position, result in results:
        after(result, outputs[position], out.outputs[position])


def between_equal_casts(op: Operation) -> bool:
    """Returns True if the operation can be exported between casts that cancel out."""
    return all(
        isinstance(element := element_of(value), UniformQuantizedType)
        and element.bits <= CAST_BITS
        and has_cast(element, shape_of(value))
        for value in _stored(op)
    )


def write_between_equal_casts(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation between a dequantization and a quantization with the same parameters."""

    def own(value: SSAValue) -> UniformQuantizedType:
        return uniform(out, element_of(value))

    def after(value: SSAValue, name: str, output: str) -> None:
        quantize(out, name, value, whole_storage(own(value)), output)

    def before(value: SSAValue) -> str:
        return dequantize(out, out.name(value), value, own(value))

    write_inside(out, op, exporter, "moved", lambda value: own(value).expressed_type, before, after)


def whole_storage(element: UniformQuantizedType) -> UniformQuantizedType:
    """Returns `element` with the whole range of its container type, for values already in the storage range."""
    held = container(element)
    storage = UniformQuantizedType.per_tensor(held, element.expressed_type, 1.0).parameters[:3]
    return UniformQuantizedType.new([*storage, *element.parameters[3:]])


def write_moved(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation on the stored integers, or on floats that represent them."""
    element = next(element_of(value) for value in _stored(op))
    assert isinstance(element, StoredType)
    if isinstance(op, shapes.TriluOp) or (isinstance(op, shapes.PadOp) and op.value is None):
        _write_around_zero_point(out, op, exporter, element)
    elif isinstance(op, DIRECT):
        exporter(out, op)
    else:
        _write_as(out, op, exporter, f32 if element.bits <= CAST_BITS else f64)


def _write_as(out: NodeEmitter, op: NnOp, exporter: Exporter, carrier: Attribute, offset: str = "") -> None:
    """Exports an operation on integers held as `carrier`, minus `offset`."""

    def before(value: SSAValue) -> str:
        name = out.cast(out.name(value), carrier)
        return out.node("Sub", [name, offset]) if offset else name

    def after(value: SSAValue, name: str, output: str) -> None:
        element = element_of(value)
        assert isinstance(element, StoredType)
        out.cast(out.node("Add", [name, offset]) if offset else name, container(element), output)

    write_inside(out, op, exporter, "moved", lambda _: carrier, before, after)


def _write_around_zero_point(out: NodeEmitter, op: NnOp, exporter: Exporter, element: StoredType) -> None:
    """Exports an operation that adds zeros on integers minus their zero point."""
    carrier = f32 if element.bits <= CAST_BITS else f64 if isinstance(op, shapes.PadOp) else i64
    offset = ""
    if isinstance(element, UniformQuantizedType) and element.zero_points.any():
        points = element.zero_points
        if points.ndim:
            if (points != points.flat[0]).any():
                raise out.error(f"pads {element}, which must have a single zero point")
            points = points.flat[0]
        offset = out.constant(np.asarray(points), carrier)
    _write_as(out, op, exporter, carrier, offset)
