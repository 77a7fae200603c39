"""What quantization observes and learns: `calib.observe`, and the trainable `calib.fake_quant`."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, Float32Type, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.infer import element_type, expressed_type
from qmlir.ir.builtin_types import reshaped_like, tensor
from qmlir.ir.interfaces import ActsBesideResults, InferResultTypes


@irdl_op_definition
class ObserveOp(IRDLOperation, InferResultTypes):
    """Gives its operand on, and lets a run record statistics of it under `key`.

    `observers` are names of those of packages, which record something besides.
    """

    name = "calib.observe"

    T: ClassVar = VarConstraint("T", base(TensorType[Attribute]))

    input = operand_def(T)
    result = result_def(T)

    key = prop_def(StringAttr)
    axis = opt_prop_def(IntegerAttr)
    observers = opt_prop_def(ArrayAttr[StringAttr])

    assembly_format = "$input $key (`axis` $axis^)? (`with` $observers^)? attr-dict `:` type($input)"
    traits = traits_def(ActsBesideResults())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the observers of packages."""
        return tuple(each.data for each in self.observers or ())

    def verify_(self) -> None:
        if not self.key.data:
            raise VerifyException("the key must not be empty")
        rank = len(tensor(self.input.type).get_shape())
        if self.axis is not None and not 0 <= self.axis.value.data < rank:
            raise VerifyException(f"axis {self.axis.value.data} is out of range for rank {rank}")

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [reshaped_like(tensor(self.result.type), self.input.type)]


@irdl_op_definition
class FakeQuantOp(IRDLOperation, InferResultTypes):
    """`clip(rne(x / s), n, p) * s` with the trainable scale `s = 2^ceil(log2_threshold) / 2^(bits - 1)`.

    `n = -2^(bits - 1)` and `p = 2^(bits - 1) - 1`; unsigned: `s = 2^ceil(log2_threshold) / 2^bits`, `n = 0` and
    `p = 2^bits - 1` (Jain et al., Trained Quantization Thresholds). The threshold is one number, or one for each index
    of `axis`.
    """

    name = "calib.fake_quant"

    input = operand_def(TensorType)
    log2_threshold = operand_def(TensorType)
    result = result_def(TensorType)

    bits = opt_prop_def(IntegerAttr, IntegerAttr(8, i64))
    signed = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    axis = opt_prop_def(IntegerAttr)

    assembly_format = (
        "$input `,` $log2_threshold attr-dict `:` type($input) `,` type($log2_threshold) `->` type($result)"
    )
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        shape = tensor(self.input.type).get_shape()
        if expressed_type(element_type(self.input.type)) != Float32Type():
            raise VerifyException(f"works on f32 values, found {self.input.type}")
        if (
            tensor(self.result.type).get_shape() != shape
            or expressed_type(element_type(self.result.type)) != Float32Type()
        ):
            raise VerifyException(f"the result is f32 of the operand's shape, found {self.result.type}")
        if not 1 <= self.bits.value.data <= 32:
            raise VerifyException(f"bits must be 1 to 32, found {self.bits.value.data}")
        axis = None if self.axis is None else self.axis.value.data
        if axis is not None and not 0 <= axis < len(shape):
            raise VerifyException(f"axis {axis} is out of range for rank {len(shape)}")
        expected = TensorType(Float32Type(), () if axis is None else (shape[axis],))
        if self.log2_threshold.type != expected:
            raise VerifyException(f"the threshold has type {expected}, found {self.log2_threshold.type}")

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [reshaped_like(tensor(self.result.type), self.input.type)]
