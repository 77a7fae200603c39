"""Import and export of elementwise arithmetic and activations that a row in `qmlir.onnx.one_to_one` can't describe."""

from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import Float8E8M0FNUType, Float32Type, Signedness, TensorType, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.movement.ops import UnsqueezeOp
from qmlir.formats.one_to_one import OneToOne, number
from qmlir.ir.builtin_types import as_integer, as_small_float, element_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter, data_type, is_integer
from qmlir.onnx.node import Importer, Node

SWISH_SINCE, BIT_CAST_SINCE, SIGNED_SHIFT_SINCE = 24, 26, 28

_SWISH = OneToOne("Swish", activations.SwishOp, "alpha")


def _chain(node: Node, operation: type[ops.BinaryOp]) -> SSAValue:
    """The inputs, any number of them, joined from left to right."""
    value = node.input(0)
    for position in range(1, len(node.inputs)):
        value = node.add(operation, value, node.input(position)).result
    return value


def _mean(node: Node) -> SSAValue:
    total = _chain(node, ops.AddOp)
    count = len(node.inputs)
    return total if count == 1 else node.add(ops.DivOp, total, node.scalar(count, total)).result


def _cast_to(node: Node, element: Attribute) -> SSAValue:
    """ONNX Cast: what it says of small floats is left out for all others, as ONNX does."""
    overflows = as_small_float(element) is not None and not node.attribute("saturate", 1)
    mode = node.attribute("round_mode", None) if isinstance(element, Float8E8M0FNUType) else None
    return node.cast(node.input(), element, saturate=False if overflows else None, round_mode=mode)


def _bit_cast(node: Node) -> SSAValue:
    type_ = TensorType(node.element_type(node.attribute("to")), node.shape())
    return node.add(ops.BitCastOp, node.input(), result_types=[type_]).result


def _bit_shift(node: Node) -> SSAValue:
    return node.add(ops.BitShiftOp, node.input(0), node.input(1), direction=node.attribute("direction").lower()).result


def _pow(node: Node) -> SSAValue:
    """ONNX Pow, whose exponent may have another type than its base, and so than its result."""
    base, exponent = node.input(0), node.input(1)
    element, other = element_of(base), element_of(exponent)
    if element == other:
        return node.add(ops.PowOp, base, exponent).result
    known = node.constant(1)
    if known is not None and _survives(known, node.graph.dtype_of(element)):
        return node.add(ops.PowOp, base, node.cast(exponent, element)).result
    wide = i64 if as_integer(element) and as_integer(other) else f64
    power = node.add(ops.PowOp, node.cast(base, wide), node.cast(exponent, wide)).result
    return node.cast(power, element)


def _survives(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` holds every value."""
    with np.errstate(all="ignore"):
        return bool((array.astype(dtype).astype(array.dtype) == array).all())


def _clip(node: Node) -> SSAValue:
    """Imports ONNX Clip, whose bounds are attributes before version 11 and inputs since then.

    Constant f32 bounds become properties, which passes and quantization use. Other bounds become operands of max and
    min.
    """
    value = node.input()
    if node.version < 11:
        low, high = node.attribute("min", None), node.attribute("max", None)
        return node.add(ops.ClipOp, value, minimum=low, maximum=high).result
    given = [position for position in (1, 2) if node.optional(position) is not None]
    known = {
        position: array for position in given if (array := node.constant(position)) is not None and array.size == 1
    }
    if given and len(known) == len(given) and isinstance(element_of(value), Float32Type):
        low, high = (float(known[position].reshape(())) if position in known else None for position in (1, 2))
        return node.add(ops.ClipOp, value, minimum=low, maximum=high).result
    for position in given:
        value = node.add(ops.MaxOp if position == 1 else ops.MinOp, value, node.input(position)).result
    return value


def _export_clip(out: NodeEmitter, op: ops.ClipOp) -> None:
    element = out.element(op.input)
    bounds = [
        "" if bound is None else out.constant(np.array(bound.value.data), element) for bound in (op.minimum, op.maximum)
    ]
    out.node("Clip", [*out.inputs, *bounds], out.output)


def _export_mod(out: NodeEmitter, op: ops.ModOp) -> None:
    """ONNX Mod, which for floats is C's alone: a remainder of the other sign gets the divisor added."""
    by_truncation = bool(op.fmod.value.data)
    element = out.element(op.lhs)
    if by_truncation or is_integer(element):
        out.node("Mod", out.inputs, out.output, fmod=1 if by_truncation else None)
        return
    zero, (lhs, rhs) = out.constant(np.array(0.0), element), out.inputs
    rest = out.node("Mod", [lhs, rhs], fmod=1)
    differ = out.node("Less", [out.node("Mul", [out.node("Sign", [rest]), out.node("Sign", [rhs])]), zero])
    out.node("Where", [differ, out.node("Add", [rest, rhs]), rest], out.output)


def _export_cast(out: NodeEmitter, op: ops.CastOp) -> None:
    kind, saturate = data_type(out.element(op.result)), None if op.saturates else 0
    out.node("Cast", out.inputs, out.output, to=kind, saturate=saturate, round_mode=number(op.round_mode))


def _export_bit_cast(out: NodeEmitter, op: ops.BitCastOp) -> None:
    out.needs(BIT_CAST_SINCE, "BitCast")
    out.node("BitCast", out.inputs, out.output, to=data_type(out.element(op.result)))


def _export_bit_shift(out: NodeEmitter, op: ops.BitShiftOp) -> None:
    element = as_integer(out.element(op.lhs))
    if element is None or element.signedness.data is not Signedness.UNSIGNED:
        out.needs(SIGNED_SHIFT_SINCE, "BitShift of signed integers")
    out.node("BitShift", out.inputs, out.output, direction=op.direction.data.upper())


# Activation functions.


def _gelu(node: Node) -> SSAValue:
    kind = node.attribute("approximate")
    if kind not in ("none", "tanh"):
        raise node.error(f"approximate must be none or tanh, but got '{kind}'")
    return node.add(activations.GeluOp, node.input(), tanh_approximation=kind == "tanh").result


def _prelu(node: Node) -> SSAValue:
    """ONNX PRelu; before version 7 a slope is per channel, and does not broadcast in another way."""
    data, slope = node.input(0), node.input(1)
    shape, slopes = node.shape(0), node.shape(1)
    if len(slopes) == 1 and len(shape) > 2 and slopes[0] not in (1, shape[-1]) and slopes[0] == shape[1]:
        slope = node.add(UnsqueezeOp, slope, axes=range(1, len(shape) - 1)).result
    return node.add(activations.PReluOp, data, slope).result


def _export_gelu(out: NodeEmitter, op: activations.GeluOp) -> None:
    kind = "tanh" if op.tanh_approximation.value.data else "none"
    out.node("Gelu", out.inputs, out.output, approximate=kind)


def _export_swish(out: NodeEmitter, op: activations.SwishOp) -> None:
    """ONNX Swish; in older operator sets its definition, `x * sigmoid(alpha * x)`."""
    if out.opset >= SWISH_SINCE:
        _SWISH.exported(out, op)
        return
    (value,) = out.inputs
    scaled = out.node("Mul", [value, out.constant(np.array(op.alpha.value.data), out.element(op.input))])
    out.node("Mul", [value, out.node("Sigmoid", [scaled])], out.output)


_JOINED: dict[str, type[ops.BinaryOp]] = {"Sum": ops.AddOp, "Max": ops.MaxOp, "Min": ops.MinOp}

IMPORTERS: dict[str, Importer] = {
    **{name: partial(_chain, operation=operation) for name, operation in _JOINED.items()},
    "Mean": _mean,
    "Mod": OneToOne("Mod", ops.ModOp, "fmod").imported,
    "BitShift": _bit_shift,
    "Pow": _pow,
    "Clip": _clip,
    "Cast": lambda node: _cast_to(node, node.element_type(node.attribute("to"))),
    "CastLike": lambda node: _cast_to(node, element_of(node.input(1))),
    "BitCast": _bit_cast,
    "PRelu": _prelu,
    "Gelu": _gelu,
    "Swish": _SWISH.imported,
}

EXPORTERS: dict[type[Operation], Exporter] = {
    ops.ClipOp: _export_clip,
    ops.ModOp: _export_mod,
    ops.CastOp: _export_cast,
    ops.BitCastOp: _export_bit_cast,
    ops.BitShiftOp: _export_bit_shift,
    activations.GeluOp: _export_gelu,
    activations.SwishOp: _export_swish,
}
