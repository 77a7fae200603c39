"""Budgets bound the growth of small inputs: one table, and the way to raise one.

Readers refuse numbers beyond their type. Budgets are for legal input that would take all memory or endless time: a
splat of a large shape, aliases of aliases, calls of calls.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from qmlir.ir.diagnostics import text_error, unknown


@dataclass(frozen=True)
class Budget:
    """A budget: its default, and what it counts."""

    default: int
    what: str


BUDGETS: Mapping[str, Budget] = {
    "splat-bytes": Budget(1 << 26, "bytes of all splat constants in a text (`dense<1>`)"),
    "alias-parts": Budget(1 << 16, "parts of one alias after expansion"),
    "text-parts": Budget(1 << 23, "parts of all aliases, expanded at every use"),
    "affine-depth": Budget(100, "nested operations in an affine expression"),
    "inlined-operations": Budget(200_000, "operations that `inline` creates"),
    "arena-bytes": Budget(1 << 33, "bytes of the arena of a compiled program"),
    "window-elements": Budget(1 << 20, "elements of one window of a convolution or a pool"),
    "value-bytes": Budget(1 << 30, "bytes of one value in the interpreter"),
    "packed-bytes": Budget(1 << 28, "bytes of an array that its file stores in less than 1/200 of its size"),
    "interpreted-operations": Budget(100_000_000, "operations that one run of the interpreter executes"),
}
"""Every budget by name."""

_given: ContextVar[Mapping[str, int] | None] = ContextVar("qmlir_budgets", default=None)


def budget(name: str) -> int:
    """The number of the budget `name`."""
    return (_given.get() or {}).get(name, BUDGETS[name].default)


def over(name: str, found: int | None = None) -> str:
    """The end of a message: what was found, that it is more than the budget `name`, and how to raise that."""
    size = "" if found is None else f"{found}, "
    return f"{size}over the limit of {budget(name)}; raise it with --limit {name}=N"


def out_of_memory(error: MemoryError) -> str:
    """The message of a failed allocation, which is not a fault of its caller."""
    text = " ".join(str(error).split())
    return f"out of memory: {text}" if text else "out of memory"


@contextmanager
def budgets(values: Mapping[str, int]) -> Generator[None]:
    """Inside the `with` block these budgets have other numbers. Raises `DiagnosticError` for what is not a budget."""
    for name, number in values.items():
        if name not in BUDGETS:
            raise text_error(unknown("budget", name, BUDGETS))
        if number < 0:
            raise text_error(f"budget '{name}' must be >= 0, but got {number}")
    token = _given.set({**(_given.get() or {}), **values})
    try:
        yield
    finally:
        _given.reset(token)
