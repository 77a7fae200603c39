"""Operations of the `calib` dialect: observers, trainable fake quantization, and gradients of rounding.

If integer arithmetic depends on a learned scale, the operation takes the integers as floats and the scale as an
operand.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i64,
)
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
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.row_norms import RowBounds
from qmlir.dialects.quant.infer import element_type, expressed_type
from qmlir.ir.builtin_types import reshaped_like, tensor
from qmlir.ir.interfaces import HasSideEffect, InferResultTypes, Recomputable


def _verify_axis(axis: int, type_: Attribute) -> None:
    rank = tensor(type_).get_num_dims()
    if not 0 <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for rank {rank}")


class _KeepsShape(IRDLOperation, InferResultTypes):
    """An operation whose result has the shape of its first operand."""

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [reshaped_like(tensor(self.results[0].type), self.operands[0].type)]


@irdl_op_definition
class ObserveOp(_KeepsShape):
    """Returns its operand, and lets the runtime record statistics of it under `key`.

    `observers` are the names of package observers, which record additional data.
    """

    name = "calib.observe"

    T: ClassVar = VarConstraint("T", base(TensorType[Attribute]))

    input = operand_def(T)
    result = result_def(T)

    key = prop_def(StringAttr)
    axis = opt_prop_def(IntegerAttr)
    observers = opt_prop_def(ArrayAttr[StringAttr])

    assembly_format = "$input $key (`axis` $axis^)? (`with` $observers^)? attr-dict `:` type($input)"
    traits = traits_def(HasSideEffect())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the package observers."""
        return tuple(each.data for each in self.observers or ())

    def verify_(self) -> None:
        if not self.key.data:
            raise VerifyException("key must not be empty")
        if self.axis is not None:
            _verify_axis(self.axis.value.data, self.input.type)


METHODS: Mapping[str, tuple[str, ...]] = {
    "tqt": ("log2_threshold",),
    "lsq": ("scale",),
    "lsq_plus": ("scale", "offset"),
    "pact": ("limit",),
    "affine": ("scale", "zero_point"),
    "range": ("minimum", "maximum"),
}
"""The methods of trainable fake quantization, each with the names of the parameters that it learns."""


@irdl_op_definition
class FakeQuantOp(_KeepsShape):
    """Computes fake quantization with trainable parameters: `(clip(rne(x / s) + z, n, p) - z) * s`.

    Each parameter is one number or, with `axis`, one number for each index of that axis. The limits are
    `n = -2^(bits - 1)` and `p = 2^(bits - 1) - 1` for signed integers, and `n = 0` and `p = 2^bits - 1` for unsigned
    ones. `method` determines the learned parameters, and how the gradient of the rounding is estimated:

    | `method` | parameters | scale and zero point |
    |---|---|---|
    | `tqt` (Jain et al., Trained Thresholds) | `log2_threshold` | `s = 2^ceil(t) / 2^(bits - 1)`, `z = 0` |
    | `lsq` (Esser et al., Learned Step Size) | `scale` | `s`, `z = 0` |
    | `lsq_plus` (Bhalgat et al., LSQ+) | `scale`, `offset` | of `x - offset`; the offset is added again |
    | `pact` (Choi et al., PACT), unsigned | `limit` | `s = limit / p`, `z = 0` |
    | `affine` | `scale`, `zero_point` | `s`; `z` rounded and clipped |
    | `range` | `minimum`, `maximum` | `s = (max - min) / (p - n)`, `z = rne(n - min / s)` |

    For unsigned integers, the scale of `tqt` is `2^ceil(t) / 2^bits`. The range of `range` is extended to contain 0.
    Scales are positive. Let `g` be the gradient of the result, `v = x / s` and `r = rne(v)`. A value is clipped if
    `r + z` is not in `[n, p]`. The gradients are:

    - `x`: `g` where the value is not clipped. For `lsq` and `lsq_plus`, `g` where `n < v < p`; for `pact`, `g` where
      `0 <= x < limit`. It is 0 elsewhere.
    - A scale: the sum of `g (r - v)` over values that are not clipped, and of `g (n - z)` or `g (p - z)` over clipped
      values. For `lsq` and `lsq_plus`, values count as clipped where `v <= n` or `v >= p`, and the sum is divided by
      `sqrt(N p)`, where `N` is the number of values.
    - A zero point: the sum of `-g s` over clipped values.
    - An offset: the sum of `g` over clipped values, divided by the same `sqrt(N p)`.
    - A limit: the sum of `g` over values with `x >= limit`.
    - A `log2_threshold`: the gradient of its scale, times `s ln(2)`.
    - A minimum and a maximum: the gradients that follow from `s` and `z`; gradients pass straight through the rounding
      of `z`.
    """

    name = "calib.fake_quant"

    input = operand_def(TensorType)
    parameters = var_operand_def(TensorType)
    result = result_def(TensorType)

    method = opt_prop_def(StringAttr, StringAttr("tqt"))
    bits = opt_prop_def(IntegerAttr, IntegerAttr(8, i64))
    signed = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    axis = opt_prop_def(IntegerAttr)

    assembly_format = "$input `,` $parameters attr-dict `:` type($input) `,` type($parameters) `->` type($result)"
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    @property
    def is_signed(self) -> bool:
        """Whether the integers are signed."""
        return bool(self.signed.value.data)

    @property
    def limits(self) -> tuple[int, int]:
        """The limits `n` and `p` of the integers."""
        return integer_limits(self.bits.value.data, is_signed=self.is_signed)

    def beside(self, rank: int) -> list[int]:
        """Returns the shape of a parameter that broadcasts to a tensor of rank `rank`."""
        return [] if self.axis is None else [-1 if each == self.axis.value.data else 1 for each in range(rank)]

    def verify_(self) -> None:
        shape, element = tensor(self.input.type).get_shape(), expressed_type(element_type(self.input.type))
        if element not in (f32, f64):
            raise VerifyException(f"input must be f32 or f64, but got '{self.input.type}'")
        if tensor(self.result.type).get_shape() != shape or expressed_type(element_type(self.result.type)) != element:
            wanted = f"result must have type {element} and the shape of the input"
            raise VerifyException(f"{wanted}, but got '{self.result.type}'")
        if not 1 <= self.bits.value.data <= 32:
            raise VerifyException(f"bits must be in [1, 32], but got {self.bits.value.data}")
        if self.axis is not None:
            _verify_axis(self.axis.value.data, self.input.type)
        self._verify_parameters(TensorType(element, () if self.axis is None else (shape[self.axis.value.data],)))

    def _verify_parameters(self, expected: Attribute) -> None:
        method = self.method.data
        names = METHODS.get(method)
        if names is None:
            raise VerifyException(f"method must be one of {', '.join(METHODS)}, but got '{method}'")
        if len(names) != len(self.parameters):
            wanted = " and ".join(names)
            raise VerifyException(f"method '{method}' expects parameters {wanted}, but got {len(self.parameters)}")
        for name, value in zip(names, self.parameters, strict=True):
            if value.type != expected:
                raise VerifyException(f"parameter '{name}' must have type '{expected}', but got '{value.type}'")
        if method == "pact" and self.is_signed:
            raise VerifyException("method 'pact' requires signed = false")
        if method.startswith("lsq") and self.limits[1] < 1:
            raise VerifyException(f"method '{method}' requires signed = false")


@irdl_op_definition
class StraightThroughOp(_KeepsShape, Recomputable):
    """Returns `hard`, and passes its gradient to `soft`: the straight-through estimator.

    `hard` is a function of `soft` whose derivative is 0 almost everywhere, such as rounding. The estimator is that of
    Bengio et al., Estimating Gradients, 2013.
    """

    name = "calib.straight_through"

    T: ClassVar = VarConstraint("T", base(TensorType[Attribute]))

    hard = operand_def(T)
    soft = operand_def(T)
    result = result_def(T)

    assembly_format = "$hard `for` $soft attr-dict `:` type($result)"
    traits = traits_def(Pure())


@irdl_op_definition
class RowNormOp(_KeepsShape):
    """Normalizes rows of integers with a common scale, represented as floats, bit-identically to a quantized norm.

    `input` holds integers `d = q - z` with `|d| < 2^bits`. A row spans all axes from `axis` on and has `n` elements.
    The result is `f32(f32(n d - t) * r)`, where `t` is the sum of the row if the mean is subtracted (`centered`), and 0
    otherwise. `r` is the reciprocal root that `qmlir.arithmetic.row_norms` computes from `n`, `scale` and `epsilon`.
    The result is NaN if the radicand does not fit in 62 bits.

    The gradients for `d` and `scale` are those of `(d - mean) / sqrt(mean((d - mean)^2) + epsilon / scale^2)`, where
    the mean is 0 if it is not subtracted.
    """

    name = "calib.row_norm"

    T: ClassVar = VarConstraint("T", base(TensorType[Attribute]))

    input = operand_def(T)
    scale = operand_def(TensorType)
    result = result_def(T)

    axis = prop_def(IntegerAttr)
    bits = prop_def(IntegerAttr)
    epsilon = opt_prop_def(FloatAttr, FloatAttr(1e-5, f32))
    centered = opt_prop_def(BoolAttr, BoolAttr.from_bool(True), prop_name="centred")

    assembly_format = "$input `by` $scale attr-dict `:` type($input) `,` type($scale)"
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    @property
    def row(self) -> range:
        """The axes that a row spans."""
        return range(self.axis.value.data, len(tensor(self.input.type).get_shape()))

    @property
    def is_centered(self) -> bool:
        """Whether the mean of a row is subtracted."""
        return bool(self.centered.value.data)

    def bounds(self) -> RowBounds:
        """Returns the scale-independent bounds of the norm. Raises `ValueError` if no integer norm is exact."""
        sizes = tensor(self.input.type).get_shape()[self.axis.value.data :]
        if DYNAMIC_INDEX in sizes:
            raise ValueError("the row length is dynamic")
        epsilon = float(np.float32(self.epsilon.value.data))
        return RowBounds(math.prod(sizes), self.bits.value.data, epsilon, self.is_centered)

    def verify_(self) -> None:
        type_ = tensor(self.input.type)
        if type_.get_element_type() != f32 or self.scale.type != TensorType(f32, ()):
            found = f"'{self.input.type}' and '{self.scale.type}'"
            raise VerifyException(f"expected integers held in f32 and one scale, but got {found}")
        _verify_axis(self.axis.value.data, type_)
        if not 1 <= self.bits.value.data <= 16:
            raise VerifyException(f"bits must be in [1, 16], but got {self.bits.value.data}")
        try:
            self.bounds()
        except ValueError as error:
            raise VerifyException(f"has no integer arithmetic: {error}") from error
