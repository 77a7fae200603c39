"""Operations that synchronize the threads of a team inside kernels: calls of functions of `team_code`."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from typing import Any

from numba import types

from ..semantics.values import I1, I64, PTR, IRValue, Type
from ..team_code import ALONE, BEGIN, END, FINISHED, TAKEN, shared_symbol
from .declare import Emission, Lowering, operation


def _giving(result: Any) -> Callable[..., Any]:
    """Returns the typing of an operation that takes a team and integers and returns `result`."""

    def typed(team: Any, *numbers: Any) -> Any:
        is_team = isinstance(team, types.Array) and team.dtype == types.int64
        return result if is_team and all(isinstance(each, types.Integer) for each in numbers) else None

    return typed


def _calling(name: str, result: Type | None) -> Lowering:
    def lower(emission: Emission, team: Any, *numbers: Any) -> Any:
        operands = [IRValue(PTR, emission.data(0, team))]
        operands += [emission.register(1 + position, number) for position, number in enumerate(numbers)]
        found = emission.build.call(shared_symbol(name), result, operands)
        return emission.nothing() if result is None else emission.build.value(found)

    return lower


OPERATIONS: dict[str, Any] = {
    name: operation(name, _giving(kind), _calling(name, result))
    for name, kind, result in (
        (TAKEN, types.int64, I64),
        (BEGIN, types.int64, I64),
        (END, types.int64, I64),
        (ALONE, types.boolean, I1),
        (FINISHED, types.void, None),
    )
}
"""The operations of this module by the names under which emitted code imports them."""
