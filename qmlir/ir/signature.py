"""The signature of a function as its user knows it: names of inputs and outputs, and names of unknown sizes.

They are attributes of arguments and results: `nn.name = "image"`, and `nn.dims = ["batch", "", "", ""]` where some
size of the model has a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

MAIN = "main"
"""The function that a model is: what programs begin with, unless another one is asked for."""

NAME = "nn.name"
DIMS = "nn.dims"
ELEMENT = "nn.element"
"""The element type that the caller's array has, where the function's own type does not say it: `ui8` for an `i8`."""
REFUSES_NAN = "nn.refuses_nan"
"""Marks an argument whose floats must be numbers: they are quantized, and no integer stands for NaN."""
RESULT = "nn.result"
"""Marks an argument that is memory for a result."""


@dataclass(frozen=True)
class Port:
    """One input or output: its name, its type, and the name of each of its sizes (empty where it has none)."""

    name: str
    type: Attribute
    dims: tuple[str, ...] = ()
    element: Attribute | None = None
    """The element type of the caller's array, where `type` does not say it."""

    def of_caller(self) -> "Port":
        """This port as a caller sees it at every level: an array, with the elements that the model has."""
        type_: Attribute = self.type
        if not isinstance(type_, TensorType | MemRefType):
            return self
        shaped = cast(TensorType[Attribute] | MemRefType[Attribute], type_)
        element = self.element or shaped.get_element_type()
        return replace(self, type=TensorType(cast(Any, element), shaped.get_shape()))

    def attributes(self) -> DictionaryAttr:
        """The attributes that say this of an argument or a result."""
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


def _port(name: str, type_: Attribute, entry: Entry) -> Port:
    given = entry.get(NAME)
    return Port(
        given.data if isinstance(given, StringAttr) else name,
        type_,
        tuple(_strings(entry.get(DIMS))),
        entry.get(ELEMENT),
    )


def _entries(types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> list[tuple[Attribute, Entry]]:
    nothing: Entry = {}
    entries = [entry.data for entry in attributes] if attributes else [nothing] * len(types)
    return list(zip(types, entries, strict=True))


def _arguments(function: FuncOp, *, results: bool) -> list[tuple[Attribute, Entry]]:
    """The arguments of `function` that are memory for results, or the other ones."""
    entries = _entries(function.function_type.inputs.data, function.arg_attrs)
    return [(type_, entry) for type_, entry in entries if (RESULT in entry) == results]


def inputs_of(function: FuncOp) -> tuple[Port, ...]:
    """The inputs of `function`; one without a name is `input0`, `input1`, … by its place.

    Memory for results, which comes after all inputs, is not an input.
    """
    inputs = enumerate(_arguments(function, results=False))
    return tuple(_port(f"input{place}", type_, entry) for place, (type_, entry) in inputs)


def memory_outputs_of(function: FuncOp) -> tuple[Port, ...]:
    """The outputs of `function` that its caller gives memory for."""
    outputs = enumerate(_arguments(function, results=True))
    return tuple(_port(f"output{place}", type_, entry) for place, (type_, entry) in outputs)


def outputs_of(function: FuncOp) -> tuple[Port, ...]:
    """The outputs of `function`; one without a name is `output0`, `output1`, … by its place.

    Those that are written into memory of the caller come before those that are returned.
    """
    memory = memory_outputs_of(function)
    returned = enumerate(_entries(function.function_type.outputs.data, function.res_attrs), len(memory))
    return (*memory, *(_port(f"output{place}", type_, entry) for place, (type_, entry) in returned))


def set_ports(function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Give the arguments and results of `function` the names of `inputs` and `outputs`."""
    function.arg_attrs = ArrayAttr(port.attributes() for port in inputs)
    function.res_attrs = ArrayAttr(port.attributes() for port in outputs)
