"""Places in a text: lines and columns of positions, and strings that have no end."""

import re
from bisect import bisect_right

from qmlir.ir.diagnostics import SourceLocation, text_error

_PLAIN = r'[^"\\\n\v\f]*'
_ESCAPE = r'\\(?:["nt\\]|[0-9A-Fa-f]{2})'
_COMMENT_OR_STRING = re.compile(rf'//[^\n]*|"{_PLAIN}(?:{_ESCAPE}{_PLAIN})*(?P<end>"?)|(?P<metadata>{{-#)')


class LineTable:
    """Finds the line and column of a position in `source`, which begins `line_offset` lines into `filename`."""

    def __init__(self, source: str, filename: str, line_offset: int):
        self.filename = filename
        self._line_offset = line_offset
        self._starts = [0, *(found.end() for found in re.finditer("\n", source))]

    def position(self, line: int, column: int) -> int:
        """The position of a line and column, both counted from 1; the last one where the text ends before."""
        starts = self._starts
        return starts[min(line - self._line_offset, len(starts)) - 1] + column - 1

    def place(self, position: int) -> SourceLocation:
        """The line and column of a position in the text, both counted from 1."""
        line = bisect_right(self._starts, position)
        column = position - self._starts[line - 1] + 1
        return SourceLocation(self.filename, line + self._line_offset, column)


def check_strings(source: str, lines: LineTable) -> None:
    """Refuse a string literal without an end or with a wrong escape: xDSL's lexer takes exponential time for them."""
    for found in _COMMENT_OR_STRING.finditer(source):
        if found[0].startswith('"') and not found["end"]:
            raise text_error("unterminated string literal or unknown escape", lines.place(found.start()))


def metadata_position(source: str) -> int | None:
    """Where the file metadata of a text, `{-# … #-}`, begins; `None` if it has none. Strings are checked before."""
    return next((found.start() for found in _COMMENT_OR_STRING.finditer(source) if found["metadata"]), None)
