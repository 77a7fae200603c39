"""Casts of the `quant` dialect, and constants inside a composite."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.base import NnOp, element_of
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformFloatType
from qmlir.onnx.export.emission import Form, Outgoing
from qmlir.onnx.export.forms.casts import (
    dequantize,
    dequantize_floats,
    kept_apart,
    quantize,
    quantize_floats,
    uniform,
)
from qmlir.onnx.export.forms.qlinear import is_whole


def _qcast(out: Outgoing, op: QuantizeCastOp) -> None:
    element = element_of(op.result)
    if isinstance(element, UniformFloatType):
        quantize_floats(out, op, element)
        return
    known, name = uniform(out, element), out.inputs[0]
    if _would_be_fused(out, op):
        name = kept_apart(out, name, op.result, known)
    quantize(out, name, op.result, known, out.output)


def _would_be_fused(out: Outgoing, op: QuantizeCastOp) -> bool:
    """Whether ONNX Runtime may put an operator on integers in the place of a float one in front of the cast."""
    source, settings = op.input.owner, out.settings
    if settings.exact is False or not isinstance(source, NnOp) or not is_whole(op.result):
        return False
    return isinstance(source, SoftmaxOp) or settings.form is not Form.QDQ or settings.exact is True


def _dcast(out: Outgoing, op: DequantizeCastOp) -> None:
    element = element_of(op.input)
    if isinstance(element, UniformFloatType):
        dequantize_floats(out, op, element)
        return
    dequantize(out, out.inputs[0], op.input, uniform(out, element), out.output)


def _scast(out: Outgoing, op: StorageCastOp) -> None:
    """The same integers in another type: of as many bits, of which a Cast keeps the lowest."""
    source, target = out.element(op.input), out.element(op.result)
    if source == target:
        out.node("Identity", out.inputs, out.output)
    else:
        out.cast(out.inputs[0], target, out.output)


EXPORTERS: dict[type[Operation], Any] = {
    QuantizeCastOp: _qcast,
    DequantizeCastOp: _dcast,
    StorageCastOp: _scast,
}
