"""Activation functions: elementwise functions that follow a layer.

Semantics and default parameters follow the ONNX operator of the same name. Each activation is a function of one value,
so it becomes a lookup table on 8-bit quantized values, except for `nn.prelu` with its per-channel slopes.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, FloatAttr, TensorType, f32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic import litert
from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Affine, Mode
from qmlir.dialects.nn.base import Kind, NnOp, shapes_agree, tensor_like
from qmlir.dialects.nn.elementwise.ops import UnaryOp, broadcast_shapes, fixed_output
from qmlir.dialects.nn.requantize import Accumulator
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, shape_of
from qmlir.ir.interfaces import QuantizationSlots, Recomputable, Slot


def verify_16_bits(mode: Mode, types: Sequence[UniformQuantizedType], *, is_tanh: bool) -> None:
    """Verifies the types of a function of 16-bit data in LiteRT: both have 16 bits, and results 15 fraction bits."""
    source, result = types
    if source.bits != result.bits:
        raise VerifyException(f"requantization mode '{mode}' requires types of one width")
    if source.bits == 8:
        return
    if result.scale != 2.0**-15 or result.zero_point or source.zero_point:
        raise VerifyException(f"requantization mode '{mode}' requires zero points 0 and a result of scale 2^-15")
    if mode is Mode.LITERT_XNNPACK and litert.is_gemmlowp16(source.scale, is_tanh=is_tanh):
        raise VerifyException(f"requantization mode '{mode}' does not support 16-bit data of scale {source.scale}")


_LARGEST_RATIO = 2.0**29
"""The smallest ratio of scales that fixed-point multipliers don't support."""


def _verify_ratios(mode: Mode, result: UniformQuantizedType, *scales: float) -> None:
    """Verifies that scales can be changed to that of the result by fixed-point multipliers."""
    if (largest := max(scales) / result.scale) >= _LARGEST_RATIO:
        raise VerifyException(f"requantization mode '{mode}' requires ratios of scales < 2^29, but got {largest:g}")


@irdl_op_definition
class ReluOp(UnaryOp, Recomputable):
    """Rectified linear unit `max(x, 0)`."""

    name = "nn.relu"
    LITERT: ClassVar[Multiplier | None] = Multiplier.ACTIVATION
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(limits_operand=True)


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """Leaky ReLU: `x` for `x >= 0`, `alpha * x` otherwise."""

    name = "nn.leaky_relu"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN

    alpha = opt_prop_def(FloatAttr, FloatAttr(0.01, f32))

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        source, result = types
        _verify_ratios(mode, result, source.scale, source.scale * abs(self.alpha.value.data))


@irdl_op_definition
class PReluOp(NnOp):
    """Parametric ReLU: `x` for `x >= 0`, `slope * x` otherwise; the slopes broadcast to `x`."""

    name = "nn.prelu"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"slope": Slot.WEIGHT})

    input = operand_def(TensorType)
    slope = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if not shapes_agree(broadcast_shapes(shape, shape_of(self.slope)), shape):
            raise VerifyException(f"slope of type '{self.slope.type}' must broadcast to the input '{self.input.type}'")
        return [tensor_like(self.input, shape)]

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        source, slopes, result = types
        _verify_ratios(mode, result, source.scale, source.scale * slopes.scale)


@irdl_op_definition
class ThresholdedReluOp(UnaryOp):
    """Thresholded ReLU: `x` for `x > alpha`, 0 otherwise."""

    name = "nn.thresholded_relu"

    alpha = opt_prop_def(FloatAttr, FloatAttr(1.0, f32))


@irdl_op_definition
class EluOp(UnaryOp):
    """Exponential linear unit: `x` for `x >= 0`, `alpha * (e^x - 1)` otherwise."""

    name = "nn.elu"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN

    alpha = opt_prop_def(FloatAttr, FloatAttr(1.0, f32))

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if self.alpha.value.data != 1.0:
            raise VerifyException(f"requantization mode '{mode}' requires alpha = 1, but got {self.alpha.value.data:g}")


@irdl_op_definition
class CeluOp(UnaryOp):
    """Continuously differentiable ELU: `x` for `x >= 0`, `alpha * (e^(x / alpha) - 1)` otherwise."""

    name = "nn.celu"

    alpha = opt_prop_def(FloatAttr, FloatAttr(1.0, f32))


@irdl_op_definition
class SeluOp(UnaryOp):
    """Scaled ELU: `gamma * x` for `x >= 0`, `gamma * alpha * (e^x - 1)` otherwise."""

    name = "nn.selu"

    alpha = opt_prop_def(FloatAttr, FloatAttr(1.6732631921768188, f32))
    gamma = opt_prop_def(FloatAttr, FloatAttr(1.0507010221481323, f32))


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """Logistic sigmoid `1 / (1 + e^-x)`."""

    name = "nn.sigmoid"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    LITERT_BITS: ClassVar[Sequence[int]] = (8, 16)
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(0.0, 1.0)

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        verify_16_bits(mode, types, is_tanh=False)

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        return 0.0  # a lookup table, computed at compile time


@irdl_op_definition
class HardSigmoidOp(UnaryOp):
    """Hard sigmoid `max(0, min(1, alpha * x + beta))`."""

    name = "nn.hard_sigmoid"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(0.0, 1.0)

    alpha = opt_prop_def(FloatAttr, FloatAttr(0.2, f32))
    beta = opt_prop_def(FloatAttr, FloatAttr(0.5, f32))


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """Hard swish `x * max(0, min(1, x / 6 + 1 / 2))`; a composite."""

    name = "nn.hard_swish"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if not types[0].scale < 128 * types[1].scale:
            raise VerifyException(
                f"requantization mode '{mode}' requires a scale of less than 128 times that of the result, but got "
                f"{types[0].scale:g} and {types[1].scale:g}"
            )


@irdl_op_definition
class SwishOp(UnaryOp):
    """Swish `x * sigmoid(alpha * x)`, known as SiLU if `alpha` is 1."""

    name = "nn.swish"

    alpha = opt_prop_def(FloatAttr, FloatAttr(1.0, f32))


@irdl_op_definition
class MishOp(UnaryOp):
    """Mish activation `x * tanh(softplus(x))`."""

    name = "nn.mish"


@irdl_op_definition
class TanhOp(UnaryOp):
    """Elementwise hyperbolic tangent (ONNX Tanh)."""

    name = "nn.tanh"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    LITERT_BITS: ClassVar[Sequence[int]] = (8, 16)
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-1.0, 1.0)

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        verify_16_bits(mode, types, is_tanh=True)


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """Softplus activation `ln(1 + e^x)`."""

    name = "nn.softplus"


@irdl_op_definition
class SoftsignOp(UnaryOp):
    """Softsign activation `x / (1 + |x|)`."""

    name = "nn.softsign"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-1.0, 1.0)


@irdl_op_definition
class GeluOp(UnaryOp):
    """Gaussian error linear unit `x / 2 * (1 + erf(x / sqrt(2)))`, or its tanh approximation; a composite."""

    name = "nn.gelu"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(flat_below=-4.0)
    """Below -4, results are within 0.00013 of 0, which is less than half an 8-bit step over `[-0.17, 0]`."""

    tanh_approximation = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if self.tanh_approximation.value.data:
            raise VerifyException(f"requantization mode '{mode}' does not support the approximation by tanh")
