"""The progress bar on a terminal: finished and total items, rate, elapsed and remaining time."""

from types import TracebackType
from typing import IO

from rich import progress
from rich.console import Console
from rich.text import Text


class RateColumn(progress.ProgressColumn):
    """A column of the progress bar with the items per second, or the seconds per item if these are fewer than one."""

    def render(self, task: progress.Task) -> Text:
        return Text(rate_text(task.finished_speed or task.speed), style="progress.data.speed")


def rate_text(speed: float | None) -> str:
    """Formats a rate, such as `12.3/s`, or `4.0 s each` below one item per second; empty if unknown."""
    if not speed:
        return ""
    return f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each"


class TerminalBar:
    """An `Advance` that draws a bar. As a context manager, it removes the bar at the end."""

    def __init__(self, what: str, total: int | None, stream: IO[str]) -> None:
        columns = (
            progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(),
            RateColumn(), progress.TimeElapsedColumn(), progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[doing]}"),
        )  # fmt: skip
        # Other output isn't redirected: rich would print it above the bar, to the stream of the bar.
        self._progress = progress.Progress(
            *columns, console=Console(file=stream), transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._task = self._progress.add_task(what, total=total, doing="")
        self._total = total
        self._done = 0

    def __enter__(self) -> "TerminalBar":
        if self._total is not None:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def __call__(self, done: int = 1, /) -> None:
        self._progress.start()
        self._progress.advance(self._task, done)
        self._done += done
        if self._total is not None and self._done > self._total:  # the total was only an estimate
            self._total = None
            self._progress.update(self._task, total=None)

    def at(self, done: int, total: int, doing: str) -> None:
        """Reports that `done` of `total` items are finished, and that the run is now `doing` something."""
        self._progress.start()
        self._progress.update(self._task, completed=done, total=total, doing=doing)
