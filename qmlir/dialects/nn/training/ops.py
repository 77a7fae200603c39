"""Operations in training mode, whose results depend on random numbers or on the whole batch.

`strip-training` replaces them with their inference forms.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, TensorType, f32, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, kind_of, plain_type, tensor_like
from qmlir.dialects.nn.normalization.ops import ChannelNormOp
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots, RegisteredCanonicalization


class Nondeterministic(MemoryEffect):
    """Marks operations that draw random numbers: equal ones have different results, but unused ones may be erased."""

    @classmethod
    def get_effects(cls, op: "DropoutOp") -> set[EffectInstance]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # An allocation is new each time, so the operation is not merged with an equal one.
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


def _is_one(value: SSAValue) -> bool:
    """Whether a tensor may have one element."""
    return all(size in (1, DYNAMIC_INDEX) for size in shape_of(value))


@irdl_op_definition
class DropoutOp(NnOp):
    """Keeps each element with probability `1 - ratio`, divided by this probability, and sets the others to 0 (ONNX
    Dropout).

    The second result is the mask of the elements that are kept. `ratio` is a float scalar with `0 <= ratio < 1`. If
    `training`, an i1 scalar, is given and false, every element is kept unchanged. Each run draws new random numbers;
    with a `seed`, it draws those of NumPy's `RandomState(seed).uniform`, as in ONNX's reference implementation.
    """

    name = "nn.dropout"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(operands={"ratio": None, "training": None})
    traits = traits_def(Nondeterministic(), RegisteredCanonicalization())

    input = operand_def(TensorType)
    ratio = operand_def(TensorType)
    training = opt_operand_def(TensorType)
    result = result_def(TensorType)
    mask = result_def(TensorType)

    seed = opt_prop_def(IntegerAttr)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if kind_of(element_of(self.ratio)) is not Kind.FLOAT or not _is_one(self.ratio):
            raise VerifyException(f"ratio must be one float, but got '{self.ratio.type}'")
        if self.training is not None and (element_of(self.training) != i1 or not _is_one(self.training)):
            raise VerifyException(f"training must be one i1, but got '{self.training.type}'")
        shape = shape_of(self.input)
        return [tensor_like(self.input, shape), TensorType(i1, shape)]


@irdl_op_definition
class BatchNormTrainingOp(ChannelNormOp):
    """Batch normalization by the mean and variance of the batch, which also updates the running statistics.

    Computes `(x - m) / sqrt(v + epsilon) * scale + bias` per channel of `[N, C, …]`, where `m` is the mean and `v` the
    biased variance of the channel. The further results are the running mean `momentum * mean + (1 - momentum) * m`, the
    running variance, which is computed in the same way, and `m` and `v`. All operands and results have the same float
    type (ONNX BatchNormalization with `training_mode = 1`).
    """

    name = "nn.batch_norm_training"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)
    running_mean = result_def(TensorType)
    running_variance = result_def(TensorType)
    batch_mean = result_def(TensorType)
    batch_variance = result_def(TensorType)

    momentum = opt_prop_def(FloatAttr, FloatAttr(0.9, f32))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        statistics = (self.mean, self.variance)
        result = self.channel_norm_type(self.data, (self.scale, self.bias, *statistics))
        plain = plain_type(element_of(self.data))
        for value in self.operands:
            if kind_of(element_of(value)) is not Kind.FLOAT or plain_type(element_of(value)) != plain:
                raise VerifyException(
                    f"parameters must have the float type of the data ({plain}), but got '{value.type}'"
                )
        return [result, *[TensorType(plain, shape_of(self.data)[1:2])] * 4]
