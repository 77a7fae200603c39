"""The user-visible signature of a function: names of inputs, outputs and dynamic dimensions.

These names are attributes of arguments and results: `nn.name = "image"`, and `nn.dims = ["batch", "", "", ""]` if the
model names a dimension.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qmlir.ir.builtin_types import tensor_or_memref

MAIN = "main"
"""The entry function of a model, which runs unless another one is requested."""

NAME = "nn.name"
DIMS = "nn.dims"
ELEMENT = "nn.element"
"""The element type of the caller's array, if the function's type doesn't determine it, such as `ui8` for `i8`, or a
quantized type with the scale and zero point of stored integers."""
REFUSES_NAN = "nn.refuses_nan"
"""Marks an argument whose elements must not be NaN, because they are quantized and no integer represents NaN."""
RESULT = "nn.result"
"""Marks an argument that is memory for a result."""


@dataclass(frozen=True)
class Port:
    """An input or output: its name, its type, and the names of its dimensions (empty for unnamed ones)."""

    name: str
    type: Attribute
    dims: tuple[str, ...] = ()
    element: Attribute | None = None
    """The element type of the caller's array if `type` doesn't determine it."""

    def of_caller(self) -> "Port":
        """Returns this port as callers see it at every level of lowering: as an array with the model's element type."""
        shaped = tensor_or_memref(self.type)
        if shaped is None:
            return self
        element = self.element or shaped.get_element_type()
        return replace(self, type=TensorType(cast(Any, element), shaped.get_shape()))

    def attributes(self) -> DictionaryAttr:
        """Returns the attributes that describe this port on an argument or result."""
        entries: dict[str, Attribute] = {NAME: StringAttr(self.name)} if self.name else {}
        if any(self.dims):
            entries[DIMS] = ArrayAttr(StringAttr(dim) for dim in self.dims)
        if self.element is not None:
            entries[ELEMENT] = self.element
        return DictionaryAttr(entries)


def _strings(attribute: Attribute | None) -> Iterator[str]:
    for each in cast(ArrayAttr[Attribute], attribute) if isinstance(attribute, ArrayAttr) else ():
        yield each.data if isinstance(each, StringAttr) else ""


Entry = Mapping[str, Attribute]


def _ports(kind: str, entries: Iterable[tuple[Attribute, Entry]], first: int = 0) -> tuple[Port, ...]:
    """Returns the ports with these types and attributes; unnamed ones are numbered from `first`."""
    found: list[Port] = []
    for position, (type_, entry) in enumerate(entries, first):
        given = entry.get(NAME)
        name = given.data if isinstance(given, StringAttr) else f"{kind}{position}"
        found.append(Port(name, type_, tuple(_strings(entry.get(DIMS))), entry.get(ELEMENT)))
    return tuple(found)


def _entries(types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> list[tuple[Attribute, Entry]]:
    nothing: Entry = {}
    entries = [entry.data for entry in attributes] if attributes else [nothing] * len(types)
    return list(zip(types, entries, strict=True))


def _arguments(function: FuncOp, *, results: bool) -> list[tuple[Attribute, Entry]]:
    """Returns the arguments of `function` that are memory for results, or the other ones."""
    entries = _entries(function.function_type.inputs.data, function.arg_attrs)
    return [(type_, entry) for type_, entry in entries if (RESULT in entry) == results]


def inputs_of(function: FuncOp) -> tuple[Port, ...]:
    """Returns the inputs of `function`; unnamed ones are `input0`, `input1`, … by their index.

    Arguments that are memory for results come after all inputs, and are not included.
    """
    return _ports("input", _arguments(function, results=False))


def memory_outputs_of(function: FuncOp) -> tuple[Port, ...]:
    """Returns the outputs of `function` for which the caller provides memory."""
    return _ports("output", _arguments(function, results=True))


def outputs_of(function: FuncOp) -> tuple[Port, ...]:
    """Returns the outputs of `function`; unnamed ones are `output0`, `output1`, … by their index.

    Outputs that are written to the caller's memory come before returned outputs.
    """
    memory = memory_outputs_of(function)
    returned = _entries(function.function_type.outputs.data, function.res_attrs)
    return (*memory, *_ports("output", returned, len(memory)))


def set_ports(function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Sets the names of the arguments and results of `function` to those of `inputs` and `outputs`."""
    function.arg_attrs = ArrayAttr(port.attributes() for port in inputs)
    function.res_attrs = ArrayAttr(port.attributes() for port in outputs)
