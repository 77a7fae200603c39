"""Runs one function on a user's arrays: checks inputs by name and returns outputs by name.

The interface is the same at every level of lowering. Memory for results is allocated here and returned as outputs.
Inputs are read-only. Integers that are unsigned in the model (`nn.element = ui8`) are unsigned for the caller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.nn.types import StringType
from qmlir.interpreter.interpreter import Interpreter, Listener, Lockstep, about, runs_together
from qmlir.interpreter.upstream.scalars import dtype_of, unsigned, unwritten, wrap
from qmlir.interpreter.values import parts_of, read_only
from qmlir.ir.builtin_types import as_small_float, element_or_self, ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.interfaces import Container
from qmlir.ir.signature import Port, inputs_of, memory_outputs_of, outputs_of
from qmlir.specialization.inputs import check_known_inputs, check_shape, checked_value, function_of, missing_inputs


def _given(function: FuncOp, port: Port, value: Any, sizes: dict[str, int]) -> Any:
    """Returns `value` as a value of the type of `port`: an array, or a tuple for a container."""
    if not isinstance(port.type, Container):
        return _checked(function, port, value, sizes)
    if not isinstance(value, Sequence):
        raise op_error(function, f"input '{port.name}' must be a list of arrays, but got {type(value).__name__}")
    with about(function):
        values = enumerate(parts_of(port.type, cast(Sequence[Any], value)))
    ports = ((Port(f"{port.name}[{position}]", port.type.part(position)), each) for position, each in values)
    return tuple(_given(function, each, inner, {}) for each, inner in ports)


def _checked(function: FuncOp, port: Port, value: Any, sizes: dict[str, int]) -> Array:
    """Returns `value` as an array of the type of `port`. `sizes` collects the sizes of named dimensions."""
    seen = port.of_caller()
    type_ = ranked_tensor(seen.type) or unranked_tensor(seen.type)
    if type_ is not None and isinstance(type_.get_element_type(), StringType):
        array = _checked_text(function, seen, value)
    else:
        array = checked_value(function, seen, value)
    check_shape(function, seen, array.shape, sizes)
    if port.element is not None:
        small = as_small_float(port.element)
        array = wrap(array if small is None else array.view(np.uint8), element_or_self(port.type))
    return read_only(array) if isinstance(port.type, MemRefType) else array


def _checked_text(function: FuncOp, port: Port, value: Any) -> Array:
    array = np.asarray(value)
    if array.dtype.kind == "U":
        array = array.astype(np.object_)
    if array.dtype != np.object_:
        raise op_error(function, f"input '{port.name}' must be {np.dtype(np.object_)}, but got {array.dtype}")
    if not all(isinstance(text, str) for text in array.flat):
        raise op_error(function, f"input '{port.name}' must contain only strings")
    return array


def _memory(function: FuncOp, port: Port) -> Array:
    """Allocates uninitialized memory for an output."""
    found: Attribute = port.type
    if not isinstance(found, MemRefType):
        raise op_error(function, f"output '{port.name}' must be a memref, but got type {found}")
    type_ = cast(MemRefType[Attribute], found)
    with about(function):
        return unwritten(type_.get_shape(), type_.get_element_type())


def _returned(port: Port, value: Any) -> Any:
    """Converts an output for the user; inside a run, i1 is stored as integers."""
    if isinstance(port.type, Container):
        return [_returned(Port(port.name, port.type.part(position)), each) for position, each in enumerate(value)]
    seen = port.of_caller().type
    type_ = ranked_tensor(seen) or unranked_tensor(seen)
    if type_ is None:
        return value
    element = type_.get_element_type()
    if port.element is not None:
        if as_small_float(element) is None:
            return wrap(value, storage_element(element))
        return unsigned(value, element_or_self(port.type)).astype(np.uint8).view(dtype_of(element))
    return value.astype(np.bool_) if element == i1 else value


def _by_name(function: FuncOp, ports: Sequence[Port], inputs: Mapping[str, Any]) -> list[Any]:
    check_known_inputs(function, inputs)
    names = [port.name for port in ports]
    missing = [name for name in names if name not in inputs]
    if missing:
        raise op_error(function, missing_inputs(port for port in ports if port.name in missing))
    return [inputs[name] for name in names]


def interpret(
    module: ModuleOp,
    inputs: Mapping[str, Any] | Sequence[Any] = (),
    *,
    function: str = "main",
    listeners: Sequence[Listener] = (),
) -> dict[str, Array]:
    """Runs a function in the reference interpreter and returns its outputs by name.

    `inputs` contains arrays by name or in the order of the arguments: stored integers for a quantized input, Python
    strings for a text input, or a list of arrays for a sequence. Each array must have the NumPy type and the shape of
    its argument. An output that is a sequence is returned as a list of arrays. Raises `DiagnosticError` if inputs don't
    match the arguments, or if an operation can't be computed.
    """
    interpreter = Interpreter(module, listeners)
    called = interpreter.function(function)
    arguments, memory = _arguments(called, inputs)
    return _outputs(called, (*memory, *interpreter.call(function, [*arguments, *memory])))


def interpret_all(
    module: ModuleOp, inputs: Sequence[Mapping[str, Any]], *, function: str = "main"
) -> Iterator[dict[str, Array]]:
    """Yields the outputs of `interpret` for each of `inputs`, which run in lockstep if this saves time."""
    called, size = function_of(module, function), runs_together(module)
    for start in range(0, len(inputs), size):
        piece = inputs[start : start + size]
        found: Iterable[dict[str, Array]] = (interpret(module, each, function=function) for each in piece)
        if len(piece) > 1:
            with suppress(DiagnosticError):  # which the first faulty run alone raises, after the outputs before it
                given = [_arguments(called, each) for each in piece]
                results = Lockstep(module, function, [[*arguments, *memory] for arguments, memory in given]).results()
                found = [_outputs(called, (*own[1], *each)) for own, each in zip(given, results, strict=True)]
        yield from found


def _arguments(called: FuncOp, inputs: Mapping[str, Any] | Sequence[Any]) -> tuple[list[Any], list[Array]]:
    """Returns the checked arguments of a function, and memory for its results."""
    ports = inputs_of(called)
    if isinstance(inputs, Mapping):
        values = _by_name(called, ports, inputs)
    else:
        values = list(inputs)
        if len(values) != len(ports):
            raise op_error(called, f"takes {len(ports)} inputs, but got {len(values)}")
    sizes: dict[str, int] = {}
    arguments = [_given(called, port, value, sizes) for port, value in zip(ports, values, strict=True)]
    return arguments, [_memory(called, port) for port in memory_outputs_of(called)]


def _outputs(called: FuncOp, results: Sequence[Any]) -> dict[str, Array]:
    return {port.name: _returned(port, result) for port, result in zip(outputs_of(called), results, strict=True)}
