"""Operations that normalize rows or channels: softmax, and normalization with mean and variance or with a norm."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, StringAttr, TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Affine, Mode
from qmlir.arithmetic.row_norms import RowBounds, RowNorm
from qmlir.dialects.nn.base import (
    ComponentwiseOp,
    Kind,
    OneOperandOp,
    is_per_tensor,
    kind_of,
    plain_type,
    shapes_agree,
    tensor_like,
    verify_precision,
)
from qmlir.dialects.nn.elementwise.ops import broadcast_shapes, broadcasts_to
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.requantize import is_qlinear, quantized_type
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.dialects.quant.infer import bits_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import FixedRange, QuantizationSlots

# Softmax operations: composites on one tensor, along one axis.
#
# ONNX's operators before version 13 flatten their input; the importer does that by reshapes.

_SMALLEST_SCALE = 2.0**-30
"""The smallest scale for which `floor(1 / s_y)` of mode `qlinear` has at most 31 bits."""


class SoftmaxLikeOp(OneOperandOp, ABC):
    """A softmax-like operation; the result has the shape of `input`, and a negative `axis` counts from the end."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        normalized_axis(self.axis.value.data, len(shape_of(self.input)))
        return [tensor_like(self.input, shape_of(self.input))]


EMPTY_ROWS = ("zero", "uniform")
"""The probabilities of a row whose elements are all masked: 0, or `1 / n` for each of the `n` elements."""


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """Computes `e^x / sum(e^x)` along one axis (ONNX Softmax from opset 13), over the unmasked elements.

    Elements whose `mask` (i1, broadcast to the input) is false have probability 0, and affect neither the maximum nor
    the sum. All elements of a fully masked row are 0 (`empty_rows = "zero"`), or `1 / n`. With `fill`, masked elements
    are treated as `x + fill`, which need not be in the range of the input.
    """

    name = "nn.softmax"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    LITERT_BITS: ClassVar[Sequence[int]] = (8, 16)
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"mask": None}, fixed_output=FixedRange(0.0, 1.0), divides_one=True
    )

    input = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)

    empty_rows = opt_prop_def(StringAttr, StringAttr(EMPTY_ROWS[0]))
    fill = opt_prop_def(FloatAttr)

    @property
    def is_uniform_if_empty(self) -> bool:
        """Whether the elements of a fully masked row are `1 / n`."""
        return self.empty_rows.data == "uniform"

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if self.mask is not None:
            self._check_mask(self.mask)
        if self.fill is not None and (self.mask is None or self.is_uniform_if_empty):
            raise VerifyException("fill requires a mask, and 'empty_rows' other than uniform")
        check_choice("empty_rows", self.empty_rows.data, EMPTY_ROWS)
        return super().infer_result_types()

    def _check_mask(self, mask: SSAValue) -> None:
        if element_of(mask) != i1:
            raise VerifyException(f"mask must have elements of type i1, but got '{mask.type}'")
        shape = shape_of(self.input)
        if not shapes_agree(broadcast_shapes(shape_of(mask), shape), shape):
            raise VerifyException(f"mask must broadcast to the input '{self.input.type}', but got '{mask.type}'")
        if is_qlinear(self):
            raise VerifyException("requantization mode 'qlinear' does not support a mask")

    def row_total(self) -> int | None:
        """Returns a bound on the sum of `q - z` over each row of a quantized result; `None` if there is none.

        The float probabilities `p = e / t` of a row are at least 0, and `t` is the sum of its `e` or larger. Rounding
        `t` and each `p` adds less than `2^-20` to the sum of all `p`. Quantization adds at most 1/2 to each `p / s`;
        clamping moves no integer away from the zero point. Inputs that may be infinite, and so give NaN, have no bound.
        """
        source, target = quantized_type(self.input), quantized_type(self.result)
        if source is None or target is None or is_qlinear(self) or not (source.expressed == target.expressed == f32):
            return None
        most = float(source.scales.max()) * 2.0**source.bits + (0.0 if self.fill is None else abs(self.fill.value.data))
        size = shape_of(self.input)[self.axis.value.data]
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float32(most)) or size == DYNAMIC_INDEX:
                return None
        return math.floor((1 + 2.0**-20) / float(target.scales.min()) + size / 2) + 1

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if len({each.bits for each in types}) > 1:
            raise VerifyException(f"requantization mode '{mode}' requires types of one width")
        is_wide = types[-1].bits == 16
        wanted = 2.0**-15 if is_wide else 2.0**-8
        if (is_wide or mode is Mode.LITERT_REFERENCE) and types[-1].scale != wanted:
            raise VerifyException(
                f"requantization mode '{mode}' requires a result of scale {wanted}, but got '{types[-1]}'"
            )

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        has_elements = shape_of(self.input)[self.axis.value.data] != 0
        return 0.0 if has_elements and values[-1].scale >= _SMALLEST_SCALE else math.inf


@irdl_op_definition
class LogSoftmaxOp(ComponentwiseOp, SoftmaxLikeOp):
    """Computes `x - log(sum(e^x))` along one axis (ONNX LogSoftmax from opset 13)."""

    name = "nn.log_softmax"


@irdl_op_definition
class HardmaxOp(SoftmaxLikeOp):
    """Computes 1 at the first maximum along one axis and 0 elsewhere (ONNX Hardmax from opset 13); NaN counts as
    largest."""

    name = "nn.hardmax"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(fixed_output=FixedRange(0.0, 1.0))


# Normalization composites: batch, instance, group, and trailing-axes norms.
#
# Group, layer and root-mean-square normalization have two stages, as in ONNX: the values are normalized in the float
# type `precision` and rounded to their own type, then scaled and shifted in their own type. Row norms compute on
# integers if data and result are quantized.

MOST_BITS = 16
"""The maximum width of integers that are normalized exactly; wider integers are normalized in floats."""


def default_precision(value: SSAValue) -> Attribute:
    """Returns the default type in which `value` is normalized: f64 for f64, f32 for other floats."""
    return f64 if plain_type(element_of(value)) == f64 else f32


class NormOp(ComponentwiseOp, ABC):
    """A normalization that divides by a root, under which `epsilon` keeps the divisor away from 0.

    xDSL orders the operands of a subclass before inherited ones, so each operation defines its own.
    """

    epsilon = opt_prop_def(FloatAttr, FloatAttr(1e-5, f32))


class ChannelNormOp(NormOp, ABC):
    """A normalization of `[N, C, …]` with per-channel parameters."""

    def channel_norm_type(self, data: SSAValue, parameters: Sequence[SSAValue]) -> AnyTensor:
        """Verifies the operands and returns the result type."""
        sizes = shape_of(data)
        if len(sizes) < 2:
            raise VerifyException(f"data must have rank >= 2, but got '{data.type}'")
        for value in parameters:
            if not shapes_agree(shape_of(value), sizes[1:2]):
                raise VerifyException(
                    f"parameters must have one element per channel ({sizes[1]}), but got '{value.type}'"
                )
        return tensor_like(data, sizes)


class RowNormOp(NormOp, ABC):
    """A normalization of rows; if its data is quantized, it computes on integers (`qmlir.arithmetic.row_norms`).

    In this case, scale and bias are floats, unless `components` holds the types of its parts; then they are also
    quantized.
    """

    IS_CENTERED: ClassVar[bool] = True
    """Whether the mean is subtracted."""

    def quantization_slots(self) -> QuantizationSlots:
        return (
            self.SLOTS if self.components is not None else replace(self.SLOTS, operands={"scale": None, "bias": None})
        )

    @abstractmethod
    def row_sizes(self) -> Sequence[int]:
        """Returns the sizes of the axes of a row; for groups, these are the channels of a group and the axes after
        them."""

    def verify_(self) -> None:
        super().verify_()
        if self.components is not None:  # they are data
            return
        data, *parameters = self.operands
        plain = plain_type(element_of(data))
        for value in parameters:
            if kind_of(element_of(value)) is not Kind.FLOAT or plain_type(element_of(value)) != plain:
                raise VerifyException(
                    f"scale and bias must have the float type of the data ({plain}), but got '{value.type}'"
                )

    def fuses_with_casts(self) -> bool:
        return True

    def float_reason(self) -> str:
        return FloatCause.FLOAT_NEIGHBOR.reason()

    def row_bounds(self) -> RowBounds:
        """Returns the scale-independent part of a quantized norm on integers. Raises `ValueError` if integers cannot be
        used."""
        for element in (element_of(self.operands[0]), element_of(self.results[0])):
            if not is_per_tensor(element):
                raise ValueError(f"expected one scale, but got '{element}'")
            if element.bits > MOST_BITS or element.expressed_type != f32:
                raise ValueError(f"expected f32 values quantized to at most {MOST_BITS} bits, but got '{element}'")
        if isinstance(self, TwoStageOp) and self.first_stage_type(self.operands[0]) != f32:
            raise ValueError(f"precision {self.precision}")
        sizes = self.row_sizes()
        if DYNAMIC_INDEX in sizes or not sizes:
            raise ValueError("the row length is dynamic")
        bits = bits_of(element_of(self.operands[0]))
        return RowBounds(math.prod(sizes), bits, float(np.float32(self.epsilon.value.data)), self.IS_CENTERED)

    def integer_norm(self) -> RowNorm:
        """Returns the computation of a quantized norm on integers. Raises `ValueError` if integers cannot be used."""
        bounds, data = self.row_bounds(), element_of(self.operands[0])
        assert isinstance(data, UniformQuantizedType)
        return bounds.norm_of(float(np.float32(data.scale)))

    def verify_quantization(self) -> None:
        if self.components is not None:
            return
        try:
            self.integer_norm()
        except ValueError as error:
            raise VerifyException(
                f"has no integer arithmetic: {error}; set 'components' to quantize its parts separately"
            ) from error


class ScaledChannelNormOp(ChannelNormOp, RowNormOp, ABC):
    """A normalization of `[N, C, …]` followed by a per-channel scale and bias."""

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self.channel_norm_type(self.data, (self.scale, self.bias))]


class TwoStageOp(NormOp, ABC):
    """A normalization that is computed in the type `precision`; the default is f64 for f64 and f32 for other floats."""

    precision = opt_prop_def(Attribute)

    def first_stage_type(self, data: SSAValue) -> Attribute:
        """Returns the type in which `data` is normalized."""
        if self.precision is None:
            return default_precision(data)
        verify_precision(self.precision)
        return self.precision


class TrailingNormOp(TwoStageOp, RowNormOp, ABC):
    """A normalization over `axis` and all axes after it; scale and bias broadcast to the data."""

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(normalizes_rows=True)
    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def trailing_norm_type(self, data: SSAValue, parameters: Sequence[SSAValue | None]) -> AnyTensor:
        """Verifies the operands and returns the result type."""
        sizes = shape_of(data)
        normalized_axis(self.axis.value.data, len(sizes))
        self.first_stage_type(data)
        for value in parameters:
            if value is not None and not broadcasts_to(shape_of(value), sizes):
                raise VerifyException(
                    f"scale and bias must broadcast to the data '{data.type}', but got '{value.type}'"
                )
        return tensor_like(data, sizes)

    @property
    def first_axis(self) -> int:
        """The first normalized axis, counted from the front."""
        return normalized_axis(self.axis.value.data, len(shape_of(self.operands[0])))

    def row_sizes(self) -> Sequence[int]:
        return shape_of(self.operands[0])[self.first_axis :]


@irdl_op_definition
class BatchNormOp(ChannelNormOp):
    """Computes `(x - mean) / sqrt(variance + epsilon) * scale + bias` per channel of `[N, C, …]`.

    Without mean and variance, it computes `x * scale + bias`: a norm whose statistics were folded into these operands.
    """

    name = "nn.batch_norm"
    FOLDED: ClassVar[Sequence[str]] = ("mean", "variance", "epsilon")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = opt_operand_def(TensorType)
    variance = opt_operand_def(TensorType)
    result = result_def(TensorType)

    @property
    def statistics(self) -> tuple[SSAValue, SSAValue] | None:
        """The mean and the variance; `None` if they are folded into scale and bias."""
        return None if self.mean is None or self.variance is None else (self.mean, self.variance)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if (self.mean is None) != (self.variance is None):
            raise VerifyException("mean and variance must be passed together")
        return [self.channel_norm_type(self.data, (self.scale, self.bias, *(self.statistics or ())))]


@irdl_op_definition
class InstanceNormOp(ScaledChannelNormOp):
    """Normalizes each channel of each sample to mean 0 and variance 1, then applies scale and bias per channel (ONNX
    InstanceNormalization)."""

    name = "nn.instance_norm"

    def row_sizes(self) -> Sequence[int]:
        return shape_of(self.data)[2:]


@irdl_op_definition
class GroupNormOp(ScaledChannelNormOp, TwoStageOp):
    """Normalizes each of `groups` groups of channels to mean 0 and variance 1, then applies a per-channel scale and
    bias.

    This is ONNX GroupNormalization as of opset 21.
    """

    name = "nn.group_norm"

    groups = prop_def(IntegerAttr)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        types = super().infer_result_types()
        self.first_stage_type(self.data)
        channels, groups = types[0].get_shape()[1], self.groups.value.data
        if groups < 1 or (channels != DYNAMIC_INDEX and channels % groups):
            raise VerifyException(f"groups ({groups}) must divide the number of channels ({channels})")
        return types

    def row_sizes(self) -> Sequence[int]:
        _, channels, *sizes = shape_of(self.data)
        return [channels if channels == DYNAMIC_INDEX else channels // self.groups.value.data, *sizes]


@irdl_op_definition
class LayerNormOp(TrailingNormOp):
    """Normalizes to mean 0 and variance 1 over `axis` and all axes after it, then applies scale and bias (ONNX
    LayerNormalization)."""

    name = "nn.layer_norm"

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self.trailing_norm_type(self.data, (self.scale, self.bias))]


@irdl_op_definition
class RmsNormOp(TrailingNormOp):
    """Computes `x / sqrt(mean(x^2) + epsilon) * scale` over `axis` and all axes after it (ONNX RMSNormalization)."""

    name = "nn.rms_norm"
    IS_CENTERED: ClassVar[bool] = False

    data = operand_def(TensorType)
    scale = opt_operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self.trailing_norm_type(self.data, (self.scale,))]


@irdl_op_definition
class LpNormOp(ComponentwiseOp, OneOperandOp):
    """Computes `x / sum(|x|^p)^(1/p)` along one axis, or 0 if the sum is 0 (ONNX LpNormalization); `p` is 1 or 2.

    `epsilon`, which does not exist in ONNX, is a lower bound on the norm.
    """

    name = "nn.lp_norm"

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))
    p = opt_prop_def(IntegerAttr, IntegerAttr(2, i64))
    epsilon = opt_prop_def(FloatAttr)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        normalized_axis(self.axis.value.data, len(shape_of(self.input)))
        if self.p.value.data not in (1, 2):
            raise VerifyException(f"p must be 1 or 2, but got {self.p.value.data}")
        if self.epsilon is not None and not 0 < self.epsilon.value.data < math.inf:
            raise VerifyException(f"epsilon must be positive and finite, but got {self.epsilon.value.data}")
        return [tensor_like(self.input, shape_of(self.input))]


@irdl_op_definition
class LocalResponseNormOp(OneOperandOp):
    """Computes `x / (bias + alpha / size * sum(x^2))^beta`, with the sum over `size` neighboring channels (ONNX LRN).

    The neighborhood extends `(size - 1) / 2` channels to both sides, rounded down towards lower channels and up towards
    higher ones, and is truncated at the first and last channel.
    """

    name = "nn.local_response_norm"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    size = prop_def(IntegerAttr)
    alpha = opt_prop_def(FloatAttr, FloatAttr(1e-4, f32))
    beta = opt_prop_def(FloatAttr, FloatAttr(0.75, f32))
    bias = opt_prop_def(FloatAttr, FloatAttr(1.0, f32))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if len(shape_of(self.input)) < 2:
            raise VerifyException(f"input must have rank >= 2, but got '{self.input.type}'")
        if self.size.value.data < 1:
            raise VerifyException(f"size must be >= 1, but got {self.size.value.data}")
        return [tensor_like(self.input, shape_of(self.input))]
