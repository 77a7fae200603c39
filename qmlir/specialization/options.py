"""Shapes and values of inputs as text: `image=1x3x224x224`, `k=3`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.ops.constant import storage_element
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import check_known_inputs
from qmlir.text.elements import dense_dtype


def _named(entries: Iterable[str], what: str) -> Iterator[tuple[str, str, str]]:
    """Each entry with its name and its text."""
    seen: set[str] = set()
    for entry in entries:
        # Names of tensors may hold any character, an equals sign too.
        name, equals, text = entry.rpartition("=")
        if name in seen:
            raise text_error(f"duplicate {what} for '{name}'")
        seen.add(name)
        yield entry, name if equals else "", text


def parse_shapes(entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """`name=1x3` as a shape by name; `name=scalar` has no sizes. Raises `DiagnosticError`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for entry, name, text in _named(entries, "shape"):
        sizes = [] if text == "scalar" else text.split("x")
        if not name or not all(size.isdecimal() for size in sizes):
            raise text_error(f"invalid shape '{entry}': expected NAME=SIZExSIZE, such as image=1x3x224x224")
        shapes[name] = tuple(map(int, sizes))
    return shapes


def parse_sizes(entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """`sequence=16x64` as numbers above 0, in order, by the name of an open size. Raises `DiagnosticError`."""
    sizes: dict[str, tuple[int, ...]] = {}
    for entry, name, text in _named(entries, "size"):
        numbers = sorted({int(size) for size in text.split("x") if size.isdecimal()})
        if not name or not all(size.isdecimal() for size in text.split("x")) or numbers[0] < 1:
            raise text_error(
                f"invalid size '{entry}': expected NAME=MAX or NAME=SIZExSIZE, such as sequence=256 or sequence=16x64"
            )
        sizes[name] = tuple(numbers)
    return sizes


def _not_a_value(entry: str) -> str:
    return f"invalid value '{entry}': expected NAME=NUMBERxNUMBER, such as axes=2x-1"


def _number(text: str) -> int | float:
    # An i64 is not always a float.
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def parse_numbers(entries: Sequence[str]) -> dict[str, tuple[int | float, ...]]:
    """`name=2x-1` or `name=0.5x2` as numbers by name, `name=` as none. Raises `DiagnosticError`."""
    values: dict[str, tuple[int | float, ...]] = {}
    for entry, name, text in _named(entries, "value"):
        if not name:
            raise text_error(_not_a_value(entry))
        try:
            values[name] = tuple(map(_number, text.split("x"))) if text else ()
        except ValueError as error:
            raise text_error(_not_a_value(entry)) from error
    return values


def parse_values(function: FuncOp, entries: Sequence[str]) -> dict[str, Array]:
    """The values that `entries` give inputs of `function`: lists and scalars, as arrays in the types of the inputs."""
    numbers = parse_numbers(entries)
    check_known_inputs(function, numbers)
    return _arrays(function, numbers)


def _arrays(function: FuncOp, numbers: Mapping[str, Sequence[int | float]]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for port in inputs_of(function):
        if port.name not in numbers:
            continue
        type_, given = ranked_tensor(port.type), numbers[port.name]
        dtype = None if type_ is None else dense_dtype(storage_element(type_.get_element_type()))
        rank = None if type_ is None else type_.get_num_dims()
        if rank not in (0, 1):
            raise op_error(
                function, f"input '{port.name}' must be a scalar or a vector to be set here, but got type {port.type}"
            )
        if rank == 0 and len(given) != 1:
            raise op_error(function, f"input '{port.name}' is a scalar and takes one number, but got {len(given)}")
        found[port.name] = np.array(given if rank else given[0], dtype=dtype)
    return found
