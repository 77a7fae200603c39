"""What a root or a logarithm reads: near 0, these tell apart what 8 bits make one code.

A root that has steps of `R / 2^8` up to `R` reads squares of `(R / 2^8)^2` up to `R^2`: 16 bits, and not fewer, hold
what it tells apart. So it is with the magnitude of a spectrum, `sqrt(re^2 + im^2)`, with a variance, and with the
logarithm of an energy. What is squared for a root is as fine as the root, which is rounded once more: it has 16 bits,
too, and its squares twice as many. Something that is divided by such a root needs it as finely as its operand. Products
of values that are never negative, such as the bands of a mel spectrum, cancel nothing: what they sum is as fine.
"""

from collections.abc import Iterator, Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
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
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.quantization.observed import observed
from qmlir.quantization.residual import computed_operands, is_passed_on
from qmlir.quantization.retyping import slots_of

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
        is_scaled_or_squared = isinstance(op, MulOp | PowOp) and len(set(operands)) == 1  # the root of both is linear
        if isinstance(op, _LINEAR) or is_passed_on(op) or is_scaled_or_squared or adds_up_positive(op):
            todo += operands
    return found


def adds_up_positive(op: Quantizable) -> bool:
    """Whether `op` sums products of values of which none was negative.

    Nothing cancels, so its result tells apart what its data tells apart: the bands of a spectrum.
    """
    return isinstance(op, MultipliesAndAdds) and all(
        (array >= 0).all() if (array := constant_array(op.operands[place])) is not None else _is_positive(place, op)
        for place, slot in slots_of(op).items()
        if slot is not Slot.BIAS
    )


def _is_positive(place: int, op: Operation) -> bool:
    seen = observed(op.operands[place])
    return seen is not None and seen.minimum >= 0


def squares_for_roots(function: FuncOp) -> Set[Operation]:
    """What squares for a root or a logarithm in `function`, and what adds squares up before it.

    Sums along an axis are none of these: codes of 32 bits leave no room for them in 32 bits.
    """
    rooted, found = read_by_roots(function), set[Operation]()
    for op in function.walk():
        if op not in rooted or not isinstance(op, Quantizable) or isinstance(op, SqrtOp):
            continue
        operands = computed_operands(op)
        is_of_squares = _is_square(op, operands) or any(operand.owner in found for operand in operands)
        users = {use.operation for result in op.results for use in result.uses}
        sums = (ReduceSumOp, ReduceMeanOp, MultipliesAndAdds)
        if is_of_squares and not any(isinstance(user, sums) for user in (op, *users)):
            found.add(op)
    return found


def _is_square(op: Operation, computed: list[SSAValue]) -> bool:
    """Whether `op` is `x * x`, or a power of `x`."""
    return isinstance(op, PowOp) or (isinstance(op, MulOp) and len(computed) == 2 and len(set(computed)) == 1)


def _divides(value: SSAValue) -> Iterator[bool]:
    """Whether users divide by `value`, also where it is moved before."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ReciprocalOp) or (isinstance(user, DivOp) and use.index == 1):
            yield True
        elif isinstance(user, Quantizable) and is_passed_on(user):
            yield from _divides(user.results[0])
