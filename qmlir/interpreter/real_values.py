"""Floats for models that take and return stored integers: inputs are quantized, and outputs dequantized."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.interpreter import about
from qmlir.ir.signature import inputs_of, outputs_of


def real(value: Any, type_: Attribute) -> Array:
    """Converts a value of a run to floats: a quantized one is dequantized."""
    element = element_type(type_)
    return dequantize(value, element) if isinstance(element, UniformQuantizedType) else np.asarray(value)


def takes_stored(function: FuncOp, inputs: Mapping[str, Any]) -> bool:
    """Returns true if `inputs` holds floats for an input of `function` that takes stored integers."""
    return any(value is not inputs[name] for name, value in stored_inputs(function, inputs).items())


def stored_inputs(function: FuncOp, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `inputs`, with floats for an input that takes stored integers quantized to its type.

    They are rounded as by `quant.qcast`: ties to even, and saturated. Raises `DiagnosticError` for NaN.
    """
    elements = {port.name: element_type(port.of_caller().type) for port in inputs_of(function)}
    found: dict[str, Any] = dict(inputs)
    for name, value in inputs.items():
        element = elements.get(name)
        if isinstance(element, UniformQuantizedType) and np.asarray(value).dtype.kind == "f":
            with about(function):
                found[name] = quantize(np.asarray(value), element)
    return found


def on_floats(call: Callable[[Any], Mapping[str, Any]], function: FuncOp) -> Callable[[Any], dict[str, Any]]:
    """Returns `call`, which runs `function` on arrays by name, as a function of floats to floats."""
    types = {port.name: port.of_caller().type for port in outputs_of(function)}

    def called(inputs: Mapping[str, Any]) -> dict[str, Any]:
        found = call(stored_inputs(function, inputs))
        return {name: real(value, types[name]) if name in types else value for name, value in found.items()}

    return called
