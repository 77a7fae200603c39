"""Casts of the `quant` dialect, and constants inside a composite."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.base import element_of
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.forms.casts import dequantize, quantize, uniform


def _qcast(out: Outgoing, op: QuantizeCastOp) -> None:
    quantize(out, out.inputs[0], op.result, uniform(out, element_of(op.result)), out.output)


def _dcast(out: Outgoing, op: DequantizeCastOp) -> None:
    dequantize(out, out.inputs[0], op.input, uniform(out, element_of(op.input)), out.output)


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
