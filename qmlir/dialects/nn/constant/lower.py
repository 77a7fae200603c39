"""Lowering of constants, which keep their bytes and get the plain type of their elements."""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.constant.ops import ConstantOp


def _constant(op: ConstantOp, at: Lowering) -> Sequence[SSAValue]:
    if not isinstance(op.value, DenseIntOrFPElementsAttr):
        raise at.error("the weights are stored in a separate file; load the module together with its weights file")
    type_ = TensorType(cast(Any, at.result_element()), at.result_shape())
    value = DenseIntOrFPElementsAttr(type_, op.value.data)
    return (at.insert(arith.ConstantOp(value, type_)),)


LOWERINGS: dict[type[Operation], Lower] = {ConstantOp: _constant}
