"""Evaluation of constants, which returns their stored elements."""

from collections.abc import Callable

from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp


def _constant(op: ConstantOp) -> tuple[Array]:
    return (op.array,)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {ConstantOp: _constant}
