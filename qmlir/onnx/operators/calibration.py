"""Export of trained fake quantization."""

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64
from xdsl.ir import Operation

from qmlir.dialects.calib.ops import FakeQuantOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import op_error
from qmlir.onnx.export.emission import Exporter, Outgoing
from qmlir.onnx.export.forms.casts import dequantize, quantize

CAST_BITS = 16
"""The widest integers of QuantizeLinear, in bits."""


def _fake_quant(out: Outgoing, op: FakeQuantOp) -> None:
    """QuantizeLinear and DequantizeLinear of the trained scale; the formula where that is known at run time only."""
    if op.method.data != "tqt" or element_of(op.input) == f64:
        raise op_error(op, f"can be exported only for f32 and method 'tqt', but got '{op.method.data}'")
    threshold = constant_array(op.parameters[0])
    bits = op.bits.value.data
    if threshold is None or bits > CAST_BITS:
        _spelled_out(out, op)
        return
    scales = np.exp2(np.ceil(threshold.astype(np.float64)) - _exponent(op))
    storage = IntegerType(bits) if op.is_signed else IntegerType(bits, Signedness.UNSIGNED)
    if op.axis is None:
        element = UniformQuantizedType.per_tensor(storage, f32, float(scales))
    else:
        element = UniformQuantizedType.per_axis(storage, f32, op.axis.value.data, [float(each) for each in scales])
    stored = quantize(out, out.inputs[0], op.input, element)
    dequantize(out, stored, op.input, element, out.output)


def _exponent(op: FakeQuantOp) -> int:
    """The scale is `2^(ceil(log2_threshold) - n)`."""
    bits = op.bits.value.data
    return bits - 1 if op.is_signed else bits


def _spelled_out(out: Outgoing, op: FakeQuantOp) -> None:
    """`clip(rne(x / s), n, p) * s`, the integers in f64."""
    x, threshold = out.inputs
    exponent = out.node("Sub", [out.node("Ceil", [threshold]), out.constant(np.array(float(_exponent(op))), f32)])
    scale = out.node("Pow", [out.constant(np.array(2.0), f32), exponent])
    if op.axis is not None:
        layout = [1] * len(shape_of(op.input))
        layout[op.axis.value.data] = -1
        scale = out.node("Reshape", [scale, out.constant(np.array(layout, np.int64))])
    rounded = out.cast(out.node("Round", [out.node("Div", [x, scale])]), f64)
    limits = [out.constant(np.array(float(each)), f64) for each in op.limits]
    product = out.node("Mul", [out.node("Clip", [rounded, *limits]), out.cast(scale, f64)])
    out.cast(product, f32, out.output)


EXPORTERS: dict[type[Operation], Exporter] = {FakeQuantOp: _fake_quant}
