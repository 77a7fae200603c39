"""The progress of a long run: a bar with rate and remaining time on a terminal, a line every ten seconds elsewhere.

    with bar("profiling", 512, session.progress) as advance:
        advance(32)

Everything that takes `progress: IO[str] | None` hands it to `bar`. rich is loaded only for a terminal.
"""

import time
from collections.abc import Callable, Generator
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


SECONDS = 10.0
"""The time between two lines of a run that no terminal shows."""


class _Lines:
    """An `Advance` that writes a line now and then, for logs and pipes."""

    def __init__(self, what: str, total: int | None, stream: IO[str], clock: Callable[[], float]) -> None:
        self._what, self._total, self._stream, self._clock = what, total, stream, clock
        self._done = 0
        self._begun = self._told = clock()

    def __call__(self, done: int = 1, /) -> None:
        self._done += done
        self._tell(self._total, "")

    def at(self, done: int, total: int, doing: str) -> None:
        self._done = done
        self._tell(total, doing)

    def _tell(self, total: int | None, doing: str) -> None:
        now = self._clock()
        if now - self._told < SECONDS:
            return
        self._told = now
        taken = now - self._begun
        text = f"{self._what}: {self._done}"
        if total:
            text += f" of {total}"
        text += f" in {time_text(taken)}"
        if total and self._done:
            text += f", about {time_text(taken * max(total - self._done, 0) / self._done)} left"
        self._stream.write(f"{text}{f', {doing}' if doing else ''}\n")
        self._stream.flush()


def time_text(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def bar(
    what: str, total: int | None, stream: IO[str] | None, clock: Callable[[], float] = time.monotonic
) -> Generator[Advance]:
    """A bar on `stream` inside the `with` block, where that is a terminal; it goes when the block ends.

    Any other stream gets a line every ten seconds. `total` is the amount of work, `None` if it is unknown: then the bar
    appears with the first finished item.
    """
    if stream is None:
        yield _Silent()
        return
    if not stream.isatty():
        yield _Lines(what, total, stream, clock)
        return
    with interpreter.TerminalBar(what, total, stream) as shown:
        yield shown
