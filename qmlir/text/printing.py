"""The printer: aliases for long types and large attributes, exact numbers, and weights inline, elided or in a file."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import AnyFloat, Builtin
from xdsl.ir import Attribute, BuiltinAttribute, Operation, TypeAttribute
from xdsl.printer import Printer

from qmlir.ir.builtin_types import AnyDense, as_dense, as_float, ranked_tensor
from qmlir.ir.diagnostics import text_error
from qmlir.text.elements import dense_dtype, elements_text, float_text
from qmlir.text.weights import ExternalWeightsAttr, WeightsWriter, names_weights
from qmlir.text.writing import Derived, check_file, is_stream, write_file, write_with_derived

ALIAS_LENGTH = 24
"""The text length above which dialect types and attributes are printed as an alias."""

ELEMENTS_ALIAS_BYTES = 64
"""The size above which dense elements are printed as an alias."""

EXTERNAL_BYTES = 1024
"""The size above which weights are omitted from the text unless they are requested inline."""


class Weights(StrEnum):
    """Where to write large weights."""

    INLINE = "inline"
    ELIDE = "elide"
    SIDECAR = "sidecar"


@dataclass(frozen=True)
class PrintOptions:
    """Options of the printer."""

    generic: bool = False
    debuginfo: bool = False
    aliases: bool = True
    weights: Weights = Weights.ELIDE
    upstream: bool = False
    """Whether to print operations that upstream MLIR lacks in generic form.

    `mlir-opt` reads them with `--allow-unregistered-dialect`.
    """


UPSTREAM_PRETTY = frozenset({"arith", "builtin", "func", "quant"})
"""Dialects whose custom formats `mlir-opt` can read as xDSL and qmlir print them."""


_ESCAPED_BYTE = re.compile(rb'[^ -~]|["\\]')


def _escape(byte: bytes) -> bytes:
    return rb"\\" if byte == b"\\" else b"\\%02X" % ord(byte)


class ModulePrinter(Printer):
    """Extends xDSL's printer with aliases, exact floats, and weights outside the text."""

    def __init__(self, options: PrintOptions, writer: WeightsWriter | None = None):
        super().__init__(stream=StringIO(), print_generic_format=options.generic, print_debuginfo=options.debuginfo)
        self.options = options
        self.writer = writer
        self.definitions: list[str] = []
        self.elided_bytes = 0
        """Bytes of weights that are neither in the text nor in a file."""
        self._texts: dict[Attribute, str | None] = {}
        self._numbers: Counter[str] = Counter()
        self._within_dialect = False

    def print_attribute(self, attribute: Attribute) -> None:
        if (elements := as_dense(attribute)) is not None:
            self._print_aliased(elements, "#w", len(elements.data.data) > ELEMENTS_ALIAS_BYTES)
        elif (number := as_float(attribute)) is not None:
            self.print_string(f"{float_text(number.value.data, number.type)} : ")
            self.print_attribute(number.type)
        elif isinstance(attribute, BuiltinAttribute):
            super().print_attribute(attribute)
        elif isinstance(attribute, ExternalWeightsAttr):
            self._print_aliased(attribute, "#w", True)
        elif isinstance(attribute, TypeAttribute):
            self._print_aliased(attribute, f"!{attribute.name[0]}", None)
        else:
            self._print_aliased(attribute, f"#{attribute.name[0]}", None)

    def print_op(self, op: Operation) -> None:
        if self.options.upstream and not self.options.generic:
            self.print_generic_format = op.dialect_name() not in UPSTREAM_PRETTY
        super().print_op(op)

    def print_operation_type(self, op: Operation) -> None:
        # xDSL puts the location after the type, where custom formats continue; here it ends an operation.
        self.print_function_type(op.operand_types, op.result_types)

    def print_op_with_default_format(self, op: Operation) -> None:
        super().print_op_with_default_format(op)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def print_bytes_literal(self, bytestring: bytes) -> None:
        # xDSL prints each byte separately, which dominates the time of printing long names.
        text = _ESCAPED_BYTE.sub(lambda found: _escape(found[0]), bytestring).decode("ascii")
        self.print_string(f'"{text}"')

    def print_float(self, value: float, type: AnyFloat) -> None:
        self.print_string(float_text(value, type))

    def _print_aliased(self, attribute: Attribute, prefix: str, is_long: bool | None) -> None:
        """Prints `attribute` or its alias; if `is_long` is `None`, the length of its text decides.

        Within a dialect's attribute or type nothing is an alias: upstream MLIR keeps their bodies as raw text and drops
        the definition of an alias that only such a text names.
        """
        if self._within_dialect:
            self.print_string(self._render(attribute))
            return
        if attribute in self._texts:
            self.print_string(self._texts[attribute] or self._render(attribute))
            return
        text = self._render(attribute)
        if is_long is None:
            is_long = len(text) > ALIAS_LENGTH
        if self.options.aliases and is_long:
            name = f"{prefix}{self._numbers[prefix]}"
            self._numbers[prefix] += 1
            self.definitions.append(f"{name} = {text}\n")
            text = name
        self._texts[attribute] = text
        self.print_string(text)

    def _render(self, attribute: Attribute) -> str:
        """Returns the text of `attribute` itself, defining aliases for its parts."""
        outer, self.stream = self.stream, StringIO()
        column, is_within = self._current_column, self._within_dialect
        self._within_dialect = is_within or not isinstance(attribute, BuiltinAttribute)
        try:
            if (elements := as_dense(attribute)) is not None:
                self._print_elements(elements)
            else:
                super().print_attribute(attribute)
            return self.stream.getvalue()
        finally:
            self.stream = outer
            self._current_column, self._within_dialect = column, is_within

    def _print_elements(self, attribute: AnyDense) -> None:
        type_ = ranked_tensor(attribute.get_type())
        if (
            type_ is not None
            and dense_dtype(type_.get_element_type()) is not None
            and len(attribute.data.data) > EXTERNAL_BYTES
            and self.options.weights is not Weights.INLINE
        ):
            if self.writer is not None:
                super().print_attribute(self.writer.add(attribute))
            else:
                self.elided_bytes += len(attribute.data.data)
                super().print_attribute(ExternalWeightsAttr.elided(type_))
            return
        text = elements_text(attribute)
        if text is None:
            attribute.print_without_type(self)
        else:
            self.print_string(f"dense<{text}>")
        self.print_string(" : ")
        self.print_attribute(attribute.get_type())

    def module_text(self, op: Operation) -> str:
        """Returns the alias definitions, the text of `op` and the resources that it uses, ending in a newline."""
        assert isinstance(self.stream, StringIO)
        self.print_op(op)
        self.print_metadata([Builtin])
        definitions = "".join(self.definitions)
        return f"{definitions}{self.stream.getvalue()}\n"


def module_text(op: Operation, options: PrintOptions = PrintOptions()) -> str:
    """Returns the text of a module or any other operation. For `Weights.SIDECAR`, use `save_module` instead."""
    return ModulePrinter(options).module_text(op)


def save_module(op: Operation, path: Path, options: PrintOptions = PrintOptions()) -> None:
    """Writes a module to `path`, and its large weights to a `.safetensors` file next to it.

    If `path` is a device or pipe, the weights are written inline. Raises `DiagnosticError` if a file cannot be written,
    or if there is a weights file that does not belong to `path`.
    """
    if options.weights is not Weights.SIDECAR or is_stream(path):
        if options.weights is Weights.SIDECAR:
            options = replace(options, weights=Weights.INLINE)
        write_file(path, ModulePrinter(options).module_text(op))
        return
    beside = _sidecar(path)
    writer = WeightsWriter(beside.path.name)
    text = ModulePrinter(options, writer).module_text(op)
    if not writer:
        write_file(path, text)
    elif beside.path == path:
        raise text_error(f"cannot write '{path}': its weights need a file with the same stem; use the suffix .mlir")
    else:
        write_with_derived(path, text.encode(), beside, writer.pieces())


def _sidecar(path: Path) -> Derived:
    beside = path.with_suffix(".safetensors")
    return Derived(beside, lambda content: names_weights(content.decode(errors="replace"), beside))


def check_module_file(path: Path) -> None:
    """Raises `DiagnosticError` if `save_module` cannot write a module with large weights to `path`."""
    check_file(path)
    if not is_stream(path):
        _sidecar(path).check(path)


_EXCERPT_OPTIONS = PrintOptions(generic=True, aliases=False)
_EXCERPT_WIDTH = 160


def op_excerpt(op: Operation) -> str:
    """Returns `op` without its regions, between the operations before and after it, for an error message."""
    printer = ModulePrinter(_EXCERPT_OPTIONS)
    nearby = (each for each in (op.prev_op, op, op.next_op) if each is not None)
    return "\n".join(f"{'>' if each is op else ' '} {_line(printer, each)}" for each in nearby)


def _line(printer: ModulePrinter, op: Operation) -> str:
    printer.stream = StringIO()
    if op.results:
        printer.print_list(op.results, printer.print_ssa_value)
        printer.print_string(" = ")
    printer.print_string(op.name)
    printer.print_operands(op.operands)
    printer.print_op_attributes(op.properties | op.attributes)
    printer.print_string(" : ")
    printer.print_operation_type(op)
    text = printer.stream.getvalue().replace("\n", " ")
    return text if len(text) <= _EXCERPT_WIDTH else f"{text[:_EXCERPT_WIDTH]}…"
