"""What a root or a logarithm reads: near 0, these tell apart what 8 bits make one code.

A root that has steps of `R / 2^8` up to `R` reads squares of `(R / 2^8)^2` up to `R^2`: 16 bits, and not fewer, hold
what it tells apart. So it is with the magnitude of a spectrum, `sqrt(re^2 + im^2)`, with a variance, and with the
logarithm of an energy. What is squared for a root is as fine as the root, which is rounded once more: it has 16 bits,
too. Something that is divided by such a root needs it as finely as its operand.
"""

from collections.abc import Iterator, Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.ops.activations import ReluOp
from qmlir.dialects.nn.ops.elementwise import (
    AddOp,
    ClipOp,
    DivOp,
    LogOp,
    MaxOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    SqrtOp,
    SubOp,
)
from qmlir.dialects.nn.ops.reduction import ReduceMeanOp, ReduceSumOp
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.residual import computed_operands, is_passed_on

_LINEAR = (AddOp, SubOp, MaxOp, ClipOp, ReluOp, ReduceSumOp, ReduceMeanOp)
"""A step of the result is a step of the operands."""


def read_by_roots(function: FuncOp) -> Set[Operation]:
    """What computes the operands of roots and logarithms in `function`, from products on, and roots that divide."""
    roots = [op for op in function.walk() if isinstance(op, SqrtOp | LogOp)]
    found: set[Operation] = {op for op in roots if isinstance(op, SqrtOp) and any(_divides(op.result))}
    todo: list[SSAValue] = [op.input for op in roots]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        found.add(op)
        operands = computed_operands(op)
        is_scaled_or_squared = isinstance(op, MulOp | PowOp) and len(set(operands)) == 1
        if isinstance(op, _LINEAR) or is_passed_on(op) or is_scaled_or_squared:
            todo += operands
    return found


def _divides(value: SSAValue) -> Iterator[bool]:
    """Whether users divide by `value`, also where it is moved before."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ReciprocalOp) or (isinstance(user, DivOp) and use.index == 1):
            yield True
        elif isinstance(user, Quantizable) and is_passed_on(user):
            yield from _divides(user.results[0])
