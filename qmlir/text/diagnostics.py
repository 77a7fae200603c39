"""Renders diagnostics, converts source locations, and checks the diagnostics that a test file expects."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from qmlir import text
from qmlir.ir.messages import Diagnostic, Severity, SourceLocation, printable, text_error

# Source locations: lines and columns of positions, and detection of unterminated strings.

_PLAIN = r'[^"\\\n\v\f]*'
_ESCAPE = r'\\(?:["nt\\]|[0-9A-Fa-f]{2})'
_COMMENT_OR_STRING = re.compile(rf'//[^\n]*|"{_PLAIN}(?:{_ESCAPE}{_PLAIN})*(?P<end>"?)|(?P<metadata>{{-#)')


class LineTable:
    """Converts between positions in `source` and line numbers; `source` begins `line_offset` lines into `filename`."""

    def __init__(self, source: str, filename: str, line_offset: int):
        self.filename = filename
        self._line_offset = line_offset
        self._starts = [0, *(found.end() for found in re.finditer("\n", source))]

    def position(self, line: int, column: int) -> int:
        """Returns the position of a line and column, both counted from 1; the line is clamped to the last line."""
        starts = self._starts
        return starts[min(line - self._line_offset, len(starts)) - 1] + column - 1

    def location(self, position: int) -> SourceLocation:
        """Returns the line and column of a position in the text, both counted from 1."""
        line = bisect_right(self._starts, position)
        column = position - self._starts[line - 1] + 1
        return SourceLocation(self.filename, line + self._line_offset, column)


def check_strings(source: str, lines: LineTable) -> None:
    """Raises an error for an unterminated string or an invalid escape; xDSL's lexer takes exponential time for them."""
    for found in _COMMENT_OR_STRING.finditer(source):
        if found[0].startswith('"') and not found["end"]:
            raise text_error("unterminated string literal or unknown escape", lines.location(found.start()))


def metadata_position(source: str) -> int | None:
    """Returns the position of the file metadata `{-# … #-}`; `None` if there is none. Strings must have been
    checked."""
    return next((found.start() for found in _COMMENT_OR_STRING.finditer(source) if found["metadata"]), None)


# Rendering of diagnostics, and the check of those that a test file expects.
#
# `expected-error {{…}}` (also `-warning`, `-remark`, `-note`, and `-re` for a regular expression in `{{…}}` parts)
# is in a comment on the line of the diagnostic, or `@+N`, `@-N`, `@above`, `@below` lines from it;
# `@unknown` matches a diagnostic without a location. Upstream MLIR's `--verify-diagnostics` reads the same comments.

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>[-+]\d+|above|below|unknown))?\s*(?P<count>\d+)?\s*\{\{(?P<text>.*)\}\}"
)
_SHOWN_WIDTH = 200
_REGEX_PART = re.compile(r"\{\{(.*?)\}\}")


def render(diagnostic: Diagnostic, source: str | None = None, line_offset: int = 0, filename: str | None = None) -> str:
    """Renders `file:line:col: error: message`, then the line with a caret, or a few lines of IR around the operation.

    `source` is the text of `filename` after its first `line_offset` lines; without a name, it is assumed to be the text
    that the diagnostic refers to.
    """
    lines = [str(diagnostic), *_shown(diagnostic, source, line_offset, filename)]
    for note in diagnostic.notes:
        lines += [str(note), *_shown(note, source, line_offset, filename)]
    return "\n".join(lines) + "\n"


def _shown(diagnostic: Diagnostic, source: str | None, line_offset: int, filename: str | None) -> Sequence[str]:
    location, shown = diagnostic.location, None
    if source is not None and location is not None and filename in (None, location.file):
        shown = _source_line(source, location.line - line_offset)
    if shown is not None and location is not None:
        before = shown[: location.column - 1].ljust(location.column - 1)
        return [f"  {shown}", "  " + re.sub(r"[^\t]", " ", before) + "^"]
    is_excerpted = diagnostic.op is not None and diagnostic.severity is not Severity.NOTE
    return [text.op_excerpt(diagnostic.op)] if is_excerpted and diagnostic.op is not None else ()


def _source_line(source: str, number: int) -> str | None:
    lines = source.split("\n")
    if not 1 <= number <= len(lines) or len(lines[number - 1]) > _SHOWN_WIDTH:
        return None
    return printable(lines[number - 1].rstrip("\r"), "\t")


@dataclass
class Expectation:
    """An `expected-…` comment: a diagnostic that must occur `count` times at `line` (`None`: no location)."""

    severity: Severity
    pattern: re.Pattern[str]
    line: int | None
    count: int
    written: str


def _pattern(text: str, is_regex: bool) -> re.Pattern[str]:
    if not is_regex:
        return re.compile(re.escape(text))
    parts = _REGEX_PART.split(text)
    return re.compile("".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts)))


def _target_line(where: str | None, line: int, others: Sequence[int]) -> int | None:
    match where:
        case None:
            return line
        case "unknown":
            return None
        case "above":
            return max((other for other in others if other < line), default=line - 1)
        case "below":
            return min((other for other in others if other > line), default=line + 1)
        case _:
            return line + int(where)


@dataclass
class ExpectedDiagnostics:
    """The diagnostics that a text expects, and by line the comments that contain an invalid regular expression."""

    expectations: list[Expectation] = field(default_factory=list[Expectation])
    malformed: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @staticmethod
    def scan(text: str, line_offset: int = 0) -> "ExpectedDiagnostics":
        """Finds the `expected-…` comments of a chunk that starts `line_offset` lines into its file."""
        lines = text.split("\n")
        found = [(number, _EXPECTED.search(line)) for number, line in enumerate(lines, start=1 + line_offset)]
        # `@above` and `@below` skip lines that contain only an expectation.
        plain = [
            number
            for number, match in found
            if match is None or not lines[number - 1 - line_offset].lstrip().startswith("//")
        ]
        expected = ExpectedDiagnostics()
        for number, match in found:
            if match is None:
                continue
            try:
                pattern = _pattern(match["text"], match["regex"] is not None)
            except re.error as error:
                expected.malformed.append((number, f"{error}: {match[0]}"))
                continue
            line = _target_line(match["where"], number, plain)
            expected.expectations.append(
                Expectation(Severity(match["severity"]), pattern, line, int(match["count"] or 1), match[0])
            )
        return expected

    def mismatches(self, diagnostics: Sequence[Diagnostic], filename: str) -> list[str]:
        """Returns messages about unexpected and missing diagnostics; empty if all expectations are met."""
        problems = [
            f"{filename}:{line}: error: no regular expression: {complaint}" for line, complaint in self.malformed
        ]
        left = [expectation.count for expectation in self.expectations]
        for diagnostic in (each for whole in diagnostics for each in (whole, *whole.notes)):
            line = diagnostic.location.line if diagnostic.location else None
            for index, expectation in enumerate(self.expectations):
                if (
                    left[index]
                    and expectation.line == line
                    and expectation.severity is diagnostic.severity
                    and expectation.pattern.search(diagnostic.message)
                ):
                    left[index] -= 1
                    break
            else:
                problems.append(f"{filename}: unexpected {diagnostic}")
        for expectation, count in zip(self.expectations, left, strict=True):
            if count:
                prefix = f"{filename}:{expectation.line}" if expectation.line else filename
                problems.append(f"{prefix}: error: {expectation.severity} was not produced: {expectation.written}")
        return problems
