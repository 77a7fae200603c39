"""Parsing: xDSL's parser with locations on every operation, exact floats, weights, and one-line errors."""

import re
from bisect import bisect_right
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException

from qmlir.ir.diagnostics import DiagnosticError, SourceLocation, text_error
from qmlir.text.elements import float_bytes_of_literal
from qmlir.text.weights import ExternalWeightsAttr, WeightsError, WeightsReader

STDIN = "<stdin>"

_PLAIN = r'[^"\\\n\v\f]*'
_ESCAPE = r'\\(?:["nt\\]|[0-9A-Fa-f]{2})'
_COMMENT_OR_STRING = re.compile(rf'//[^\n]*|"{_PLAIN}(?:{_ESCAPE}{_PLAIN})*(?P<end>"?)')


class LineTable:
    """Finds the line and column of a position in `source`, which begins `line_offset` lines into `filename`."""

    def __init__(self, source: str, filename: str, line_offset: int):
        self.filename = filename
        self._line_offset = line_offset
        self._starts = [0, *(found.end() for found in re.finditer("\n", source))]

    def place(self, position: int) -> SourceLocation:
        """The line and column of a position in the text, both counted from 1."""
        line = bisect_right(self._starts, position)
        column = position - self._starts[line - 1] + 1
        return SourceLocation(self.filename, line + self._line_offset, column)


def _check_strings(source: str, lines: LineTable) -> None:
    """Refuse a string literal without an end or with a wrong escape: xDSL's lexer takes exponential time for them."""
    for found in _COMMENT_OR_STRING.finditer(source):
        if found[0].startswith('"') and not found["end"]:
            raise text_error("a string literal has no end, or an unknown escape", lines.place(found.start()))


class ModuleParser(Parser):
    """Parses one module; every operation gets its place, every weight its bytes."""

    def __init__(self, ctx: Context, source: str, lines: LineTable, directory: Path | None):
        super().__init__(ctx, source, lines.filename)
        self._lines = lines
        self._filename = StringAttr(lines.filename)
        self._weights = WeightsReader(directory)

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            place = self._lines.place(start)
            op.location = FileLineColLoc(self._filename, IntAttr(place.line), IntAttr(place.column))
        return op

    def parse_optional_attribute(self) -> Attribute | None:
        start = self.pos
        attribute = super().parse_optional_attribute()
        match attribute:
            case ExternalWeightsAttr() if not attribute.is_elided:
                try:
                    return self._weights.load(attribute)
                except WeightsError as error:
                    self.raise_error(str(error), start)
            case BytesAttr():
                # xDSL reads a string literal with escaped bytes as bytes: text of any language is a string.
                try:
                    return StringAttr(attribute.data.decode("utf-8"))
                except UnicodeDecodeError:
                    return attribute
            case _:
                return attribute

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr[Any]:
        start = self.pos
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        element = attribute.get_element_type()
        if isinstance(element, AnyFloat):
            literal = self.lexer.input.content[start + 1 : self.pos].partition(">")[0]
            data = float_bytes_of_literal(literal, element, len(attribute))
            if data is not None:
                return DenseIntOrFPElementsAttr(attribute.type, BytesAttr(data))
        return attribute


def parse_module(
    ctx: Context,
    source: str,
    filename: str = STDIN,
    *,
    line_offset: int = 0,
    directory: Path | None = None,
) -> ModuleOp:
    """Parse a module; large weights are read from the files in `directory` that the text names.

    Every operation gets its place in the text as location, unless the text gives another. Whatever is wrong with the
    text is a `DiagnosticError` with file, line and column.
    """
    lines = LineTable(source, filename, line_offset)
    _check_strings(source, lines)
    parser = None
    try:
        parser = ModuleParser(ctx, source, lines, directory)
        return parser.parse_module()
    except DiagnosticError:
        raise
    except ParseError as error:
        raise text_error(error.msg.strip(), lines.place(error.span.start)) from error
    except (DiagnosticException, UnregisteredConstructException, ValueError, OverflowError) as error:
        # Types and attributes verify while they are built, and xDSL's own readers let a ValueError through.
        raise text_error(_first_line(error), lines.place(parser.pos if parser else 0)) from error
    except RecursionError as error:
        raise text_error("the text is nested too deeply", lines.place(parser.pos if parser else 0)) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def load_module(ctx: Context, path: Path) -> ModuleOp:
    """Parse the module in the file `path`, with the weights beside it."""
    return parse_module(ctx, read_source(path), str(path), directory=path.parent)


def read_source(path: Path) -> str:
    """The text of a file; what is in the way is a one-line `DiagnosticError`."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise text_error(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise text_error(f"cannot read '{path}': byte {error.start} is no UTF-8 text") from error
