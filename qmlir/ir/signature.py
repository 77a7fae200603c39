"""The signature of a function as its user knows it: names of inputs and outputs, and names of unknown sizes.

They are attributes of arguments and results: `nn.name = "image"`, and `nn.dims = ["batch", "", "", ""]` where some
size of the model has a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

NAME = "nn.name"
DIMS = "nn.dims"


@dataclass(frozen=True)
class Port:
    """One input or output: its name, its type, and the name of each of its sizes (empty where it has none)."""

    name: str
    type: Attribute
    dims: tuple[str, ...] = ()

    def attributes(self) -> DictionaryAttr:
        """The attributes that say this of an argument or a result."""
        entries: dict[str, Attribute] = {NAME: StringAttr(self.name)} if self.name else {}
        if any(self.dims):
            entries[DIMS] = ArrayAttr(StringAttr(dim) for dim in self.dims)
        return DictionaryAttr(entries)


def _strings(attribute: Attribute | None) -> Iterator[str]:
    for each in cast(ArrayAttr[Attribute], attribute) if isinstance(attribute, ArrayAttr) else ():
        yield each.data if isinstance(each, StringAttr) else ""


def _ports(types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None, prefix: str) -> tuple[Port, ...]:
    nothing: Mapping[str, Attribute] = {}
    entries = [entry.data for entry in attributes] if attributes else [nothing] * len(types)
    ports: list[Port] = []
    for place, (type_, entry) in enumerate(zip(types, entries, strict=True)):
        name, dims = entry.get(NAME), entry.get(DIMS)
        ports.append(
            Port(
                name.data if isinstance(name, StringAttr) else f"{prefix}{place}",
                type_,
                tuple(_strings(dims)),
            )
        )
    return tuple(ports)


def inputs_of(function: FuncOp) -> tuple[Port, ...]:
    """The inputs of `function`; one without a name is `input0`, `input1`, … by its place."""
    return _ports(function.function_type.inputs.data, function.arg_attrs, "input")


def outputs_of(function: FuncOp) -> tuple[Port, ...]:
    """The outputs of `function`; one without a name is `output0`, `output1`, … by its place."""
    return _ports(function.function_type.outputs.data, function.res_attrs, "output")


def set_ports(function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    """Give the arguments and results of `function` the names of `inputs` and `outputs`."""
    function.arg_attrs = ArrayAttr(port.attributes() for port in inputs)
    function.res_attrs = ArrayAttr(port.attributes() for port in outputs)
