"""What ONNX has no word for, in `metadata_props`: one table of keys, and their text.

Attributes and types are written as MLIR writes them. The first node of an operation says which one it was; every value
says its quantized type and its statistics; the graph and the model say what a module and a function have besides.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from io import StringIO
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

from qmlir.dialects.calib.types import StatsAttr
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.export.emission import ExportForm, Settings
from qmlir.text.data import parse_data
from qmlir.text.parsing import parse_attribute
from qmlir.text.printing import ModulePrinter, PrintOptions, Weights

PREFIX = "qmlir."

EXPORT = "qmlir.export"
"""Model: the settings of the export and the version of these keys, as JSON."""

MODULE = "qmlir.module"
"""Model: the attributes of the module, but for those that are the model's own metadata and producer."""

PRODUCER = "qmlir.producer"
"""Model: that the module names no producer, where it is empty."""

FUNCTION = "qmlir.function"
"""Graph: the attributes of the function, of its arguments and of its results; its name."""

PLACE = "qmlir.place"
"""Node or tensor: the number of the operation in the function that it belongs to."""

OPERATION = "qmlir.operation"
"""First node of an operation: its name."""

OPERANDS, RESULTS = "qmlir.operands", "qmlir.results"
"""First node: the tensors that are the operands and the results, as JSON."""

PROPERTY, ATTRIBUTE = "qmlir.property.", "qmlir.attribute."
"""First node, or the tensor of a constant: each property and each attribute, provenance among them."""

TYPE = "qmlir.type"
"""Value: its type, where it is not what ONNX says of the tensor."""

HINT = "qmlir.name"
"""Value: its name in the text of the module, where it is not that of the tensor."""

STATISTICS = {name: f"qmlir.{name}" for name in ("min", "max", "mean", "std", "count")}
"""Value: its recorded statistics, as decimal numbers; the operation has all of them in `calib.stats`."""

VERSION = 1


def header(settings: Settings) -> str:
    """The value of `qmlir.export`."""
    return json.dumps({**asdict(settings), "version": VERSION})


def settings_of(text: str) -> Settings:
    """The settings in a value of `qmlir.export`. Raises `DiagnosticError` for any other text."""
    data = parse_data(text, f"'{EXPORT}'")
    data["version"].integer(VERSION, VERSION)
    exact = data.get("exact")
    return Settings(
        ExportForm(data["form"].text(list(ExportForm))),
        data["opset"].integer(1),
        None if exact is None else exact.boolean(),
        data["functions"].boolean(),
        data["signed"].boolean(),
    )


def attribute_text(attribute: Attribute) -> str:
    """An attribute or a type as MLIR writes it, without aliases."""
    printer = ModulePrinter(PrintOptions(aliases=False, weights=Weights.INLINE))
    printer.print_attribute(attribute)
    assert isinstance(printer.stream, StringIO)
    return printer.stream.getvalue()


class UnreadableError(Exception):
    """A piece of metadata that says nothing."""


class Reader:
    """Reads attributes and types; equal texts once."""

    def __init__(self) -> None:
        self.ctx: Context = default_environment().new_context()
        self._known: dict[str, Attribute] = {}

    def attribute(self, text: str) -> Attribute:
        """The attribute of a text. Raises `UnreadableError`."""
        if text not in self._known:
            try:
                self._known[text] = parse_attribute(self.ctx, text, "metadata")
            except DiagnosticError as error:
                raise UnreadableError(" ".join(error.diagnostic.message.split())[:200]) from error
        return self._known[text]

    def dictionary(self, text: str) -> dict[str, Attribute]:
        """The entries of a dictionary."""
        found = self.attribute(text)
        if not isinstance(found, DictionaryAttr):
            raise UnreadableError(f"expected a dictionary, but got {text[:80]}")
        return dict(found.data)

    @staticmethod
    def names(text: str) -> list[str]:
        """A list of names of tensors."""
        try:
            return [each.text() for each in parse_data(text, "the list of names")]
        except DiagnosticError as error:
            raise UnreadableError(error.diagnostic.message) from error


def entries(proto: Any) -> dict[str, str]:
    """The metadata of a model, graph, node, tensor or value."""
    return {each.key: each.value for each in proto.metadata_props}


def write(proto: Any, pairs: Mapping[str, str]) -> None:
    """Add metadata to a model, graph, node, tensor or value."""
    for key, value in pairs.items():
        proto.metadata_props.add(key=key, value=value)


def stats_of(attribute: Attribute | None, place: int) -> StatsAttr | None:
    """The statistics of the result at `place` of the operation that has this attribute."""
    if isinstance(attribute, ArrayAttr):
        found = list(cast(ArrayAttr[Attribute], attribute))
        attribute = found[place] if place < len(found) else None
    elif place:
        return None
    return attribute if isinstance(attribute, StatsAttr) else None


def statistics_of(stats: StatsAttr | None) -> dict[str, str]:
    """The readable statistics of a value."""
    if stats is None:
        return {}
    summary = stats.summary
    numbers = (summary.minimum, summary.maximum, summary.mean, summary.deviation)
    texts = [np.format_float_positional(number, trim="-") for number in numbers]
    return dict(zip(STATISTICS.values(), [*texts, str(summary.count)], strict=True))
