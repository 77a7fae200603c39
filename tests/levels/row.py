"""What a row of the table of operations is."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.levels.graph import Graph, RejectedError, Value

Make = Callable[[Graph, Value], Value]
"""Takes the graph and a value of it, and adds an operation on that value."""


@dataclass(frozen=True)
class Row:
    """One kind of operation."""

    name: str
    make: Make
    weight: float = 1.0


def need(condition: bool, what: str) -> None:
    """Raise `RejectedError` where a condition does not hold."""
    if not condition:
        raise RejectedError(what)
