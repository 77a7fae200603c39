"""The bar of a long run, on a terminal; nothing elsewhere."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from qmlir.interpreter.profiling import Advance


@contextmanager
def bar(what: str, total: int | None, stream: IO[str]) -> Generator[Advance]:
    """A bar on `stream` inside the `with` block; what it gives is called with the number of samples that were done."""
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task(what, total=total)

        def advance(samples: int) -> None:
            progress.advance(task, samples)

        yield advance
