"""Running one function on a user's arrays: inputs by name, checked; outputs by name."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.types import SequenceType, StringType
from qmlir.interpreter.machine import Interpreter, Listener
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.ir.signature import Port, inputs_of, outputs_of

Array = npt.NDArray[Any]


def _given(function: FuncOp, port: Port, value: Any, sizes: dict[str, int]) -> Array | tuple[Array, ...]:
    """`value` as the type of `port` has it: an array, or a tuple of arrays for a sequence."""
    if not isinstance(port.type, SequenceType):
        return _checked(function, port, value, sizes)
    if not isinstance(value, Sequence):
        raise op_error(function, f"input '{port.name}' is a list of arrays, found {type(value).__name__}")
    values = enumerate(cast(Sequence[Any], value))
    ports = ((Port(f"{port.name}[{place}]", port.type.tensors), each) for place, each in values)
    return tuple(_checked(function, each, array, {}) for each, array in ports)


def _checked(function: FuncOp, port: Port, value: Any, sizes: dict[str, int]) -> Array:
    """`value` as an array of the type of `port`; `sizes` collects the sizes that have names."""
    type_ = ranked_tensor(port.type) or unranked_tensor(port.type)
    if type_ is None:
        raise op_error(function, f"input '{port.name}' has type {port.type}: only tensors can be given")
    array = np.asarray(value)
    dtype = value_dtype(type_.get_element_type())
    assert dtype is not None
    if array.dtype == np.bool_ and type_.get_element_type() == i1:
        array = array.astype(np.int8)
    if array.dtype.kind == "U" and isinstance(type_.get_element_type(), StringType):
        array = array.astype(dtype)
    if array.dtype != dtype:
        raise op_error(function, f"input '{port.name}' has elements of {dtype}, found {array.dtype}")
    if dtype == np.object_ and not all(isinstance(text, str) for text in array.flat):
        raise op_error(function, f"input '{port.name}' has elements that are no strings")
    if not isinstance(type_, TensorType):
        return array
    shape = type_.get_shape()
    wanted = "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in shape) or "scalar"
    found = "x".join(map(str, array.shape)) or "scalar"
    if not shapes_agree(shape, array.shape):
        raise op_error(function, f"input '{port.name}' has the shape {wanted}, found {found}")
    for dim, given in zip(port.dims, array.shape, strict=False):
        if dim and sizes.setdefault(dim, given) != given:
            raise op_error(function, f"input '{port.name}' has {given} along '{dim}', another input {sizes[dim]}")
    return array


def _returned(type_: Attribute, value: Any) -> Any:
    """`value` as a user expects it: inside a run, i1 is held as integers."""
    if isinstance(type_, SequenceType):
        return [_returned(type_.tensors, each) for each in value]
    tensor = ranked_tensor(type_) or unranked_tensor(type_)
    return value.astype(np.bool_) if tensor is not None and tensor.get_element_type() == i1 else value


def _by_name(function: FuncOp, ports: Sequence[Port], inputs: Mapping[str, Any]) -> list[Any]:
    names = [port.name for port in ports]
    for name in inputs:
        if name not in names:
            known = ", ".join(names) or "none"
            raise op_error(function, f"has no input '{name}'{nearest_name(name, names)} (it has: {known})")
    missing = [name for name in names if name not in inputs]
    if missing:
        raise op_error(function, f"lacks the input{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    return [inputs[name] for name in names]


def interpret(
    module: ModuleOp,
    inputs: Mapping[str, Any] | Sequence[Any] = (),
    *,
    function: str = "main",
    listeners: Sequence[Listener] = (),
) -> dict[str, Array]:
    """The outputs of a function by name, computed by the reference interpreter.

    `inputs` are arrays by name, or in the order of the arguments: stored integers for a quantized input, strings of
    Python for one of text, a list of arrays for a sequence. Each must have the NumPy type and the shape of its
    argument. Raises `DiagnosticError` for inputs that do not fit, and for an operation that cannot be computed.
    An output that is a sequence is a list of arrays too.
    """
    interpreter = Interpreter(module, listeners)
    called = interpreter.function(function)
    ports = inputs_of(called)
    if isinstance(inputs, Mapping):
        values = _by_name(called, ports, inputs)
    else:
        values = list(inputs)
        if len(values) != len(ports):
            raise op_error(called, f"takes {len(ports)} inputs, found {len(values)}")
    sizes: dict[str, int] = {}
    arguments = [_given(called, port, value, sizes) for port, value in zip(ports, values, strict=True)]
    results = interpreter.call(function, arguments)
    return {port.name: _returned(port.type, result) for port, result in zip(outputs_of(called), results, strict=True)}
