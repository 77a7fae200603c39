"""Shapes and values of function inputs: parsing them from text and checking them against the signature."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, i1
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.quant.infer import scaling_of
from qmlir.dialects.quant.types import storage_limits
from qmlir.ir.builtin_types import AnyTensor, as_integer, as_small_float, ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import nearest_name, op_error, text_error, unknown
from qmlir.ir.interfaces import HeldElement
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.text.elements import dense_dtype

# Checks of the shapes and values that a caller passes, including dimensions that share a name.


def function_of(module: ModuleOp, name: str) -> FuncOp:
    """Returns the function `name` of `module`. Raises `DiagnosticError` if there is none with a body."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    function = functions.get(name)
    if function is None:
        raise text_error(unknown("function", name, functions))
    if function.is_declaration:
        raise op_error(function, f"@{name} has no body")
    return function


def shape_text(shape: Sequence[int]) -> str:
    """Formats a shape for messages, such as `1x?x3`."""
    return "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in shape) or "scalar"


def input_shapes(function: FuncOp) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the inputs that are ranked tensors, by name; `DYNAMIC_INDEX` stands for a dynamic size."""
    types = ((port.name, ranked_tensor(port.type)) for port in inputs_of(function))
    return {name: type_.get_shape() for name, type_ in types if type_ is not None}


def port_text(port: Port) -> str:
    """Formats an input or output for users, such as `image: 1x3x32x32 f32`."""
    port = port.of_caller()
    type_ = ranked_tensor(port.type)
    if type_ is None:
        return f"{port.name}: {port.type}"
    element = type_.get_element_type()
    scale, zero_point = scaling_of(element)
    scaling = "" if scale is None else f", scale {scale:.9g}, zero point {zero_point}"
    return f"{port.name}: {shape_text(type_.get_shape())} {storage_element(element)}{scaling}"


def missing_inputs(ports: Iterable[Port]) -> str:
    """Returns the error message for inputs without a value, with their types and the option to pass."""
    missing = [port.of_caller() for port in ports]
    listed = ", ".join(f"'{port.name}' ({port_text(port).removeprefix(f'{port.name}: ')})" for port in missing)
    what = f"input{'s' if len(missing) > 1 else ''} {listed}"
    return f"no value for {what}; help: pass --input FILE.npz (inputs={{'{missing[0].name}': array}})"


def signature_text(function: FuncOp) -> str:
    """Returns one line for each input and output of a function."""
    takes = [f"takes {port_text(port)}" for port in inputs_of(function)]
    return "".join(f"{line}\n" for line in (*takes, *(f"gives {port_text(port)}" for port in outputs_of(function))))


def check_known_inputs(function: FuncOp, names: Iterable[str]) -> None:
    """Raises `DiagnosticError` for a name that is not an input of `function`."""
    inputs = [port.name for port in inputs_of(function)]
    for name in names:
        if name not in inputs:
            known = ", ".join(inputs) or "none"
            raise op_error(function, f"has no input '{name}'{nearest_name(name, inputs)} (available: {known})")


def check_shape(function: FuncOp, port: Port, found: Sequence[int], sizes: dict[str, int]) -> None:
    """Checks a shape against the type of an input. `sizes` collects the size of each named dimension."""
    type_ = ranked_tensor(port.type)
    if type_ is None:
        return
    if not shapes_agree(type_.get_shape(), found):
        raise op_error(
            function,
            f"input '{port.name}' must have shape {shape_text(type_.get_shape())}, but got {shape_text(found)}",
        )
    for dim, given in zip(port.dims, found, strict=False):
        if dim and sizes.setdefault(dim, given) != given:
            raise op_error(
                function,
                f"dimension '{dim}' must have one size, but got {given} for input '{port.name}' and {sizes[dim]} "
                "for another input",
            )


def checked_value(function: FuncOp, port: Port, value: Any) -> Array:
    """Returns `value` as an array of the input's element type, or of its storage type if the input is quantized.

    If the NumPy type is wider than the element type (Booleans, 4-bit integers), every element must be in the range of
    the element type.
    """
    type_ = ranked_tensor(port.type) or unranked_tensor(port.type)
    element = None if type_ is None else storage_element(type_.get_element_type())
    dtype = None if element is None else dense_dtype(element)
    if dtype is None:
        raise op_error(function, f"input '{port.name}' must be a tensor, but got type {port.type}")
    array = np.asarray(value)
    is_truth = type_ is not None and type_.get_element_type() == i1
    is_bool = array.dtype == np.bool_ and is_truth
    if array.dtype != dtype and not is_bool:
        help = ""
        scale, zero_point = (None, 0) if type_ is None else scaling_of(type_.get_element_type())
        if scale is not None and array.dtype.kind == "f":
            help = f"; help: pass stored integers (scale {scale:.9g}, zero point {zero_point})"
        raise op_error(function, f"input '{port.name}' must be {dtype}, but got {array.dtype}{help}")
    small = None if element is None else as_small_float(element)
    if small is not None and small.bitwidth < 8:
        _check_limits(function, port, array.view(np.uint8), integer_limits(small.bitwidth, is_signed=False))
    integer = None if element is None else as_integer(element)
    if integer is not None and integer.width.data < 8 * dtype.itemsize:
        # A NumPy Boolean is a byte, in which another library may have stored any number.
        numbers = array.view(np.uint8) if is_bool else array
        _check_limits(function, port, numbers, (0, 1) if is_truth else storage_limits(integer))
    held = None if type_ is None else type_.get_element_type()
    if isinstance(held, HeldElement) and held.limits is not None:
        _check_limits(function, port, array, held.limits)
    return array.view(np.int8) if is_bool else array


def _check_limits(function: FuncOp, port: Port, array: Array, limits: tuple[int, int]) -> None:
    low, high = limits
    outside = (array < low) | (array > high)
    if outside.any():
        position = tuple(map(int, np.argwhere(outside)[0]))
        raise op_error(
            function, f"input '{port.name}' must be in [{low}, {high}], but got {array[position]} at {list(position)}"
        )


def static_types(
    function: FuncOp, shapes: Mapping[str, Sequence[int]], *, keeps_dynamic: bool = False
) -> list[AnyTensor]:
    """Returns the type of each input with the sizes from `shapes`, which maps names of inputs to their sizes.

    An input that isn't named gets the sizes of dimensions with the same names in other inputs. Raises `DiagnosticError`
    for an unknown size. With `keeps_dynamic`, sizes in `shapes` may be `DYNAMIC_INDEX`.
    """
    check_known_inputs(function, shapes)
    ports = inputs_of(function)
    sizes: dict[str, int] = {}
    for port in ports:
        if port.name in shapes:
            check_shape(function, port, shapes[port.name], sizes)
    return [_known_type(function, port, shapes.get(port.name), sizes, keeps_dynamic) for port in ports]


def _known_type(
    function: FuncOp, port: Port, given: Sequence[int] | None, sizes: Mapping[str, int], keeps_dynamic: bool
) -> AnyTensor:
    ranked, unranked = ranked_tensor(port.type), unranked_tensor(port.type)
    type_ = ranked or unranked
    if type_ is None:
        raise op_error(function, f"input '{port.name}' must be a tensor to be compiled, but got type {port.type}")
    shape = given
    if shape is None and ranked is not None:
        shape = ranked.get_shape()
        if port.dims:
            named = zip(shape, port.dims, strict=True)
            shape = [sizes.get(dim, size) if size == DYNAMIC_INDEX else size for size, dim in named]
    may_be_dynamic = keeps_dynamic and given is not None
    if shape is None or (DYNAMIC_INDEX in shape and not may_be_dynamic):
        found = "no static rank" if shape is None else f"dynamic dimensions ({shape_text(shape)})"
        example = [1, 3, 224, 224] if shape is None else [max(size, 1) for size in shape]
        fix = f"--shape {port.name}={shape_text(example)} (shapes={{'{port.name}': {example}}})"
        raise op_error(function, f"input '{port.name}' has {found}; help: fix its shape with {fix}")
    return TensorType(type_.get_element_type(), list(shape))


# Shapes and values of inputs as text: `image=1x3x224x224`, `k=3`.


def _named(entries: Iterable[str], what: str) -> Iterator[tuple[str, str, str]]:
    """Yields each entry with its name and the text after the equals sign."""
    seen: set[str] = set()
    for entry in entries:
        # Names of tensors may contain any character, including an equals sign.
        name, equals, text = entry.rpartition("=")
        if name in seen:
            raise text_error(f"duplicate {what} for '{name}'")
        seen.add(name)
        yield entry, name if equals else "", text


def parse_shapes(entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parses shapes such as `name=1x3`; `name=scalar` has no sizes. Raises `DiagnosticError` for other text."""
    shapes: dict[str, tuple[int, ...]] = {}
    for entry, name, text in _named(entries, "shape"):
        sizes = [] if text == "scalar" else text.split("x")
        if not name or not all(size.isdecimal() for size in sizes):
            raise text_error(f"invalid shape '{entry}': expected NAME=SIZExSIZE, such as image=1x3x224x224")
        shapes[name] = tuple(map(int, sizes))
    return shapes


def parse_sizes(entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parses sizes of dynamic dimensions such as `sequence=16x64`; returns the sorted sizes by dimension name.

    Raises `DiagnosticError` for other text, and for a size below 1.
    """
    sizes: dict[str, tuple[int, ...]] = {}
    for entry, name, text in _named(entries, "size"):
        numbers = sorted({int(size) for size in text.split("x") if size.isdecimal()})
        if not name or not all(size.isdecimal() for size in text.split("x")) or numbers[0] < 1:
            raise text_error(
                f"invalid size '{entry}': expected NAME=MAX or NAME=SIZExSIZE, such as sequence=256 or sequence=16x64"
            )
        sizes[name] = tuple(numbers)
    return sizes


def _number(text: str) -> int | float:
    # A float can't represent every i64.
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def parse_numbers(entries: Sequence[str]) -> dict[str, tuple[int | float, ...]]:
    """Parses values such as `name=2x-1` or `name=0.5x2`; `name=` has no numbers. Raises `DiagnosticError` otherwise."""
    values: dict[str, tuple[int | float, ...]] = {}
    for entry, name, text in _named(entries, "value"):
        try:
            values[name] = tuple(map(_number, text.split("x"))) if text else ()
        except ValueError:
            name = ""
        if not name:
            raise text_error(f"invalid value '{entry}': expected NAME=NUMBERxNUMBER, such as axes=2x-1")
    return values


def parse_values(function: FuncOp, entries: Sequence[str]) -> dict[str, Array]:
    """Parses values for inputs of `function`; returns arrays (scalars or 1-D) of the types of the inputs."""
    numbers = parse_numbers(entries)
    check_known_inputs(function, numbers)
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
