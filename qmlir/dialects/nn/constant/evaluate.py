"""Evaluation of constants, which returns their stored elements."""

from collections.abc import Callable

from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.evaluation import ByOperation


def _constant(_: ConstantOp) -> Callable[..., tuple[Array]]:
    """Returns an evaluator that keeps the array until the constant changes: a run may repeat it often."""
    known: tuple[Attribute, Attribute, tuple[Array]] | None = None

    def evaluator(op: ConstantOp) -> tuple[Array]:
        nonlocal known
        if known is None or known[0] is not op.value or known[1] is not op.result.type:
            known = op.value, op.result.type, (op.array,)
        return known[2]

    return evaluator


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {ConstantOp: ByOperation(_constant)}
