"""Runs programs compiled by numba on a team of threads (see `team`), and synchronizes the threads inside kernels."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from numba import types

from ..program import places_of
from ..semantics.values import I1, I64, PTR, IRValue, Type
from ..team import TeamRunner, new_words
from ..team_code import ALONE, BEGIN, END, FINISHED, TAKEN, provide_team, shared_symbol
from . import kernels
from .declare import Emission, Lowering, operation
from .kernels import Kernel


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
        return None if result is None else emission.build.value(found)

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


class CompiledTogether:
    """Runs the steps of a program compiled by numba on several threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._steps: Kernel | None = None
        self._run = None if kernels.work.is_helper else TeamRunner(threads, *provide_team(), self)

    def __call__(self, steps: Any, *arrays: npt.NDArray[Any]) -> None:
        """Runs compiled `steps` on the team; a Python function runs on the calling thread."""
        if self._run is not None and isinstance(steps, Kernel):
            self._steps = steps  # the team keeps this object, and so the code, alive
            self._run(steps.address, *arrays)
        else:
            steps(new_words(1), 0, places_of(arrays))


def together(digest: str, threads: int) -> CompiledTogether:
    """Returns the runner of a program's steps on `threads` threads; it takes the steps and their arrays."""
    return CompiledTogether(threads)
