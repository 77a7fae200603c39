"""What rules of gradients are made of: operations added after the forward ones.

A rule is a function `(at, op, *gradients)`. It takes the gradients of the results of `op`, `None` for a result that
nothing depends on (an operation of one result always has its gradient), and returns a gradient for each operand:
`None` for one that is 0 everywhere. The gradient of a value has its shape and its plain element type.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import ClassVar, overload

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.terms import Site, Term
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import DiagnosticError, op_error

Gradients = Sequence[SSAValue | None]
Rule = Callable[..., Gradients]
"""`rule(at, op, *gradients)`, see above."""


@dataclass(frozen=True)
class Backward(Site):
    """Adds the operations of the gradient of `op`, which stand for its nodes in the role `gradient`."""

    ROLE: ClassVar[str] = "gradient"

    wanted: Container[SSAValue] = ()
    """The values whose gradients are asked for."""

    def error(self, message: str) -> DiagnosticError:
        return op_error(self.op, f"cannot be differentiated: {message}")

    def reduced(self, gradient: SSAValue, operand: SSAValue, others: Sequence[Sequence[int]] = ()) -> SSAValue:
        """`gradient` summed where `operand` was broadcast, together with tensors of the shapes `others`.

        Raises `DiagnosticError` where that depends on an open size.
        """
        wide = shape_of(gradient)
        added = len(wide) - len(shape_of(operand))
        axes: list[int] = []
        for axis, size in enumerate(shape_of(operand), added):
            met = {other[axis - len(wide)] for other in others if axis - len(wide) >= -len(other)}
            if size == DYNAMIC_INDEX and met - {1}:
                raise self.error(
                    f"dimension {axis - added} of '{operand.type}' is dynamic, and it may be broadcast; fix the "
                    "input shapes with --shape"
                )
            if size == 1 and wide[axis] != 1:
                axes.append(axis)
        summed = [*range(added), *axes]
        if len(summed) == len(wide) > 1:
            # A sum of everything is one chain of additions; those of channels first are independent of each other.
            kept = 1 if len(wide) > 3 else len(wide) - 1
            gradient = self.sum(gradient, [axis for axis in summed if axis != kept], keep_dims=True)
            summed = [kept]
        return self.squeezed(self.sum(gradient, summed, keep_dims=True), range(added))


Terms = Term | tuple[Term | None, ...]


@overload
def formula(function: Callable[[Term, Term, Term], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Term, Term, Term, Term], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Term, Term, Term, Term, Term], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Term, Term, Term, float], Terms], name: str, /) -> Rule: ...
@overload
def formula(function: Callable[[Term, Term, Term, float, float], Terms], name: str, other: str, /) -> Rule: ...
def formula(function: Callable[..., Terms], *properties: str) -> Rule:
    """The rule of an elementwise operation by `function(g, *operands, result, *numbers)`, all but the last terms.

    `g` is the gradient of the result; the function gives that of the operand, or of each of several. Numbers are the
    values of `properties`. Operands may have been broadcast.
    """

    def rule(at: Backward, op: Operation, gradient: SSAValue) -> Gradients:
        values = (gradient, *op.operands, op.results[0])
        numbers = (getattr(op, name).value.data for name in properties)
        given = function(*(Term(at, value) for value in values), *numbers)
        parts = given if isinstance(given, tuple) else (given,)
        sizes = [shape_of(operand) for operand in op.operands]
        return [
            None if part is None else at.reduced(part.value, operand, sizes[:place] + sizes[place + 1 :])
            for place, (operand, part) in enumerate(zip(op.operands, parts, strict=True))
        ]

    return rule


def nothing(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
    """The rule of an operation whose results do not change where its operands do, but for jumps."""
    return [None] * len(op.operands)


def refusing(reason: str) -> Rule:
    """The rule of an operation that is not differentiated, and why."""

    def refuse(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
        raise at.error(reason)

    return refuse


def first_only(rule: Callable[..., SSAValue]) -> Rule:
    """The rule of an operation whose first operand alone has a gradient, which `rule(at, op, *gradients)` gives."""

    def padded(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
        return [rule(at, op, *gradients), *[None] * (len(op.operands) - 1)]

    return padded
