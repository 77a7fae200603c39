"""Results that are read: one text for the command line, a prompt of Python, and a notebook."""

from abc import ABC, abstractmethod

from markupsafe import escape

from qmlir.ir.diagnostics import LINES, printable

MOST, LAST = 60, 12
"""The lines that a prompt shows of a long text, and how many of them are its last: some texts end with what counts."""


class Readable(ABC):
    """A result that shows itself as its text.

    A dataclass says `repr=False`: its own `__repr__` would take the place of this one.
    """

    @abstractmethod
    def text(self) -> str:
        """For a reader: lines, each with its end. The command line prints them."""

    def __repr__(self) -> str:
        lines = printable(self.text(), LINES).splitlines()
        if len(lines) > MOST:
            left_out = f"… {len(lines) - MOST} more lines, which print(….text()) shows"
            lines = [*lines[: MOST - LAST], left_out, *lines[-LAST:]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
