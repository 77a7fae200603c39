"""Numbers that a pass tells of its run: `count("operations erased", 3)` inside a pass, collected by the manager."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[Counter[str] | None] = ContextVar("qmlir_pass_statistics", default=None)


def count(what: str, number: int = 1) -> None:
    """Add `number` to the statistic `what` of the pass that runs now; nothing happens outside a pass manager."""
    counter = _current.get()
    if counter is not None and number:
        counter[what] += number


@contextmanager
def collected() -> Generator[Counter[str]]:
    """Collect what is counted inside the `with` block."""
    counter: Counter[str] = Counter()
    token = _current.set(counter)
    try:
        yield counter
    finally:
        _current.reset(token)
