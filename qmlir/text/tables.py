"""Formats numbers, tables and results for users of the command line, Python prompts, and notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from markupsafe import escape

from qmlir.ir.messages import LINES, printable

# Numbers and tables as plain text, as in all output for readers.


def counted(count: int, what: str) -> str:
    """Returns a count with its noun: `1 layer`, `2 layers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def bytes_text(count: int) -> str:
    """Formats a number of bytes with a binary prefix, such as `97.5 KiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def number(count: int | None) -> str:
    """Formats a number with an SI prefix, such as `4.09 G`; an unknown number is `?`."""
    if count is None:
        return "?"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:.0f} {unit}"
    return str(count)


def aligned(rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> list[str]:
    """Formats the lines of a table with a header row; drops empty columns, and right-aligns columns in `right`."""
    rows = [[*map(printable, row)] for row in rows]
    head = rows[0]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    is_used = [any(row[column] for row in rows[1:]) for column in range(len(head))]
    lines: list[str] = []
    for row in rows:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name, used in zip(row, widths, head, is_used, strict=True)
            if used
        )
        lines.append("  ".join(cells).rstrip())
    return lines


# Displayed results: one text for the command line, a Python prompt, and a notebook.

MOST, LAST = 60, 12
"""The number of lines of a long text that a prompt shows, and the number of these that are taken from its end.

The most important lines of some texts come last.
"""


class Readable(ABC):
    """A result that displays itself as its text.

    Dataclasses must pass `repr=False`: their own `__repr__` would replace this one.
    """

    @abstractmethod
    def text(self) -> str:
        """Returns the text that the command line prints, as complete lines."""

    def __repr__(self) -> str:
        lines = printable(self.text(), LINES).splitlines()
        if len(lines) > MOST:
            left_out = f"… {len(lines) - MOST} more lines, which print(….text()) shows"
            lines = [*lines[: MOST - LAST], left_out, *lines[-LAST:]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
