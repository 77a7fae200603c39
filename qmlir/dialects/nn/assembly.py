"""The common assembly format of all `nn` operations.

    %y = nn.conv %x, %w, %b {strides = [2, 2]} : (tensor<…>, tensor<…>, tensor<…>) -> tensor<…> {origin = "conv1"}

The format consists of, in this order:

- the operands in the order of their definition, where `_` stands for an omitted optional operand before a present one;
- the properties that differ from their defaults, as plain integers, lists, strings, floats and flags;
- a single type if all types are equal, and otherwise the function type;
- the discardable attributes, including provenance.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

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

OperationT = TypeVar("OperationT", bound=IRDLOperation)

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
    text = repr(float(str(np.float32(number))))
    return text if "." in text else text.replace("e", ".0e")


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
    """Returns a list attribute of strings, of i64, or of f32 if one of its numbers is written as a float."""
    texts = [entry for entry in entries if isinstance(entry, str)]
    numbers = [entry for entry in entries if not isinstance(entry, str)]
    if texts and numbers:
        parser.raise_error("expected a list of strings or a list of numbers, but got both")
    if texts:
        return ArrayAttr([StringAttr(text) for text in texts])
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


def _visible_properties(op: IRDLOperation) -> dict[str, Attribute]:
    definitions = op.get_irdl_definition().properties
    return {
        name: value
        for name, value in op.properties.items()
        if name != SEGMENT_SIZES and value != definitions[name].default_value
    }


def _print_properties(op: IRDLOperation, printer: Printer) -> None:
    properties = _visible_properties(op)
    if not properties:
        return

    def print_entry(entry: tuple[str, Attribute]) -> None:
        name, value = entry
        printer.print_string(name)
        if not isinstance(value, UnitAttr):
            printer.print_string(" = ")
            print_value(printer, value)

    printer.print_string(" ")
    with printer.in_braces():
        printer.print_list(properties.items(), print_entry)


def print_operation(op: IRDLOperation, printer: Printer) -> None:
    """Prints `op` after its name in the format of this module."""
    _print_operands(op, printer)
    _print_properties(op, printer)
    printer.print_string(" : ")
    types = (*op.operand_types, *op.result_types)
    if op.operands and len(set(types)) == 1:
        printer.print_attribute(types[0])
        if len(op.results) > 1:
            printer.print_string(f" x {len(op.results)}")
    else:
        printer.print_operation_type(op)
    printer.print_op_attributes(op.attributes)


def _parse_operands(parser: Parser) -> list[UnresolvedOperand | None]:
    slots: list[UnresolvedOperand | None] = []

    def parse_slot() -> UnresolvedOperand | None:
        if parser.parse_optional_keyword(_ABSENT) is not None:
            return None
        return parser.parse_unresolved_operand()

    if (first := parser.parse_optional_unresolved_operand()) is not None:
        slots.append(first)
    elif parser.parse_optional_keyword(_ABSENT) is not None:
        slots.append(None)
    else:
        return slots
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
        if isinstance(operand, OptionalDef):
            present = index < len(slots) and slots[index] is not None
            sizes.append(1 if present else 0)
            index += 1
        elif isinstance(operand, VariadicDef):
            count = max(0, min(spare, len(slots) - index))
            sizes.append(count)
            index += count
        else:
            if index >= len(slots) or slots[index] is None:
                parser.raise_error(f"{definition.name} expects more operands", position)
            sizes.append(1)
            index += 1
    if index < len(slots):
        parser.raise_error(f"{definition.name} expects at most {index} operands, but got {len(slots)}", position)
    return sizes


def parse_operation(cls: type[OperationT], parser: Parser) -> OperationT:
    """Parses an operation in the format that `print_operation` prints."""
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
    return cls.create(operands=operands, result_types=types.outputs.data, properties=properties, attributes=attributes)
