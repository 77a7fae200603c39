"""Progress of long runs: a bar with rate and remaining time on a terminal; otherwise, a line every ten seconds.

    with bar("profiling", 512, session.progress) as advance:
        advance(32)

Functions with a parameter `progress: IO[str] | None` pass it to `bar`. rich is imported only for a terminal.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import IO, Protocol

from qmlir import interpreter


class Advance(Protocol):
    """A callback that reports progress."""

    def __call__(self, done: int = 1, /) -> None:
        """Reports that `done` more items are finished."""
        ...

    def at(self, done: int, total: int, doing: str) -> None:
        """Reports that `done` of `total` items are finished, and that the run is now `doing` something."""
        ...


class _Silent:
    """An `Advance` without output."""

    def __call__(self, done: int = 1, /) -> None:
        pass

    def at(self, done: int, total: int, doing: str) -> None:
        pass


SECONDS = 10.0
"""The time in seconds between two progress lines if the stream is not a terminal."""


FIRST_CALL_SECONDS = 2.0
"""The number of seconds of compilation in a program call after which a warning explains the delay."""


def is_slow(started: float) -> bool:
    """Returns True if a call that began to compile at `started` (monotonic clock) has to warn about the delay."""
    return time.monotonic() - started > FIRST_CALL_SECONDS


class _Lines:
    """An `Advance` that writes a line every `SECONDS` seconds, for logs and pipes.

    The remaining time is computed from the rate since the previous line. For the first line, the rate is measured from
    the end of the first step, since that step may compile. The remaining time is omitted while the rate is unknown. The
    total is omitted if it turns out to be too small, since some data only estimates its size.
    """

    def __init__(self, what: str, total: int | None, stream: IO[str], clock: Callable[[], float]) -> None:
        self._what, self._total, self._stream, self._clock = what, total, stream, clock
        self._done = 0
        self._begun = self._told = clock()
        self._before: tuple[float, int] | None = None
        """The time from which the rate is measured, and the number of items finished at that time."""

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
    """Formats a duration, such as `42 s`, `3 min 20 s` or `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def bar(
    what: str, total: int | None, stream: IO[str] | None, clock: Callable[[], float] = time.monotonic
) -> Generator[Advance]:
    """Shows a progress bar on `stream`, if it is a terminal, until the `with` block ends.

    Any other stream gets a line every ten seconds. `total` is the number of items, or `None` if it is unknown; the bar
    then appears only after the first item is finished.
    """
    if stream is None:
        yield _Silent()
        return
    if not stream.isatty():
        yield _Lines(what, total, stream, clock)
        return
    with interpreter.TerminalBar(what, total, stream) as shown:
        yield shown
