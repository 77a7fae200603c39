"""What ONNX Runtime makes of an operator between DequantizeLinear and QuantizeLinear, unless its optimizations are off.

Where values have 8 bits, all of their storage and one scale, it puts operators on integers in the place of the casts
(core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc). Some of these compute our integers. Others have an
arithmetic of their own: QLinearAdd and QLinearMul add the zero point before they round (core/mlas/lib/qladd.cpp,
qlmul.cpp), QLinearSoftmax sums up integers of a table (contrib_ops/cpu/quantization/qlinear_softmax.cc).
"""

from xdsl.ir import Operation

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.interpret.quantized.parameters import requantization_of
from qmlir.dialects.nn.ops import activations, elementwise, pooling, softmax
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.export.forms.qlinear import agrees_with_qlinear, has_qlinear_types, is_whole

OWN_ARITHMETIC: tuple[type[Operation], ...] = (
    softmax.SoftmaxOp, activations.SigmoidOp, pooling.AveragePoolOp, elementwise.AddOp, elementwise.MulOp,
)  # fmt: skip
"""Operations whose fused operators compute in another way than floats between casts."""


def is_fused_alike(op: NnOp) -> bool:
    """Whether an operation between casts becomes an operator that computes the same integers."""
    return requantization_of(op)[0] is Mode.F32 and has_qlinear_types(op)


def is_fused_otherwise(op: NnOp) -> bool:
    """Whether an operation between casts becomes an operator that may give other integers."""
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), UniformQuantizedType)]
    if not isinstance(op, OWN_ARITHMETIC) or not all(map(is_whole, values)):
        return False
    return not (isinstance(op, elementwise.AddOp | elementwise.MulOp) and agrees_with_qlinear(op))
