"""Diagnostics as text: the line with its caret, and the comments that expect them."""

from qmlir.ir.diagnostics import Diagnostic, Severity, SourceLocation
from qmlir.text.diagnostics import ExpectedDiagnostics, render
from qmlir.text.sources import Chunk, split_source


def _error(line: int, column: int) -> Diagnostic:
    return Diagnostic(Severity.ERROR, "is wrong", SourceLocation("model.mlir", line, column))


def test_the_caret_stands_under_the_column_behind_tabs_too() -> None:
    assert render(_error(2, 4), "first\n\ta\tb\r\n") == "model.mlir:2:4: error: is wrong\n  \ta\tb\n  \t \t^\n"


def test_only_a_line_of_the_named_file_is_shown() -> None:
    said = "model.mlir:1:1: error: is wrong\n"
    assert render(_error(1, 1), "another text", 0, "input.mlir") == said
    assert render(_error(1, 1), "text", 0, "model.mlir") == f"{said}  text\n  ^\n"


def test_lines_end_at_newlines_alone() -> None:
    # Python's splitlines takes a form feed or U+2028 for the end of a line; MLIR's lexer does not.
    text = "a\f\u2028b\n// -----  \nc\n"
    assert split_source(text) == [Chunk("a\f\u2028b\n", 0), Chunk("c\n", 2)]
    assert render(_error(2, 1), text).splitlines()[1] == "  // -----  "


def test_a_malformed_expression_is_a_mismatch() -> None:
    expected = ExpectedDiagnostics.scan("plain\n// expected-error-re {{ {{(}} }}\n")
    (problem,) = expected.mismatches([], "model.mlir")
    assert problem.startswith("model.mlir:2: error: no regular expression: missing )")
