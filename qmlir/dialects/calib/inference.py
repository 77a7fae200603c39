"""Inference forms of `calib` operations: observers are removed, and learned quantization parameters move into types."""

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, Signedness, TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.calib.evaluate import scale_and_zero_point
from qmlir.dialects.calib.ops import METHODS, FakeQuantOp, ObserveOp, StraightThroughOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.terms import Expr, InsertionBuilder
from qmlir.dialects.nn.training.decompose import AtInference
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of


def _fake_quant(at: InsertionBuilder, op: FakeQuantOp) -> Sequence[SSAValue]:
    """Converts to a quantize and a dequantize cast; parameters must be constant. `lsq_plus` subtracts and adds its
    offset."""
    parameters = [constant_array(value) for value in op.parameters]
    known = [each for each in parameters if each is not None]
    if len(known) < len(parameters):
        name = METHODS[op.method.data][[each is None for each in parameters].index(True)]
        raise at.error(f"cannot be converted for inference: {name} must be constant; insert the trained values first")
    element = element_of(op.input)
    if not isinstance(element, Float32Type | Float64Type):
        raise at.error(f"already has a profiled range ({element}); run strip-training before profiling")
    scales, zero_points = scale_and_zero_point(op, *known)
    if not (scales > 0).all():
        raise at.error(f"scales must be positive, but got {scales.min():g}")
    storage = IntegerType(op.bits.value.data, Signedness.SIGNLESS if op.is_signed else Signedness.UNSIGNED)
    if op.axis is None:
        type_ = UniformQuantizedType.per_tensor(storage, element, float(scales), int(zero_points))
    else:
        type_ = UniformQuantizedType.per_axis(storage, element, op.axis.value.data, scales, zero_points)
    sizes = shape_of(op.input)
    value, offset = Expr(at, op.input), None
    if op.method.data == "lsq_plus":
        layout = [len(known[1]) if size == -1 else size for size in op.beside(len(sizes))]
        offset = Expr(at, at.constant(known[1].reshape(layout), op.input))
        value = value - offset
    quantized = at.append(QuantizeCastOp(value.value, TensorType(type_, sizes)))
    found = Expr(at, at.append(DequantizeCastOp(quantized.result, TensorType(element, sizes))).result)
    return [(found if offset is None else found + offset).value]


RULES: dict[type[Operation], AtInference] = {
    FakeQuantOp: _fake_quant,
    ObserveOp: lambda at, op: [op.input],
    StraightThroughOp: lambda at, op: [op.hard],
}
