"""The attribute `#target.spec<…>`: the description of a target, attached to a module for its passes to read.

    #target.spec<"npu", keep = ["softmax"], requantize = [shift:even], supports = [
      {op = "nn.conv", input = {storages = [i8], schemes = [symmetric_pow2]}, properties = {groups = [1]}}]>

A module lists its targets, in order of preference, in its attribute `target.specs`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant import syntax
from qmlir.dialects.quant.types import storage_limits
from qmlir.dialects.target.description import FIELDS, FLOATS, Accepted, Description, Plain, Support, plain_text
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.ir.interfaces import Slot

TARGETS = "target.specs"
"""The module attribute that lists the targets of a module in order of preference."""

PART = "target.part"
"""The function attribute that names the target that computes the function."""

Value = TypeVar("Value")
_Readers = Mapping[str, Callable[[AttrParser], Any]]


def _list(parse: Callable[[AttrParser], Value]) -> Callable[[AttrParser], tuple[Value, ...]]:
    """Returns a parser for `[a, b]`."""

    def read(parser: AttrParser) -> tuple[Value, ...]:
        return tuple(parser.parse_comma_separated_list(AttrParser.Delimiter.SQUARE, lambda: parse(parser)))

    return read


def _string(parser: AttrParser) -> str:
    return parser.parse_str_literal()


def _storage(parser: AttrParser) -> str:
    text = next((each for each in FLOATS if parser.parse_optional_keyword(each)), None)
    if text is not None:
        return text
    storage, limits = syntax.parse_storage(parser, storage_limits)
    kind = "u" if storage.signedness.data.name == "UNSIGNED" else "i"
    return f"{kind}{storage.width.data}" + ("" if limits is None else f"<{limits[0]}:{limits[1]}>")


def _word(parser: AttrParser) -> str:
    """Parses `symmetric`, or two words with a colon: `block:32`, `shift:even`."""
    first = parser.parse_identifier()
    if parser.parse_optional_punctuation(":") is None:
        return first
    second = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    return f"{first}:{parser.parse_identifier() if second is None else second}"


def _plain(parser: AttrParser) -> Plain:
    if (text := parser.parse_optional_str_literal()) is not None:
        return text
    if parser.parse_optional_keyword("none"):
        return None
    values = parser.parse_optional_comma_separated_list(AttrParser.Delimiter.SQUARE, lambda: _plain(parser))
    if values is not None:
        return tuple(values)
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    return parser.parse_number()


def _entries(parser: AttrParser, parse: Callable[[AttrParser], Value]) -> dict[str, Value]:
    """Parses `{name = value, …}` with any names."""
    found: dict[str, Value] = {}

    def entry() -> None:
        position = parser.pos
        name = parser.parse_identifier()
        if name in found:
            parser.raise_error(f"duplicate field '{name}'", position)
        parser.parse_punctuation("=")
        found[name] = parse(parser)

    parser.parse_comma_separated_list(AttrParser.Delimiter.BRACES, entry)
    return found


def _field(parser: AttrParser, readers: _Readers, found: dict[str, Any], what: str) -> None:
    """Parses `name = value`, where the name is one of `readers`."""
    position = parser.pos
    name = parser.parse_identifier()
    if name not in readers:
        near = nearest_name(name, readers)
        parser.raise_error(f"{what} has no field '{name}'{near} (available: {', '.join(readers)})", position)
    if name in found:
        parser.raise_error(f"duplicate field '{name}'", position)
    parser.parse_punctuation("=")
    found[name] = readers[name](parser)


def _fields(parser: AttrParser, readers: _Readers, what: str) -> dict[str, Any]:
    """Parses `{name = value, …}`, where the names are those of `readers`."""
    found: dict[str, Any] = {}
    parser.parse_comma_separated_list(AttrParser.Delimiter.BRACES, lambda: _field(parser, readers, found, what))
    return found


_ACCEPTED: _Readers = {
    "storages": _list(_storage),
    **dict.fromkeys(("schemes", "granularities", "scales"), _list(_word)),
}


def _accepted(parser: AttrParser) -> Accepted:
    return Accepted(**_fields(parser, _ACCEPTED, "a slot"))


_SUPPORT: _Readers = {
    "op": _string,
    "role": _string,
    **{slot.value: _accepted for slot in Slot},
    "properties": lambda parser: _entries(parser, _list(_plain)),
    "requantize": _list(_word),
    "adder": _storage,
}


def _support(parser: AttrParser) -> Support:
    found = _fields(parser, _SUPPORT, "a support")
    found.setdefault("op", "")
    return Support(**found)


_DESCRIPTION: _Readers = {
    "keep": _list(_string),
    "supports": _list(_support),
    "requantize": _list(_word),
    "raises": _list(_string),
    "patterns": _list(_string),
    "parameters": lambda parser: _entries(parser, _plain),
}
assert tuple(_DESCRIPTION) == FIELDS


def _quoted(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(plain_text, texts))}]"


def _words(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _braces(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{name} = {text}" for name, text in pairs) + "}"


def _accepted_text(accepted: Accepted) -> str:
    return _braces((name, _words(texts)) for name in _ACCEPTED if (texts := getattr(accepted, name)))


def _support_text(support: Support) -> str:
    pairs = [("op", plain_text(support.op))]
    if support.role != "*":
        pairs.append(("role", plain_text(support.role)))
    pairs += [(slot, _accepted_text(each)) for slot in Slot if (each := support.slot(slot)) is not None]
    if support.properties:
        pairs.append(("properties", _braces((name, plain_text(each)) for name, each in support.properties.items())))
    if support.requantize:
        pairs.append(("requantize", _words(support.requantize)))
    if support.adder:
        pairs.append(("adder", support.adder))
    return _braces(pairs)


_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "keep": _quoted,
    "supports": lambda supports: f"[{', '.join(map(_support_text, supports))}]",
    "requantize": _words,
    "raises": _quoted,
    "patterns": _quoted,
    "parameters": lambda parameters: _braces((name, plain_text(value)) for name, value in parameters.items()),
}


@irdl_attr_definition
class TargetSpecAttr(Data[Description]):
    """The description of a target: `#target.spec<"npu", keep = […], supports = [{op = "nn.conv", …}], …>`."""

    name = "target.spec"

    def verify(self) -> None:
        try:
            self.data.check()
        except ValueError as error:
            raise VerifyException(str(error)) from error

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Description:
        with parser.in_angle_brackets():
            name = parser.parse_str_literal(" of the name of a target")
            found: dict[str, Any] = {}
            while parser.parse_optional_punctuation(",") is not None:
                _field(parser, _DESCRIPTION, found, "a target")
        return Description(name, **found)

    def print_parameter(self, printer: Printer) -> None:
        texts = [plain_text(self.data.name)]
        for name in FIELDS:
            if value := getattr(self.data, name):
                texts.append(f"{name} = {_TEXTS[name](value)}")
        printer.print_string(f"<{', '.join(texts)}>")


def targets_of(module: Operation) -> tuple[Description, ...]:
    """Returns the targets of a module in order of preference; empty if it has no such attribute.

    Raises `DiagnosticError` if the attribute is not a list of targets with distinct names.
    """
    attribute: Attribute | None = module.attributes.get(TARGETS)
    if attribute is None:
        return ()
    listed = cast(ArrayAttr[Attribute], attribute).data if isinstance(attribute, ArrayAttr) else ()
    found = tuple(each.data for each in listed if isinstance(each, TargetSpecAttr))
    if not found or len(found) != len(listed):
        raise op_error(module, f"{TARGETS} must be a list of #target.spec<…>, but got {attribute}")
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise op_error(module, f"target '{twice}' is listed twice in {TARGETS}")
    return found


def set_targets(module: Operation, targets: Iterable[Description]) -> None:
    """Sets the targets of a module, given in order of preference."""
    module.attributes[TARGETS] = ArrayAttr(TargetSpecAttr(each) for each in targets)
