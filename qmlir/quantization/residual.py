"""Residual streams: what many layers add to, each a little, and what their norms read.

A transformer's stream is a sum that never gets smaller, beside which the addends of one layer are small: in 8 bits
they are lost, layer after layer. A norm divides each row by its own spread, so a stream is what goes into a norm of
rows through additions, and what the norms of one hand to the next addition.
"""

from collections.abc import Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.retyping import is_float


def computed_operands(op: Quantizable) -> list[SSAValue]:
    """The operands of `op` that are computed, not constants."""
    return [
        value
        for value, slot in op.operands_with_slots()
        if slot is not None and is_float(value) and constant_array(value) is None
    ]


def residual_values(function: FuncOp) -> Set[SSAValue]:
    """The values of `function` on a residual stream.

    Those are the sums that norms of rows read, where they add two values that are computed; what they add, but for
    sums of products, which are exact before they are added; and what is moved or shifted by a constant in between.
    """
    found: set[SSAValue] = set()
    norms = [op for op in function.walk() if isinstance(op, Quantizable) and op.quantization_slots().normalizes_rows]
    todo = [op.operands[0] for op in norms if _adds_up(op.operands[0])]
    while todo:
        value = todo.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if isinstance(owner, Quantizable) and is_passed_on(owner):
            todo += computed_operands(owner)
    return {value for value in found if isinstance(value.owner, Operation)}


def residual_results(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose result lies on a residual stream."""
    return {value.owner for value in residual_values(function) if isinstance(value.owner, Operation)}


def is_passed_on(op: Quantizable) -> bool:
    """Whether `op` only adds or moves: what it takes lies on the residual stream that its result lies on."""
    slots = op.quantization_slots()
    return slots.takes_accumulators or slots.shares_parameters


def _adds_up(value: SSAValue) -> bool:
    """Whether `value` is a sum of two values that are computed, which a constant may have been added to."""
    while isinstance(op := value.owner, Quantizable) and is_passed_on(op):
        data = computed_operands(op)
        if op.quantization_slots().takes_accumulators and len(data) > 1:
            return True
        if len(data) != 1:
            return False
        (value,) = data
    return False
