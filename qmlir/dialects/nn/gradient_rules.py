"""Building blocks of gradient rules, which add operations after those of the forward pass.

A rule is a function `(at, op, *gradients)`. It takes the gradients of the results of `op`, where `None` stands for the
gradient of an unused result (an operation with one result always has its gradient). It returns the gradient of each
operand; `None` means that it is 0 everywhere. The gradient of a value has the shape and the plain element type of the
value.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast, overload

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import Kind, kind_of, plain_type, shapes_agree
from qmlir.dialects.nn.terms import Expr, InsertionBuilder
from qmlir.ir.builtin_types import element_of, ranked_tensor, shape_of
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.registry import Hook
from qmlir.registry.faults import RAISED, one_line

Gradients = Sequence[SSAValue | None]
Rule = Callable[..., Gradients]
"""A gradient rule `rule(at, op, *gradients)`; see the module docstring."""


@dataclass(frozen=True)
class Backward(InsertionBuilder):
    """Adds the gradient operations of `op`; their origins are those of `op` with the role `gradient`."""

    ROLE: ClassVar[str] = "gradient"

    wanted: Container[SSAValue] = ()
    """The values whose gradients are needed."""

    def error(self, message: str) -> DiagnosticError:
        return op_error(self.op, f"cannot be differentiated: {message}")

    def reduced(self, gradient: SSAValue, operand: SSAValue, others: Sequence[Sequence[int]] = ()) -> SSAValue:
        """Sums `gradient` over the axes along which `operand` was broadcast together with operands of shapes `others`.

        Raises `DiagnosticError` if these axes depend on a dynamic size.
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
            # A full sum is a single chain of additions; sums over channels first are independent of each other.
            kept = 1 if len(wide) > 3 else len(wide) - 1
            gradient = self.sum(gradient, [axis for axis in summed if axis != kept], keep_dims=True)
            summed = [kept]
        return self.squeezed(self.sum(gradient, summed, keep_dims=True), range(added))


Terms = Expr | tuple[Expr | None, ...]


@overload
def formula(function: Callable[[Expr, Expr, Expr], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Expr, Expr, Expr, Expr], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Expr, Expr, Expr, Expr, Expr], Terms]) -> Rule: ...
@overload
def formula(function: Callable[[Expr, Expr, Expr, float], Terms], name: str, /) -> Rule: ...
@overload
def formula(function: Callable[[Expr, Expr, Expr, float, float], Terms], name: str, other: str, /) -> Rule: ...
def formula(function: Callable[..., Terms], *properties: str) -> Rule:
    """Returns the rule of an elementwise operation that `function(g, *operands, result, *numbers)` defines on terms.

    `g` is the gradient of the result, and the function returns the gradients of the operands. The numbers are the
    values of the given `properties`. Operands may have been broadcast.
    """

    def rule(at: Backward, op: Operation, gradient: SSAValue) -> Gradients:
        values = (gradient, *op.operands, op.results[0])
        numbers = (getattr(op, name).value.data for name in properties)
        given = function(*(Expr(at, value) for value in values), *numbers)
        parts = given if isinstance(given, tuple) else (given,)
        sizes = [shape_of(operand) for operand in op.operands]
        return [
            None if part is None else at.reduced(part.value, operand, sizes[:position] + sizes[position + 1 :])
            for position, (operand, part) in enumerate(zip(op.operands, parts, strict=True))
        ]

    return rule


def nothing(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
    """The rule of a piecewise constant operation, whose gradients are all 0."""
    return [None] * len(op.operands)


def refusing(reason: str) -> Rule:
    """Returns the rule of an operation that cannot be differentiated: it raises an error with the given reason."""

    def refuse(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
        raise at.error(reason)

    return refuse


def first_only(rule: Callable[..., SSAValue]) -> Rule:
    """Returns the rule of an operation of which only the first operand has a gradient: `rule(at, op, *gradients)`."""

    def padded(at: Backward, op: Operation, *gradients: SSAValue | None) -> Gradients:
        return [rule(at, op, *gradients), *[None] * (len(op.operands) - 1)]

    return padded


def is_differentiable(value: SSAValue) -> bool:
    """Returns whether a value is a tensor of arithmetic floats."""
    return ranked_tensor(value.type) is not None and kind_of(element_of(value)) is Kind.FLOAT


def guarded_rule(hook: Hook) -> Rule:
    """Wraps a package's rule to check its gradients: one for each operand, of the operand's shape and element type."""

    def guarded(at: Backward, op: Operation, *given: SSAValue | None) -> Gradients:
        def wrong(message: str, error: BaseException | None = None) -> DiagnosticError:
            return op_error(op, f"cannot be differentiated: its gradient rule {message}{hook.at(error)}")

        try:
            found = cast(object, hook.function(at, op, *given))
        except DiagnosticError:
            raise
        except RAISED as error:  # a package may raise anything
            raise wrong(f"raises {one_line(error)}", error) from error
        if not isinstance(found, Sequence):
            raise wrong(f"must return a list of gradients, but returned a value of type {type(found).__name__}")
        gradients = cast(Gradients, found)
        if len(gradients) != len(op.operands):
            raise wrong(f"must return {len(op.operands)} gradients (one per operand), but returned {len(gradients)}")
        for position, (gradient, operand) in enumerate(zip(gradients, op.operands, strict=True)):
            if gradient is None:
                continue
            if not isinstance(gradient, SSAValue):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise wrong(
                    f"must return a value or None for operand {position}, but returned a {type(gradient).__name__}"
                )
            wanted, type_ = ranked_tensor(operand.type), ranked_tensor(gradient.type)
            if not is_differentiable(operand) or wanted is None:  # it is not asked for
                continue
            is_alike = type_ is not None and plain_type(type_.element_type) == plain_type(wanted.element_type)
            if type_ is None or not is_alike or not shapes_agree(type_.get_shape(), wanted.get_shape()):
                raise wrong(
                    f"must return a gradient of type '{operand.type}' for operand {position}, but returned "
                    f"'{gradient.type}'"
                )
            if isinstance(owner := gradient.owner, Operation) and owner.parent is None:
                raise wrong(
                    f"returned the result of '{owner.name}' for operand {position} without adding that operation"
                )
        return gradients

    return guarded
