"""The progress of a long run: a bar with rate and remaining time on a terminal, nothing elsewhere.

    with bar("profiling", 512, session.progress) as advance:
        advance(32)

Everything that takes `progress: IO[str] | None` hands it to `bar`. rich is loaded only for a terminal.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, Protocol

from qmlir import interpreter


class Advance(Protocol):
    """Told how far a run has come."""

    def __call__(self, done: int = 1, /) -> None:
        """So many more were done."""
        ...

    def at(self, done: int, total: int, doing: str) -> None:
        """So many of `total` are done, and now comes what `doing` names."""
        ...


class _Silent:
    """An `Advance` without output."""

    def __call__(self, done: int = 1, /) -> None:
        pass

    def at(self, done: int, total: int, doing: str) -> None:
        pass


@contextmanager
def bar(what: str, total: int | None, stream: IO[str] | None) -> Generator[Advance]:
    """A bar on `stream` inside the `with` block, where that is a terminal; it goes when the block ends.

    `total` is the amount of work, `None` if it is unknown: then the bar appears with the first finished item.
    """
    if stream is None or not stream.isatty():
        yield _Silent()
        return
    with interpreter.TerminalBar(what, total, stream) as shown:
        yield shown
