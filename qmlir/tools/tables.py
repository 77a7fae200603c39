"""Tables of rich as text: names in cells are text, whatever they look like to rich or to a terminal."""

import io
import shutil
from collections.abc import Collection, Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from qmlir.ir.diagnostics import printable


def cells(texts: Iterable[str]) -> list[str]:
    """The cells of a row, each one line."""
    return [*map(printable, texts)]


def simple_table(*columns: str, numbers: Collection[str] = (), title: str | None = None) -> Table:
    """An empty table with these columns, of which those in `numbers` are aligned to the right."""
    table = Table(box=box.SIMPLE, title=title, title_justify="left", title_style="")
    for column in columns:
        is_number = column in numbers
        table.add_column(column, justify="right" if is_number else "left", no_wrap=is_number)
    return table


def table_text(table: Table, *, is_terminal: bool, width: int = 120, is_styled: bool = False) -> str:
    """The lines of a table: as wide as the terminal, elsewhere at most `width`; in colours where it `is_styled`."""
    stream = io.StringIO()
    columns = shutil.get_terminal_size((width, 24)).columns if is_terminal else width
    console = Console(
        file=stream, width=columns, force_terminal=is_styled, highlight=False, markup=False, emoji=False
    )  # fmt: skip
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
