"""Importers of elementwise arithmetic, and of all operators that are one operation both ways (`MIRRORED`)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import Float8E8M0FNUType, Float32Type, TensorType, f64, i64
from xdsl.ir import Attribute, SSAValue

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.dialects.nn.ops.activations import SwishOp
from qmlir.dialects.nn.ops.logic import BitShiftOp
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.ir.small_floats import as_small_float
from qmlir.onnx.mirrored import MIRRORED
from qmlir.onnx.node import Importer, Node


def one_to_one(operation: type[NnOp], **attributes: Callable[[Any], Any]) -> Importer:
    """The importer of an operator whose inputs are the operands and whose attributes are the properties of one name.

    `attributes` gives for each the function from ONNX's value to the property's.
    """

    def importer(node: Node) -> SSAValue:
        operands = [node.input(place) for place in range(len(node.inputs))]
        properties = {name: convert(node.attribute(name)) for name, convert in attributes.items()}
        return node.add(operation, *operands, **properties).results[0]

    return importer


def _chain(node: Node, operation: type[ops.BinaryOp]) -> SSAValue:
    """The inputs, any number of them, joined from left to right."""
    value = node.input(0)
    for place in range(1, len(node.inputs)):
        value = node.add(operation, value, node.input(place)).result
    return value


def _joined(operation: type[ops.BinaryOp]) -> Importer:
    return lambda node: _chain(node, operation)


def _mean(node: Node) -> SSAValue:
    total = _chain(node, ops.AddOp)
    count = len(node.inputs)
    return total if count == 1 else node.add(ops.DivOp, total, node.scalar(count, total)).result


def _converted(node: Node, value: SSAValue, element: Attribute, **properties: Any) -> SSAValue:
    if element_of(value) == element:
        return value
    return node.add(ops.CastOp, value, result_types=[TensorType(element, shape_of(value))], **properties).result


def _cast_to(node: Node, element: Attribute) -> SSAValue:
    """ONNX Cast: what it says of small floats is left out for all others, as ONNX does."""
    properties: dict[str, Any] = {}
    if as_small_float(element) is not None and not node.attribute("saturate", 1):
        properties["saturate"] = False
    if isinstance(element, Float8E8M0FNUType):
        properties["round_mode"] = node.attribute("round_mode", None)
    return _converted(node, node.input(), element, **properties)


def _cast(node: Node) -> SSAValue:
    return _cast_to(node, node.element_type(node.attribute("to")))


def _cast_like(node: Node) -> SSAValue:
    return _cast_to(node, element_of(node.input(1)))


def _bit_cast(node: Node) -> SSAValue:
    type_ = TensorType(node.element_type(node.attribute("to")), node.shape())
    return node.add(ops.BitCastOp, node.input(), result_types=[type_]).result


def _pow(node: Node) -> SSAValue:
    """ONNX Pow, whose exponent may have another type than its base, and so than its result."""
    base, exponent = node.input(0), node.input(1)
    element, other = element_of(base), element_of(exponent)
    if element == other:
        return node.add(ops.PowOp, base, exponent).result
    known = node.constant(1)
    if known is not None and _survives(known, node.graph.dtype_of(element)):
        return node.add(ops.PowOp, base, _converted(node, exponent, element)).result
    wide = i64 if as_integer(element) and as_integer(other) else f64
    power = node.add(ops.PowOp, _converted(node, base, wide), _converted(node, exponent, wide)).result
    return _converted(node, power, element)


def _survives(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` holds every value."""
    with np.errstate(all="ignore"):
        return bool((array.astype(dtype).astype(array.dtype) == array).all())


def _clip(node: Node) -> SSAValue:
    """ONNX Clip: bounds are attributes before version 11, inputs from then on.

    Constant bounds of f32 become properties, which passes and quantization see; others are taken by max and min.
    """
    value = node.input()
    if node.version < 11:
        low, high = node.attribute("min", None), node.attribute("max", None)
        return node.add(ops.ClipOp, value, minimum=low, maximum=high).result
    given = [place for place in (1, 2) if node.optional(place) is not None]
    known = {place: array for place in given if (array := node.constant(place)) is not None and array.size == 1}
    if given and len(known) == len(given) and isinstance(element_of(value), Float32Type):
        low, high = (float(known[place].reshape(())) if place in known else None for place in (1, 2))
        return node.add(ops.ClipOp, value, minimum=low, maximum=high).result
    for place in given:
        value = node.add(ops.MaxOp if place == 1 else ops.MinOp, value, node.input(place)).result
    return value


_JOINED: dict[str, type[ops.BinaryOp]] = {"Sum": ops.AddOp, "Max": ops.MaxOp, "Min": ops.MinOp}

IMPORTERS: dict[str, Importer] = {
    **{name: one_to_one(row.operation, **row.attributes) for name, row in MIRRORED.items()},
    **{name: _joined(operation) for name, operation in _JOINED.items()},
    "Mean": _mean,
    "Mod": one_to_one(ops.ModOp, fmod=bool),
    "Swish": one_to_one(SwishOp, alpha=float),
    "BitShift": one_to_one(BitShiftOp, direction=str.lower),
    "Pow": _pow,
    "Clip": _clip,
    "Cast": _cast,
    "CastLike": _cast_like,
    "BitCast": _bit_cast,
}
