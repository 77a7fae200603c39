"""Resource limits for untrusted or pathological input: the table of limits, and how to override them.

These limits apply to legal input that would exhaust memory or time, such as a splat of a large shape, or deeply nested
aliases or calls. Numbers that overflow their type are rejected by readers instead.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from qmlir.ir.messages import text_error, unknown


@dataclass(frozen=True)
class Budget:
    """A resource limit: its default value, and a description of the resource that it limits."""

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
"""The resource limits by name."""

_given: ContextVar[Mapping[str, int] | None] = ContextVar("qmlir_budgets", default=None)


def budget(name: str) -> int:
    """Returns the current value of the limit `name`."""
    return (_given.get() or {}).get(name, BUDGETS[name].default)


def over(name: str, found: int | None = None) -> str:
    """Returns the end of an error message about the exceeded limit `name`.

    It names the actual value (if given), the limit, and the option that raises the limit.
    """
    size = "" if found is None else f"{found}, "
    return f"{size}over the limit of {budget(name)}; raise it with --limit {name}=N"


def out_of_memory(error: MemoryError) -> str:
    """Returns the error message for a failed allocation, which is not the caller's mistake."""
    text = " ".join(str(error).split())
    return f"out of memory: {text}" if text else "out of memory"


@contextmanager
def budgets(values: Mapping[str, int]) -> Generator[None]:
    """Overrides limits inside the `with` block. Raises `DiagnosticError` for an unknown name or a negative number."""
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
