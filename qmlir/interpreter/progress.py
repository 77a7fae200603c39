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


FIRST_CALL_SECONDS = 2.0
"""After so many seconds of compiling in a call of a program, a warning says what takes the time."""


def is_slow(started: float) -> bool:
    """Return `True` if a call that began to compile at `started` (of the monotonic clock) has to say so."""
    return time.monotonic() - started > FIRST_CALL_SECONDS


class _Lines:
    """An `Advance` that writes a line now and then, for logs and pipes.

    The time left is by the rate since the line before, at first since the first step, which may compile. None is shown
    while the rate is unknown, and no total that turns out to be too small: some data tell only about how many they are.
    """

    def __init__(self, what: str, total: int | None, stream: IO[str], clock: Callable[[], float]) -> None:
        self._what, self._total, self._stream, self._clock = what, total, stream, clock
        self._done = 0
        self._begun = self._told = clock()
        self._before: tuple[float, int] | None = None
        """When the rate is counted from, and how much was done then."""

    def __call__(self, done: int = 1, /) -> None:
        self._done += done
        now = self._clock()
        self._before = self._before or (now, self._done)
        self._tell(now, self._total, "")

    def at(self, done: int, total: int, doing: str) -> None:
        self._done = done
        self._before = self._before or (self._begun, 0)
        self._tell(self._clock(), total, doing)

    def _tell(self, now: float, total: int | None, doing: str) -> None:
        if now - self._told < SECONDS:
            return
        self._told = now
        text = f"{self._what}: {self._done}"
        is_known = total is not None and self._done <= total
        if is_known:
            text += f" of {total}"
        text += f" in {time_text(now - self._begun)}"
        since, before = self._before or (now, self._done)
        if total is not None and is_known and self._done > before and now > since:
            text += f", about {time_text((now - since) * (total - self._done) / (self._done - before))} left"
            self._before = now, self._done
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
