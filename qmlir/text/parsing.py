"""The parser: extends xDSL's with locations on all operations, exact floats, external weights, and one-line errors.

It limits sizes and integers to upstream MLIR's types, nesting depth, and alias expansion. Limits that users can raise
are in `qmlir.ir.limits`.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVarTuple

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr, AffineMap, AffineSet
from xdsl.irdl import base
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException, VerifyException
from xdsl.utils.hints import isa

from qmlir.ir.builtin_types import AnyDense
from qmlir.ir.diagnostics import DiagnosticError, note, text_error, together
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.gc_control import paused_collection
from qmlir.ir.limits import budget, over
from qmlir.text.data import MAX_INT64
from qmlir.text.diagnostics import LineTable, check_strings, metadata_position
from qmlir.text.elements import fit_width, float_of_bits, values_of_blob
from qmlir.text.renames import OPERATIONS
from qmlir.text.sources import STDIN, read_source
from qmlir.text.weights import ExternalWeightsAttr, WeightsError, WeightsReader, is_blob, resource_key

# Limits. Each check raises `ValueError` with the reason; the parser adds the location.

_WIDEST_INTEGER = (1 << 24) - 1
_DEEPEST = 64
"""The maximum nesting depth of types and attributes, including through aliases.

They are hashed, compared and printed recursively.
"""

_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)


def _check_int64(number: int, what: str) -> None:
    if not -MAX_INT64 - 1 <= number <= MAX_INT64:
        raise ValueError(f"{what} out of range: {number} does not fit into 64 bits")


def check_attribute(attribute: Attribute) -> None:
    """Raises `ValueError` for a type or attribute that upstream's parser rejects although xDSL's accepts it."""
    match attribute:
        case builtin.IntegerType() if attribute.width.data > _WIDEST_INTEGER:
            raise ValueError(f"integer bitwidth is limited to {_WIDEST_INTEGER} bits")
        case builtin.VectorType() if any(size < 1 for size in attribute.get_shape()):
            raise ValueError(f"vector types must have positive constant sizes but got {list(attribute.get_shape())}")
        case builtin.IntegerAttr(type=builtin.IndexType()):
            _check_int64(attribute.value.data, "integer constant")
        case builtin.StridedLayoutAttr():
            for each in (*attribute.strides.data, attribute.offset):
                if not isinstance(each, builtin.NoneAttr):
                    _check_int64(each.data, "stride or offset")
        case _:
            pass


def check_depth(depth: int) -> None:
    """Raises `ValueError` if types and attributes nested `depth` deep exceed the limit."""
    if depth > _DEEPEST:
        raise ValueError(f"the text is nested too deeply: types and attributes are limited to {_DEEPEST} levels")


def check_affine(expressions: Iterable[AffineExpr]) -> None:
    """Raises `ValueError` for affine expressions that are nested too deeply, or contain numbers beyond 64 bits."""
    pending = [(each, 1) for each in expressions]
    while pending:
        expression, depth = pending.pop()
        match expression:
            case AffineBinaryOpExpr():
                if depth > budget("affine-depth"):
                    raise ValueError(f"an affine expression is nested too deeply: {over('affine-depth', depth)}")
                divisor = expression.rhs
                if expression.kind in _DIVISIONS and isinstance(divisor, AffineConstantExpr) and divisor.value < 1:
                    raise ValueError(f"an affine expression must divide by 1 or more, but got {divisor.value}")
                pending += [(expression.lhs, depth + 1), (expression.rhs, depth + 1)]
            case AffineConstantExpr():
                _check_int64(expression.value, "constant of an affine expression")
            case _:
                pass


def _children(attribute: Attribute) -> Iterable[Attribute]:
    match attribute:
        case ParametrizedAttribute():
            return attribute.parameters
        case builtin.ArrayAttr():
            return attribute.data
        case builtin.DictionaryAttr():
            return attribute.data.values()
        case _:
            return ()


@dataclass
class ExpansionGuard:
    """Tracks how much a text expands through aliases and splat constants, and limits it."""

    _sizes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """The number of components and the depth of each component of an alias, by `id`; aliases keep components alive."""

    _aliases: set[int] = field(default_factory=set[int])
    _parts: int = 0
    _bytes: int = 0

    def define(self, attribute: Attribute) -> None:
        """Registers the definition of an alias for `attribute`."""
        parts, depth = self._size(attribute)
        check_depth(depth)
        if parts > budget("alias-parts"):
            raise ValueError(f"the expanded size of an alias is {over('alias-parts', parts)}")
        self._aliases.add(id(attribute))

    def use(self, attribute: Attribute, depth: int) -> None:
        """Registers a use of `attribute`, which may be an alias, at nesting depth `depth`."""
        if id(attribute) in self._aliases:
            parts, deepest = self._sizes[id(attribute)]
            check_depth(depth + deepest)
            self._parts += parts
            if self._parts > budget("text-parts"):
                raise ValueError(f"the expanded size of all aliases is {over('text-parts')}")

    def splat(self, count: int) -> None:
        """Registers a splat constant of `count` bytes."""
        self._bytes += count
        if self._bytes > budget("splat-bytes"):
            raise ValueError(f"the size of splat constants in bytes is {over('splat-bytes', self._bytes)}")

    def _size(self, attribute: Attribute) -> tuple[int, int]:
        known = self._sizes.get(id(attribute))
        if known is None:
            inner = [self._size(child) for child in _children(attribute)]
            known = 1 + sum(parts for parts, _ in inner), 1 + max((depth for _, depth in inner), default=0)
            self._sizes[id(attribute)] = known
        return known


# Parsing: xDSL's parser with locations on every operation, exact floats, weights, and one-line errors.

_LITERAL = re.compile(r'<(?:\s|//[^\n]*)*(?:(?P<blob>")|(?P<list>(?=[\[>]))?(?:[^>/]+|//[^\n]*|/)*)')
_HEXADECIMAL = re.compile(r"-?\s*0x")
_OPERATION = re.compile(r"[a-z]\w*\.[\w.$]+", re.ASCII)
_LOCATION_ALIAS = re.compile(r"^\s*(#[\w.$-]+)\s*=\s*(?=loc\b)", re.MULTILINE)

_Arguments = TypeVarTuple("_Arguments")


@cache
def _type_of_dense() -> Any:
    """Returns the constraint for the types of dense elements."""
    return base(
        builtin.RankedStructure[builtin.IntegerType | builtin.IndexType | builtin.AnyFloat | builtin.ComplexType]
    )


_BYTES_OF_ONE = 16
"""The maximum number of bytes of an element in a hexadecimal literal."""


class ModuleParser(Parser):
    """Parses one module, with a location for each operation and the bytes of all weights.

    With one exception, only public methods of xDSL's parser are called and overridden. The parser always reads one
    token ahead: this token starts at `pos` and ends at `lexer.pos`, where the lexer will read the next one.
    """

    def __init__(self, ctx: Context, source: str, lines: LineTable, weights: WeightsReader):
        super().__init__(ctx, source, lines.filename)
        self._lines = lines
        self._filename = builtin.StringAttr(lines.filename)
        self._weights = weights
        self._given_location: builtin.LocationAttr | None = None
        self._reading = 0
        self._growth = ExpansionGuard()
        self._depth = 0
        self._locations: dict[str, builtin.LocationAttr | None] = {}
        self._first_uses: dict[str, int] = {}
        self._resources: dict[str, str] | None = None

    def peek(self) -> str:
        """Returns the text of the next token without consuming it; empty at the end of the text."""
        return self.lexer.input.content[self.pos : self.lexer.pos]

    def move_to(self, position: int) -> None:
        """Continues parsing at a position in the text, before or after the current one."""
        token = self.peek()
        self.lexer.pos = position
        self.parse_characters(token)

    def parse_module(self, allow_implicit_module: bool = True) -> builtin.ModuleOp:
        operations: list[Operation] = []
        while token := self.peek():
            if token[0] in "#!" and token != "#-}":
                self.parse_alias_definition()
            elif token == "{-#":
                self._parse_file_metadata()
            elif (op := self.parse_optional_operation()) is not None:
                operations.append(op)
            else:
                self.raise_error("Could not parse entire input!")
        if self.forward_ssa_references:
            locations = [(name, self._lines.location(self._first_uses[name])) for name in self.forward_ssa_references]
            raise together([text_error(f"value %{name} is used but not defined", at) for name, at in locations])
        if len(operations) == 1 and isinstance(operations[0], builtin.ModuleOp):
            return operations[0]
        if not allow_implicit_module:
            self.raise_error("builtin.module operation expected", 0)
        return builtin.ModuleOp(operations)

    def parse_alias_definition(self) -> None:
        """Parses `#name = attribute` or `!name = type`."""
        start, name = self.pos, self.peek()
        self.parse_characters(name)
        if name in self.attribute_aliases:
            self.raise_error(f"re-declaration of alias '{name}'")
        self.parse_punctuation("=", " after attribute alias name")
        attribute = self.attribute_aliases[name] = self.parse_attribute()
        self._within(start, self._growth.define, attribute)

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        name, start = operand.operand_name, operand.span.start
        values = self.ssa_values.get(name)
        if values is None:
            self._first_uses.setdefault(name, start)
        elif operand.index < len(values) and (known := values[operand.index]).type != type:
            message = f"operand is used with type {type}, but it is defined with type {known.type}"
            notes = [note(known.owner, "defines the operand")] if isinstance(known.owner, Operation) else []
            raise text_error(message, self._lines.location(start), notes)
        return super().resolve_operand(operand, type)

    def parse_optional_location(self) -> builtin.LocationAttr | None:
        self._given_location = None
        if self.parse_optional_characters("loc") is not None:
            with self.in_parens():
                location = self._parse_location_in_parens()
            self._given_location = location
        return self._given_location

    def _parse_location_in_parens(self) -> builtin.LocationAttr:
        # xDSL supports neither location aliases that are defined later (upstream MLIR prints them so), nor metadata of
        # fused locations, nor ranges.
        if self.peek().startswith("#"):
            return self._parse_location_alias()
        if (name := self.parse_optional_str_literal()) is not None:
            return self._parse_named_location(builtin.StringAttr(name))
        match self.parse_optional_identifier():
            case "unknown":
                return builtin.UnknownLoc()
            case "callsite":
                with self.in_parens():
                    callee = self._parse_location_in_parens()
                    self.parse_keyword("at")
                    caller = self._parse_location_in_parens()
                return builtin.CallSiteLoc(callee, caller)
            case "fused":
                metadata: Attribute = builtin.NoneAttr()
                if self.parse_optional_punctuation("<") is not None:
                    metadata = self.parse_attribute()
                    self.parse_punctuation(">")
                located = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location_in_parens)
                return builtin.FusedLoc(tuple(located), metadata)
            case None:
                self.raise_error("Unexpected location syntax.")
            case _:
                self.raise_error("Unsupported location type.")

    def _parse_named_location(self, name: builtin.StringAttr) -> builtin.LocationAttr:
        """Parses the rest of a `FileLineColLoc` or `NameLoc` after its string; keeps only the start of a range."""
        if self.parse_optional_punctuation(":") is None:
            inner: builtin.LocationAttr | builtin.NoneAttr = builtin.NoneAttr()
            if self.peek() == "(":
                with self.in_parens():
                    inner = self._parse_location_in_parens()
            return builtin.NameLoc(name, inner)
        line = self.parse_integer(allow_boolean=False, allow_negative=False)
        self.parse_punctuation(":")
        column = self.parse_integer(allow_boolean=False, allow_negative=False)
        if self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return builtin.FileLineColLoc(name, builtin.IntAttr(line), builtin.IntAttr(column))

    def _parse_location_alias(self) -> builtin.LocationAttr:
        name = self.peek()
        if name not in self.attribute_aliases:
            location = self._location_defined_later(name)
            self.parse_characters(name)
            return location
        attribute = self.parse_attribute()
        if not isinstance(attribute, builtin.LocationAttr):
            self.raise_error("Expected location alias.")
        return attribute

    def _location_defined_later(self, name: str) -> builtin.LocationAttr:
        """Returns the location of an alias whose definition starts a line anywhere in the text."""
        start = self.pos
        if not self._locations:
            self._definitions = {found[1]: found.end() for found in _LOCATION_ALIAS.finditer(self.lexer.input.content)}
        if name not in self._definitions:
            self.raise_error(f"undefined symbol alias '{name}'")
        if name not in self._locations:
            self._locations[name] = None
            self.move_to(self._definitions[name])
            self._locations[name] = self.parse_optional_location()
            self.move_to(start)
        if (location := self._locations[name]) is None:
            self.raise_error(f"the location '{name}' contains itself")
        return location

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], Any], context_msg: str = ""
    ) -> list[Any]:
        # Several result types of `linalg.generic` are in parentheses, as in upstream MLIR; xDSL prints them so, but
        # would parse a function type.
        start = self.pos
        if delimiter is self.Delimiter.NONE and parse == self.parse_attribute and self.peek() == "(":
            types = super().parse_comma_separated_list(self.Delimiter.PAREN, parse)
            if self.peek() != "->":
                return types
            self.move_to(start)
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def parse_argument(self, *, expect_type: bool = True) -> Any:
        argument: Any = super().parse_argument(expect_type=expect_type)
        # The argument locations of `linalg.reduce` are printed, as in upstream MLIR; xDSL does not parse them.
        if expect_type:
            argument.location = self.parse_optional_location()
        return argument

    def parse_operation(self) -> Operation:
        start, outer = self.pos, self._reading
        self._reading = start
        op = super().parse_operation()
        self._reading = outer
        # An operation's own location is the last one in its text.
        if self._given_location is None and isinstance(op.location, builtin.UnknownLoc):
            location = self._lines.location(start)
            op.location = builtin.FileLineColLoc(
                self._filename, builtin.IntAttr(location.line), builtin.IntAttr(location.column)
            )
        return op

    # The only private method that is overridden: xDSL looks up the name in the context, which belongs to the caller and
    # has no aliases of names. Proposed upstream: `Context.load_op(op, name=...)` to register `op` under a second name.
    def _get_op_by_name(self, name: str) -> type[Operation]:
        return super()._get_op_by_name(OPERATIONS.get(name, name))

    def what_is_read(self) -> tuple[int, str]:
        """Returns the position and the name of the operation that is being parsed."""
        found = _OPERATION.search(self.lexer.input.content, self._reading)
        return (found.start(), f"'{found[0]}'") if found else (self.pos, "the text")

    def parse_optional_operation(self) -> Operation | None:
        op = super().parse_optional_operation()
        # The operations of a block end at the label of the next. xDSL searches a block that was branched to before its
        # definition among undefined blocks, even when it is defined a second time.
        if op is None and (token := self.peek()).startswith("^"):
            name = token[1:]
            found = self.blocks.get(name)
            if found is not None and found[1] is None and name not in self.forward_block_references:
                self.raise_error(f"redefinition of block '{token}'")
        return op

    def _within(self, start: int, check: Callable[[*_Arguments], object], *arguments: *_Arguments) -> None:
        """Calls `check`, and reports a `ValueError` that it raises as a parse error at `start`."""
        try:
            check(*arguments)
        except ValueError as error:
            self.raise_error(str(error), start)

    def _parse_dense_resource(self) -> builtin.DenseResourceAttr:
        # xDSL keeps the resources of all texts in one table, and renames known keys, but not in the metadata that
        # follows, so the bytes would be lost. Here a handle is resolved by the metadata of its own text.
        interface = self.ctx.get_dialect("builtin").get_interface(OpAsmDialectInterface)
        assert interface is not None
        self.parse_keyword("dense_resource")
        self.parse_characters("<", " in dense_resource attribute")
        key = self.parse_identifier(context_msg=" for resource handle")
        self.parse_characters(">", " in dense_resource attribute")
        if self._resources is None:
            self._resources, start = {}, self.pos
            if (position := metadata_position(self.lexer.input.content)) is not None:
                self.move_to(position)
                self._parse_file_metadata()
                self.move_to(start)
        self.parse_characters(":", " in dense_resource attribute")
        type = self.parse_type()
        if not isinstance(type, builtin.ShapedType):
            self.raise_error(f"dense resource should have a shaped type, got: {type}")
        return builtin.DenseResourceAttr.from_params(resource_key(interface, key, self._resources.get(key, "")), type)

    def _parse_file_metadata(self) -> None:
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
        self._within(start, check_depth, self._depth)
        found = super().parse_optional_type()
        if found is not None:
            self._within(start, check_attribute, found)
            if self.lexer.input.content.startswith("!", start):
                self._within(start, self._growth.use, found, self._depth)
        self._depth -= 1
        return found

    def parse_affine_map(self) -> AffineMap:
        start = self.pos
        found = super().parse_affine_map()
        self._within(start, check_affine, found.results)
        return found

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[builtin.IndexType]]]:
        start = self.pos
        found, operands = super().parse_affine_map_of_ssa_ids()
        self._within(start, check_affine, found.results)
        return found, operands

    def parse_affine_set(self) -> AffineSet:
        start = self.pos
        found = super().parse_affine_set()
        self._within(start, check_affine, [side for each in found.constraints for side in (each.lhs, each.rhs)])
        return found

    def parse_optional_str_literal(self) -> str | None:
        # xDSL treats a literal with escaped bytes as bytes rather than a string, but text in any language is a string.
        start, text = self.pos, super().parse_optional_str_literal()
        if text is None and (content := self.parse_optional_bytes_literal()) is not None:
            try:
                return content.decode("utf-8")
            except UnicodeDecodeError:
                self.move_to(start)
        return text

    def parse_optional_attribute(self) -> Attribute | None:
        start = self.pos
        self._depth += 1
        self._within(start, check_depth, self._depth)
        match self.peek():
            case "array":
                attribute = self._parse_dense_array()
            case "dense_resource":
                attribute = self._parse_dense_resource()
            case _:
                attribute = super().parse_optional_attribute()
        if attribute is not None and self.lexer.input.content.startswith("#", start):
            self._within(start, self._growth.use, attribute, self._depth)
        self._depth -= 1
        match attribute:
            case ExternalWeightsAttr() if not attribute.is_elided:
                try:
                    return self._weights.load(attribute)
                except WeightsError as error:
                    self.raise_error(str(error), start)
            case builtin.IntegerAttr() | builtin.StridedLayoutAttr():
                self._within(start, check_attribute, attribute)
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
        start, is_splat = self.pos, literal["list"] is None
        end = None
        if type is None:
            type, end = self._parse_type_after(literal.end() + 1)
            if end is None:  # xDSL finds the fault of the literal, or the missing colon
                return super().parse_dense_int_or_fp_elements_attr(None)
        try:
            # For `<1> : type` xDSL parses one element: otherwise it would build a list with one entry per element.
            shaped = builtin.TensorType(type.get_element_type(), [1]) if is_splat else type
            attribute: AnyDense = super().parse_dense_int_or_fp_elements_attr(shaped)
            data = fit_width(attribute.data.data, attribute.get_element_type())
        except struct.error:  # raised for `index`, which has no range in xDSL
            self.raise_error("integer constant out of range for type", start)
        if end is not None:
            self.move_to(end)
        return builtin.DenseIntOrFPElementsAttr(
            type, self._repeated(data, type, start) if is_splat else builtin.BytesAttr(data)
        )

    def _parse_type_after(self, position: int) -> tuple[Any, int | None]:
        """Parses the type of a dense literal that ends at `position`, and returns to the start of the literal.

        Returns the type and its end; `None` if no colon follows the literal. The type is parsed first because xDSL
        otherwise rebuilds its constraint for each literal, which dominates the parse time.
        """
        start, end = self.pos, None
        type: Any = None
        self.move_to(position)
        if self.parse_optional_punctuation(":") is not None:
            type, end = self._parse_type_of_elements(), self.pos
        self.move_to(start)
        return type, end

    def _repeated(self, data: bytes, type: Any, start: int) -> builtin.BytesAttr:
        """Returns the bytes of all elements of a splat."""
        count = math.prod(type.get_shape())
        self._within(start, self._growth.splat, len(data) * count)
        return builtin.BytesAttr(data * count)

    def _parse_type_of_dense(self, type: Any) -> Any:
        """Parses the type after dense elements, unless the syntax of the operation determines it."""
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_type_of_elements()
        return type

    def _parse_type_of_elements(self) -> Any:
        type: Any = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _type_of_dense().verifies(type):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        if builtin.DYNAMIC_INDEX in type.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return type

    def _parse_blob(self, type: Any) -> AnyDense:
        """Parses `<"0x…"> : type`. xDSL's layout of i1 and odd integer widths differs from upstream MLIR's."""
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
        return builtin.DenseIntOrFPElementsAttr(type, builtin.BytesAttr(data))

    def _parse_bit_patterns(self, type: Any) -> AnyDense:
        """Parses `<[0x7FC00000, 1.0]> : type`; xDSL would read a hexadecimal float as a number, not as bits."""
        start = self.pos
        with self.in_angle_brackets():
            numbers, shape = self._parse_numbers()
        type = self._parse_type_of_dense(type)
        if shape is not None and shape != type.get_shape():
            self.raise_error(f"expected elements of shape {type}, but got {shape}", start)
        element = type.get_element_type()
        try:
            if isinstance(element, builtin.AnyFloat):
                data = b"".join(
                    float_of_bits(int(number), element) if is_bits else element.pack((float(number),))
                    for number, is_bits in numbers
                )
            else:
                holder = builtin.TensorType(element, [len(numbers)])
                data = builtin.DenseIntOrFPElementsAttr.from_list(holder, [number for number, _ in numbers]).data.data
        except (ValueError, struct.error) as error:
            self.raise_error(str(error), start)
        return builtin.DenseIntOrFPElementsAttr(
            type, self._repeated(data, type, start) if shape is None else builtin.BytesAttr(data)
        )

    def _parse_numbers(self) -> tuple[list[tuple[int | float, bool]], tuple[int, ...] | None]:
        """Parses nested lists of numbers; returns each number, True if it is hexadecimal, and the shape.

        The shape of a single number is `None`.
        """
        rows = self.parse_optional_comma_separated_list(self.Delimiter.SQUARE, self._parse_numbers)
        if rows is None:
            is_bits = _HEXADECIMAL.match(self.lexer.input.content, self.pos) is not None
            return [(self.parse_number(allow_boolean=True), is_bits)], None
        inner = {shape or () for _, shape in rows}
        if len(inner) != 1:
            self.raise_error("expected lists of equal length")
        return [number for numbers, _ in rows for number in numbers], (len(rows), *inner.pop())

    def _parse_dense_array(self) -> builtin.DenseArrayBase[Any]:
        # xDSL reads no bit patterns of floats here.
        self.parse_keyword("array")
        self.parse_characters("<", " in dense array")
        start = self.pos
        element = self.parse_attribute()
        if not isa(element, builtin.IntegerType | builtin.AnyFloat):
            self.raise_error("dense array element type must be an integer or floating point type", start)
        numbers: list[Any] = []
        if self.parse_optional_punctuation(">") is None:
            self.parse_characters(":", " in dense array")
            numbers = self.parse_comma_separated_list(self.Delimiter.NONE, lambda: self._parse_number_of_array(element))
            self.parse_characters(">", " in dense array")
        return builtin.DenseArrayBase.from_list(element, numbers)

    def _parse_number_of_array(self, element: builtin.IntegerType | builtin.AnyFloat) -> int | float:
        start = self.pos
        try:
            if isinstance(element, builtin.IntegerType):
                value = self.parse_integer()
                element.verify_value(value)
                return value
            if not self.peek().startswith("0x"):
                return self.parse_float()
            return next(element.iter_unpack(float_of_bits(self.parse_integer(), element)))
        except (VerifyException, ValueError) as error:
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
) -> builtin.ModuleOp:
    """Parses a module; `weights` reads its large weights, by default from the files in `directory` that the text names.

    The location of an operation defaults to its position in the text. All errors are `DiagnosticError`s with a file,
    line and column.

    Strings are checked before xDSL's lexer sees them: its regular expression for strings takes exponential time if the
    closing quote is missing.
    """
    lines = LineTable(source, filename, line_offset)
    check_strings(source, lines)
    made = None

    def fault_from_outside(reason: str) -> DiagnosticError:
        start, what = (0, "the text") if made is None else made.what_is_read()
        return text_error(f"{what} cannot be parsed: {reason}", lines.location(start))

    try:
        with paused_collection(), faults_from_outside(fault_from_outside):
            made = parser(ctx, source, lines, WeightsReader(directory) if weights is None else weights)
            return made.parse_module()
    except DiagnosticError:
        raise
    except ParseError as error:
        raise text_error(error.msg.strip(), lines.location(error.span.start)) from error
    except (DiagnosticException, UnregisteredConstructException, ValueError, OverflowError) as error:
        # Types and attributes are verified on construction.
        raise text_error(_first_line(error), lines.location(made.pos if made else 0)) from error
    except RecursionError as error:
        raise text_error("the text is nested too deeply", lines.location(made.pos if made else 0)) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "xDSL cannot read this"


def load_module(ctx: Context, path: Path) -> builtin.ModuleOp:
    """Parses the module in the file `path`, whose weights must be in the same folder."""
    return parse_module(ctx, read_source(path), str(path), directory=path.parent)
