"""The parser: xDSL's, with locations on all operations, exact floats, external weights, and one-line errors."""

import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    RankedStructure,
    StridedLayoutAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.irdl import base
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from qmlir.ir.builtin_types import AnyDense
from qmlir.ir.diagnostics import DiagnosticError, note, text_error, together
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.gc_control import paused_collection
from qmlir.text.diagnostics import LineTable, check_strings, metadata_position
from qmlir.text.elements import fit_width, float_of_bits, values_of_blob
from qmlir.text.files import mistaken_for, note_input, read_given, reason_of
from qmlir.text.limits import MAX_INT64, Growth, check_affine, check_attribute, check_depth
from qmlir.text.renames import OPERATIONS
from qmlir.text.weights import ExternalWeightsAttr, WeightsError, WeightsReader, is_blob, resource_key

# Splitting of a text at lines that are exactly `// -----`, as `mlir-opt --split-input-file` does.

SPLIT_MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """A part of a file that starts after `line_offset` lines."""

    text: str
    line_offset: int


def split_source(text: str) -> list[Chunk]:
    """Splits a text at marker lines. A marker within a line, for example in a string literal, does not split.

    Lines end at newlines only, as everywhere in MLIR's textual format.
    """
    chunks: list[Chunk] = []
    lines: list[str] = []
    start = 0
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), start=1):
        if line.rstrip() == SPLIT_MARKER:
            chunks.append(Chunk("".join(lines), start))
            lines, start = [], number
        else:
            lines.append(line)
    chunks.append(Chunk("".join(lines), start))
    return chunks


# Parsing: xDSL's parser with locations on every operation, exact floats, weights, and one-line errors.

STDIN = "<stdin>"

_LITERAL = re.compile(r'<(?:\s|//[^\n]*)*(?:(?P<blob>")|(?P<list>(?=[\[>]))?(?:[^>/]+|//[^\n]*|/)*)')
_HEXADECIMAL = re.compile(r"-?\s*0x")
_OPERATION = re.compile(r"[a-z]\w*\.[\w.$]+", re.ASCII)
_LOCATION_ALIAS = re.compile(r"^\s*(#[\w.$-]+)\s*=\s*(?=loc\b)", re.MULTILINE)
_ARRAY_TYPE = re.compile(r"<\s*(\w+)\s*:")


@cache
def _type_of_dense() -> Any:
    """Returns the constraint for the types of dense elements."""
    return base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])


_UNDEFINED = "values used but not defined"
"""The beginning of xDSL's error about undefined values; it lists all of them, at the end of the text."""

_BYTES_OF_ONE = 16
"""The maximum number of bytes of an element in a hexadecimal literal."""


@dataclass
class _Splat:
    """The type of a dense splat literal while it is parsed."""

    type: Any


def _of_one(type: Any) -> Any:
    """Returns the type of a single element of a dense literal."""
    return TensorType(type.get_element_type(), [1])


class ModuleParser(Parser):
    """Parses one module, with a location for each operation and the bytes of all weights."""

    def __init__(self, ctx: Context, source: str, lines: LineTable, weights: WeightsReader):
        super().__init__(ctx, source, lines.filename)
        self._lines = lines
        self._filename = StringAttr(lines.filename)
        self._weights = weights
        self._given_location: LocationAttr | None = None
        self._reading = 0
        self._growth = Growth()
        self._depth = 0
        self._splat: _Splat | None = None
        self._locations: dict[str, LocationAttr | None] = {}
        self._array_element: AnyFloat | None = None
        self._first_uses: dict[str, int] = {}
        self._resources: dict[str, str] | None = None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        # Upstream MLIR reads a text without operations as an empty module.
        while self._current_token.kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
            self._parse_alias_def()
        if self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if not error.msg.strip().startswith(_UNDEFINED):
                raise
            places = [(name, self._lines.place(self._first_uses[name])) for name in self.forward_ssa_references]
            raise together([text_error(f"value %{name} is used but not defined", at) for name, at in places]) from error

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        name, start = operand.operand_name, operand.span.start
        values = self.ssa_values.get(name)
        if values is None:
            self._first_uses.setdefault(name, start)
        elif operand.index < len(values) and (known := values[operand.index]).type != type:
            message = f"operand is used with type {type}, but it is defined with type {known.type}"
            notes = [note(known.owner, "defines the operand")] if isinstance(known.owner, Operation) else []
            raise text_error(message, self._lines.place(start), notes)
        return super().resolve_operand(operand, type)

    def parse_optional_location(self) -> LocationAttr | None:
        self._given_location = super().parse_optional_location()
        return self._given_location

    def _parse_location(self) -> LocationAttr:
        # xDSL supports neither location aliases that are defined later (upstream MLIR prints them so), nor metadata of
        # fused locations, nor ranges. Of a range, the start is kept.
        name = self._current_token.text
        if self._current_token.kind is MLIRTokenKind.HASH_IDENT and name not in self.attribute_aliases:
            location = self._location_defined_later(name)
            self._consume_token(MLIRTokenKind.HASH_IDENT)
            return location
        if self.parse_optional_keyword("fused") is not None:
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<") is not None:
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            located = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(located), metadata)
        location = super()._parse_location()
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return location

    def _location_defined_later(self, name: str) -> LocationAttr:
        """Returns the location of an alias whose definition starts a line anywhere in the text."""
        start = self.pos
        if not self._locations:
            self._definitions = {found[1]: found.end() for found in _LOCATION_ALIAS.finditer(self.lexer.input.content)}
        if name not in self._definitions:
            self.raise_error(f"undefined symbol alias '{name}'")
        if name not in self._locations:
            self._locations[name] = None
            self._resume_from(self._definitions[name])
            self._locations[name] = self.parse_optional_location()
            self._resume_from(start)
        if (location := self._locations[name]) is None:
            self.raise_error(f"the location '{name}' contains itself")
        return location

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], Any], context_msg: str = ""
    ) -> list[Any]:
        # Several result types of `linalg.generic` are in parentheses, as in upstream MLIR; xDSL prints them
        # so, but would
        # parse a function type.
        start = self.pos
        if delimiter is self.Delimiter.NONE and parse == self.parse_attribute and self._is_next("("):
            types = super().parse_comma_separated_list(self.Delimiter.PAREN, parse)
            if not self._is_next("->"):
                return types
            self._resume_from(start)
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _is_next(self, text: str) -> bool:
        return self._current_token.text == text

    def parse_optional_argument(self, expect_type: bool = True) -> Any:
        argument: Any = super().parse_optional_argument(expect_type)
        # The argument locations of `linalg.reduce` are printed, as in upstream MLIR; xDSL does not parse them.
        if argument is not None and expect_type and self._parser_state.dialect_stack[-1:] == ["linalg"]:
            argument.location = self.parse_optional_location()
        return argument

    def parse_operation(self) -> Operation:
        start, outer = self.pos, self._reading
        self._reading = start
        op = super().parse_operation()
        self._reading = outer
        # An operation's own location is the last one in its text.
        if self._given_location is None and isinstance(op.location, UnknownLoc):
            place = self._lines.place(start)
            op.location = FileLineColLoc(self._filename, IntAttr(place.line), IntAttr(place.column))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        return super()._get_op_by_name(OPERATIONS.get(name, name))

    def what_is_read(self) -> tuple[int, str]:
        """Returns the position and the name of the operation that is being parsed."""
        found = _OPERATION.search(self.lexer.input.content, self._reading)
        return (found.start(), f"'{found[0]}'") if found else (self.pos, "the text")

    def _parse_block(self) -> Block:
        # xDSL searches a block that was branched to before its definition among undefined blocks, even when
        # it is defined a
        # second time.
        name = self._current_token.text[1:]
        found = self.blocks.get(name)
        if found is not None and found[1] is None and name not in self.forward_block_references:
            self.raise_error(f"redefinition of block '^{name}'")
        return super()._parse_block()

    def _within(self, check: Callable[[], object], start: int) -> None:
        """Reports a `ValueError` raised by `check` as a parse error at `start`."""
        try:
            check()
        except ValueError as error:
            self.raise_error(str(error), start)

    def _parse_alias_def(self) -> None:
        start, name = self.pos, self._current_token.text
        super()._parse_alias_def()
        self._within(lambda: self._growth.define(self.attribute_aliases[name]), start)

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: Any) -> Any:
        start = self.pos
        found: Any = super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)
        self._within(lambda: self._growth.use(found, self._depth), start)
        return found

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        # xDSL keeps the resources of all texts in one table, and renames known keys, but not in the metadata
        # that follows,
        # so the bytes would be lost. Here a handle is resolved by the metadata of its own text.
        key = self.parse_identifier(context_msg=" for resource handle")
        if self._resources is None:
            self._resources, start = {}, self.pos
            if (position := metadata_position(self.lexer.input.content)) is not None:
                self._resume_from(position)
                self._parse_file_metadata_dictionary()
                self._resume_from(start)
        return resource_key(interface, key, self._resources.get(key, ""))

    def _parse_file_metadata_dictionary(self) -> None:
        start = self.pos
        if self._resources is None:
            self._resources = {}
        for name, dialect, key, blob in self._metadata_entries():
            if (name, dialect) != ("dialect_resources", "builtin"):
                self.raise_error(f"'{name}' of '{dialect}' cannot be kept; only resources of 'builtin' can", start)
            if not is_blob(blob):
                self.raise_error(
                    f"the resource '{key}' must be \"0x…\" with at least 4 bytes of hexadecimal digits", start
                )
            self._resources[key] = blob

    def _metadata_entries(self) -> list[tuple[str, str, str, str]]:
        """Returns the entries of `{-# name: { dialect: { key: "blob" } } #-}`."""

        def resource(name: str, dialect: str) -> tuple[str, str, str, str]:
            key = self.parse_identifier(context_msg=" for resource handle")
            self.parse_punctuation(":")
            return name, dialect, key, self.parse_str_literal()

        def group(name: str) -> list[tuple[str, str, str, str]]:
            dialect = self.parse_identifier(context_msg=" for a dialect")
            self.parse_punctuation(":")
            return self.parse_comma_separated_list(self.Delimiter.BRACES, lambda: resource(name, dialect))

        def section() -> list[list[tuple[str, str, str, str]]]:
            name = self.parse_identifier(context_msg=" for a kind of metadata")
            self.parse_punctuation(":")
            return self.parse_comma_separated_list(self.Delimiter.BRACES, lambda: group(name))

        sections = self.parse_comma_separated_list(self.Delimiter.METADATA_TOKEN, section)
        return [entry for groups in sections for entries in groups for entry in entries]

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        start = self.pos
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MAX_INT64:
            self.raise_error("invalid dimension: it does not fit into 64 bits", start)
        return size

    def parse_optional_type(self) -> TypeAttribute | None:
        start = self.pos
        self._depth += 1
        self._within(lambda: check_depth(self._depth), start)
        found = super().parse_optional_type()
        self._depth -= 1
        if found is not None:
            self._within(lambda: check_attribute(found), start)
        return found

    def parse_affine_map(self) -> AffineMap:
        start = self.pos
        found = super().parse_affine_map()
        self._within(lambda: check_affine(found.results), start)
        return found

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        start = self.pos
        found, operands = super().parse_affine_map_of_ssa_ids()
        self._within(lambda: check_affine(found.results), start)
        return found, operands

    def parse_affine_set(self) -> AffineSet:
        start = self.pos
        found = super().parse_affine_set()
        self._within(lambda: check_affine(side for each in found.constraints for side in (each.lhs, each.rhs)), start)
        return found

    def parse_optional_str_literal(self) -> str | None:
        # xDSL treats a literal with escaped bytes as bytes rather than a string, but text in any language is
        # a string. Only
        # the current token, which is not public, tells the two apart before it is consumed.
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        try:
            text = StringLiteral.from_span(token.span).bytes_contents.decode("utf-8")
        except UnicodeDecodeError:
            return None
        self.parse_bytes_literal()
        return text

    def parse_optional_attribute(self) -> Attribute | None:
        start = self.pos
        self._depth += 1
        self._within(lambda: check_depth(self._depth), start)
        attribute = super().parse_optional_attribute()
        self._depth -= 1
        match attribute:
            case ExternalWeightsAttr() if not attribute.is_elided:
                try:
                    return self._weights.load(attribute)
                except WeightsError as error:
                    self.raise_error(str(error), start)
            case IntegerAttr() | StridedLayoutAttr():
                self._within(lambda: check_attribute(attribute), start)
                return attribute
            case BytesAttr():
                try:
                    return StringAttr(attribute.data.decode("utf-8"))
                except UnicodeDecodeError:
                    return attribute
            case _:
                return attribute

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> AnyDense:
        literal = _LITERAL.match(self.lexer.input.content, self.pos)
        if literal is None:
            self.raise_error("expected '<' in dense attribute")
        if literal["blob"]:
            return self._parse_blob(type)
        if "0x" in literal[0]:
            return self._parse_bit_patterns(type)
        start, outer = self.pos, self._splat
        self._splat = None if literal["list"] is not None else _Splat(type)
        try:
            # For `<1> : type` xDSL parses one element: otherwise it would build a list with one entry per element.
            attribute: AnyDense = super().parse_dense_int_or_fp_elements_attr(
                type if self._splat is None or type is None else _of_one(type)
            )
            element = attribute.get_element_type()
            data = fit_width(attribute.data.data, element)
            if self._splat is None:
                return DenseIntOrFPElementsAttr(attribute.type, BytesAttr(data))
            return DenseIntOrFPElementsAttr(self._splat.type, self._repeated(data, self._splat.type, start))
        except struct.error:  # raised for `index`, which has no range in xDSL
            self.raise_error("integer constant out of range for type", start)
        finally:
            self._splat = outer

    def _repeated(self, data: bytes, type: Any, start: int) -> BytesAttr:
        """Returns the bytes of all elements of a splat."""
        count = math.prod(type.get_shape())
        self._within(lambda: self._growth.splat(len(data) * count), start)
        return BytesAttr(data * count)

    def _parse_type_of_dense(self, type: Any) -> Any:
        """Parses the type after dense elements, unless the syntax of the operation determines it."""
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_type_of_elements()
        return type

    def _parse_dense_literal_type(self) -> Any:
        splat = self._splat
        type = self._parse_type_of_elements()
        if splat is None:
            return type
        splat.type = type
        return _of_one(type)

    def _parse_type_of_elements(self) -> Any:
        # xDSL rebuilds the constraint for each literal, which dominates the parse time.
        type: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _type_of_dense().verifies(type):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        if DYNAMIC_INDEX in type.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return type

    def _parse_blob(self, type: Any) -> AnyDense:
        """Parses `<"0x…"> : type`: xDSL's layout of bits and odd widths differs from upstream MLIR's."""
        start = self.pos
        with self.in_angle_brackets():
            literal = self.parse_str_literal()
        if not literal.startswith("0x"):
            self.raise_error("expected a string of hexadecimal digits that starts with 0x", start)
        type = self._parse_type_of_dense(type)
        count, element = math.prod(type.get_shape()), type.get_element_type()
        try:
            blob = bytes.fromhex(literal[2:])
            if len(blob) <= _BYTES_OF_ONE:  # it may stand for all
                self._growth.splat(count * max(len(blob), 1))
            data = values_of_blob(blob, element, count)
        except ValueError as error:
            self.raise_error(str(error), start)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    def _parse_bit_patterns(self, type: Any) -> AnyDense:
        """Parses `<[0x7FC00000, 1.0]> : type`: xDSL reads a hexadecimal float element as a number rather than as
        bits."""
        start = self.pos
        with self.in_angle_brackets():
            numbers, shape = self._parse_numbers()
        type = self._parse_type_of_dense(type)
        if shape is not None and shape != type.get_shape():
            self.raise_error(f"expected elements of shape {type}, but got {shape}", start)
        element = type.get_element_type()
        try:
            if isinstance(element, AnyFloat):
                data = b"".join(
                    float_of_bits(int(number), element) if is_bits else element.pack((float(number),))
                    for number, is_bits in numbers
                )
            else:
                holder = TensorType(element, [len(numbers)])
                data = DenseIntOrFPElementsAttr.from_list(holder, [number for number, _ in numbers]).data.data
        except (ValueError, struct.error) as error:
            self.raise_error(str(error), start)
        return DenseIntOrFPElementsAttr(type, self._repeated(data, type, start) if shape is None else BytesAttr(data))

    def _parse_numbers(self) -> tuple[list[tuple[int | float, bool]], tuple[int, ...] | None]:
        """Parses nested lists of numbers, each with whether it is hexadecimal, and their shape; `None` for a single
        number."""
        rows = self.parse_optional_comma_separated_list(self.Delimiter.SQUARE, self._parse_numbers)
        if rows is None:
            is_bits = _HEXADECIMAL.match(self.lexer.input.content, self.pos) is not None
            return [(self.parse_number(allow_boolean=True), is_bits)], None
        inner = {shape or () for _, shape in rows}
        if len(inner) != 1:
            self.raise_error("expected lists of equal length")
        return [number for numbers, _ in rows for number in numbers], (len(rows), *inner.pop())

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase[Any] | None:
        # xDSL has no public method for `array<…>`, and reads no bit patterns there: `parse_float` needs the type.
        found = _ARRAY_TYPE.match(self.lexer.input.content, self.pos)
        self._array_element = self._builtin_float_types.get(found[1]) if found else None
        try:
            return super()._parse_builtin_densearray_attr()
        finally:
            self._array_element = None

    def parse_optional_float(self, *, allow_negative: bool = True) -> float | None:
        start, element = self.pos, self._array_element
        if element is None or not self.lexer.input.content.startswith("0x", start):
            return super().parse_optional_float(allow_negative=allow_negative)
        bits = self.parse_integer(allow_boolean=False, allow_negative=False)
        try:
            return next(element.iter_unpack(float_of_bits(bits, element)))
        except ValueError as error:
            self.raise_error(str(error), start)


def parse_module(
    ctx: Context,
    source: str,
    filename: str = STDIN,
    *,
    line_offset: int = 0,
    directory: Path | None = None,
    weights: WeightsReader | None = None,
    parser: Callable[[Context, str, LineTable, WeightsReader], ModuleParser] = ModuleParser,
) -> ModuleOp:
    """Parses a module; `weights` reads its large weights, by default from the files in `directory` that the text names.

    The location of an operation defaults to its position in the text. All errors are `DiagnosticError`s with file, line
    and column.

    Strings are checked before xDSL's lexer sees them: its regular expression for strings takes exponential time if the
    closing quote is missing.
    """
    lines = LineTable(source, filename, line_offset)
    check_strings(source, lines)
    made = None

    def fault_from_outside(reason: str) -> DiagnosticError:
        start, what = (0, "the text") if made is None else made.what_is_read()
        return text_error(f"{what} cannot be parsed: {reason}", lines.place(start))

    try:
        with paused_collection(), faults_from_outside(fault_from_outside):
            made = parser(ctx, source, lines, WeightsReader(directory) if weights is None else weights)
            return made.parse_module()
    except DiagnosticError:
        raise
    except ParseError as error:
        raise text_error(error.msg.strip(), lines.place(error.span.start)) from error
    except (DiagnosticException, UnregisteredConstructException, ValueError, OverflowError) as error:
        # Types and attributes are verified on construction.
        raise text_error(_first_line(error), lines.place(made.pos if made else 0)) from error
    except RecursionError as error:
        raise text_error("the text is nested too deeply", lines.place(made.pos if made else 0)) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "xDSL cannot read this"


def load_module(ctx: Context, path: Path) -> ModuleOp:
    """Parses the module in the file `path`, with its weights in the same folder."""
    return parse_module(ctx, read_source(path), str(path), directory=path.parent)


def read_source(path: Path) -> str:
    """Reads the text of a file. Raises a one-line `DiagnosticError` if that fails."""
    try:
        note_input(path)
        content = read_given(path)
        if instead := mistaken_for(content):
            raise text_error(f"cannot read '{path}': it is {instead}")
        return content.decode("utf-8")
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise text_error(f"cannot read '{path}': byte {error.start} is not UTF-8 text") from error
