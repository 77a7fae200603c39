"""The common assembly format of all `nn` operations.

    %y = nn.conv %x, %w, %b {strides = [2, 2]} : (tensor<…>, tensor<…>, tensor<…>) -> tensor<…> {origin = "conv1"}

The format consists of, in this order:

- the operands in the order of their definition, where `_` stands for an omitted optional operand before a present one;
- the properties that differ from their defaults, as plain integers, lists, strings, floats and flags;
- a single type if all types are equal, and otherwise the function type;
- the discardable attributes, including provenance.
"""

import math
from abc import ABC
from collections.abc import Sequence
from typing import Self

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OpDef, OptionalDef, VariadicDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from qmlir.ir.builtin_types import as_float, float_list, integer_list
from qmlir.ir.evaluation import operand_groups
from qmlir.text.elements import with_fraction

SEGMENT_SIZES = "operandSegmentSizes"
_ABSENT = "_"


def _print_operands(op: IRDLOperation, printer: Printer) -> None:
    slots: list[SSAValue | None] = []
    for _, definition, values in operand_groups(op):
        slots.extend(values if values or not isinstance(definition, OptionalDef) else (None,))
    while slots and slots[-1] is None:
        slots.pop()

    def print_slot(value: SSAValue | None) -> None:
        if value is None:
            printer.print_string(_ABSENT)
        else:
            printer.print_ssa_value(value)

    if slots:
        printer.print_string(" ")
        printer.print_list(slots, print_slot)


def _float_text(number: float) -> str:
    """Returns the shortest text that round-trips as f32."""
    return with_fraction(repr(float(str(np.float32(number)))))


def _is_plain(numbers: Sequence[float]) -> bool:
    """Whether a list of floats round-trips: it must be nonempty and finite."""
    return bool(numbers) and all(map(math.isfinite, numbers))


def print_value(printer: Printer, value: Attribute) -> None:
    """Prints a property in plain form if `parse_value` can restore the same attribute from it."""
    match value:
        case IntegerAttr() if value.type == i1:
            printer.print_string("true" if value.value.data else "false")
        case IntegerAttr() if value.type == i64:
            printer.print_int(value.value.data)
        case StringAttr():
            printer.print_string_literal(value.data)
        case FloatAttr() if value.type == f32 and math.isfinite(value.value.data):
            printer.print_string(_float_text(value.value.data))
        case DenseArrayBase() if value.elt_type == i64:
            with printer.in_square_brackets():
                printer.print_list(map(str, integer_list(value)), printer.print_string)
        case DenseArrayBase() if value.elt_type == f32 and _is_plain(float_list(value)):
            with printer.in_square_brackets():
                printer.print_list(map(_float_text, float_list(value)), printer.print_string)
        case _:
            printer.print_attribute(value)


def _parse_entry(parser: Parser) -> str | int | float:
    text = parser.parse_optional_str_literal()
    return parser.parse_number(allow_boolean=False) if text is None else text


def _list_attribute(entries: Sequence[str | int | float], parser: Parser) -> Attribute:
    """Returns a list attribute of strings or of numbers."""
    texts = [entry for entry in entries if isinstance(entry, str)]
    numbers = [entry for entry in entries if not isinstance(entry, str)]
    if texts and numbers:
        parser.raise_error("expected a list of strings or a list of numbers, but got both")
    if texts:
        return ArrayAttr([StringAttr(text) for text in texts])
    return number_list(numbers)


def number_list(numbers: Sequence[int | float]) -> DenseArrayBase:
    """Returns a list attribute of i64, or of f32 if one of the numbers is a float."""
    if any(isinstance(number, float) for number in numbers):
        return DenseArrayBase.from_list(f32, [float(number) for number in numbers])
    return DenseArrayBase.from_list(i64, [int(number) for number in numbers])


def parse_value(parser: Parser) -> Attribute:
    """Parses a property: `true`, `3`, `0.5`, `"text"`, `[1, 2]`, `["a", "b"]`, or any attribute."""
    if (flag := parser.parse_optional_boolean()) is not None:
        return BoolAttr.from_bool(flag)
    entries = parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_entry(parser))
    if entries is not None:
        return _list_attribute(entries, parser)
    attribute = parser.parse_attribute()
    number = as_float(attribute)
    if number is not None and number.type == f64:  # the default type of a number
        return FloatAttr(number.value.data, f32)
    return attribute


def _print_properties(op: IRDLOperation, printer: Printer) -> None:
    def print_entry(entry: tuple[str, Attribute]) -> None:
        name, value = entry
        printer.print_string(name)
        if not isinstance(value, UnitAttr):
            printer.print_string(" = ")
            print_value(printer, value)

    definitions = op.get_irdl_definition().properties
    given = [entry for entry in op.properties.items() if entry[0] != SEGMENT_SIZES]
    if properties := [(name, value) for name, value in given if value != definitions[name].default_value]:
        printer.print_string(" ")
        with printer.in_braces():
            printer.print_list(properties, print_entry)


def _parse_operands(parser: Parser) -> list[UnresolvedOperand | None]:
    def parse_slot() -> UnresolvedOperand | None:
        is_absent = parser.parse_optional_keyword(_ABSENT) is not None
        return None if is_absent else parser.parse_unresolved_operand()

    first = parser.parse_optional_unresolved_operand()
    if first is None and parser.parse_optional_keyword(_ABSENT) is None:
        return []
    slots = [first]
    while parser.parse_optional_punctuation(",") is not None:
        slots.append(parse_slot())
    return slots


def _parse_properties(parser: Parser, definition: OpDef) -> dict[str, Attribute]:
    def parse_entry() -> tuple[str, Attribute]:
        position = parser.pos
        name = parser.parse_identifier()
        if name not in definition.properties or name == SEGMENT_SIZES:
            accepted = [key for key in definition.properties if key != SEGMENT_SIZES]
            parser.raise_error(
                f"{definition.name} has no property '{name}' (available: {', '.join(accepted)})", position
            )
        if parser.parse_optional_punctuation("=") is None:
            return name, UnitAttr()
        return name, parse_value(parser)

    entries = parser.parse_optional_comma_separated_list(Parser.Delimiter.BRACES, parse_entry)
    return dict(entries or ())


def _parse_types(parser: Parser, count: int) -> FunctionType:
    """Parses the function type, or one type for `count` operands and the only result (`x N` for N results)."""
    type_ = parser.parse_type()
    if isinstance(type_, FunctionType):
        return type_
    results = parser.parse_integer(False, False) if parser.parse_optional_keyword("x") is not None else 1
    return FunctionType.from_lists([type_] * count, [type_] * results)


def _segments(parser: Parser, definition: OpDef, slots: Sequence[object | None], position: int) -> list[int]:
    """Returns the number of written operands that belong to each operand definition."""
    definitions = [operand for _, operand in definition.operands]
    spare = len(slots) - sum(1 for operand in definitions if not isinstance(operand, VariadicDef))
    sizes: list[int] = []
    index = 0
    for operand in definitions:
        is_present = index < len(slots) and slots[index] is not None
        if isinstance(operand, VariadicDef) and not isinstance(operand, OptionalDef):
            sizes.append(max(0, min(spare, len(slots) - index)))
            index += sizes[-1]
            continue
        if not is_present and not isinstance(operand, OptionalDef):
            parser.raise_error(f"{definition.name} expects more operands", position)
        sizes.append(int(is_present))
        index += 1
    if index < len(slots):
        parser.raise_error(f"{definition.name} expects at most {index} operands, but got {len(slots)}", position)
    return sizes


class CommonFormatOp(IRDLOperation, ABC):
    """An operation in the format of this module."""

    def print(self, printer: Printer) -> None:
        _print_operands(self, printer)
        _print_properties(self, printer)
        printer.print_string(" : ")
        types = (*self.operand_types, *self.result_types)
        if self.operands and len(set(types)) == 1:
            printer.print_attribute(types[0])
            if len(self.results) > 1:
                printer.print_string(f" x {len(self.results)}")
        else:
            printer.print_operation_type(self)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        definition = cls.get_irdl_definition()
        position = parser.pos
        slots = _parse_operands(parser)
        properties = _parse_properties(parser, definition)
        parser.parse_punctuation(":")
        present = [slot for slot in slots if slot is not None]
        types_position = parser.pos
        types = _parse_types(parser, len(present))
        attributes = parser.parse_optional_attr_dict()
        operands = parser.resolve_operands(present, types.inputs.data, types_position)
        if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
            sizes = _segments(parser, definition, slots, position)
            properties[SEGMENT_SIZES] = DenseArrayBase.from_list(i32, sizes)
        results = types.outputs.data
        return cls.create(operands=operands, result_types=results, properties=properties, attributes=attributes)
