"""What quantized composites compute, in NumPy, written from `docs/arithmetic.md` and from what each of them is in ONNX.

Nothing here asks a decomposition, an evaluator or a lowering: each composite is spelled out again, part by part, and a
part is one row of the document's table. Functions of floats are those that the document names by their file.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.signature import inputs_of, outputs_of
from tests.levels.oracle.composites import COMPOSITES
from tests.levels.oracle.layers import LAYERS
from tests.levels.oracle.steps import Array, Type, UnknownError, Value, quantized

ORACLE: Mapping[str, Callable[..., tuple[Value, ...]]] = COMPOSITES | LAYERS
"""By operation: its operands to its results, whose integers count."""


def _value(array: Array, value: SSAValue) -> Value:
    element = element_of(value)
    is_quantized = isinstance(element, UniformQuantizedType)
    return Value(array, Type.of(element, array.shape) if is_quantized else None)


def _as_stored(array: Array, value: SSAValue) -> Array:
    """Stored integers in the smallest NumPy integer that holds their type."""
    element = element_of(value)
    if not isinstance(element, UniformQuantizedType):
        return array
    size = next(size for size in (1, 2, 4) if element.bits <= 8 * size)
    return array.astype(f"{'i' if element.is_signed else 'u'}{size}")


def _operand(given: Any, values: Mapping[SSAValue, Value]) -> Any:
    """The value of an operand, or those of one that is a list."""
    if given is None or isinstance(given, SSAValue):
        return None if given is None else values[given]
    return tuple(values[each] for each in given)


def _results(op: Operation, values: Mapping[SSAValue, Value]) -> tuple[Value, ...]:
    match op:
        case ConstantOp():
            return (Value(op.array),)
        case QuantizeCastOp():
            array = values[op.operands[0]].array
            return (quantized(array, Type.of(element_of(op.results[0]), array.shape)),)
        case DequantizeCastOp():
            return (Value(values[op.operands[0]].real),)
        case _ if op.name in ORACLE:
            by_name: Any = op
            names = [name for name, _ in by_name.get_irdl_definition().operands]
            given = [getattr(by_name, name) for name in names]
            return ORACLE[op.name](op, *(_operand(each, values) for each in given))
        case _:
            raise UnknownError(op.name)


def computed(module: ModuleOp, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """What a module computes. Raises `UnknownError` where that is not written here."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    values: dict[SSAValue, Value] = {}
    for argument, port in zip(function.body.block.args, inputs_of(function), strict=True):
        values[argument] = _value(np.asarray(inputs[port.name]), argument)
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            names = [port.name for port in outputs_of(function)]
            return {
                name: _as_stored(values[value].array, value) for name, value in zip(names, op.operands, strict=True)
            }
        for result, found in zip(op.results, _results(op, values), strict=True):
            values[result] = _value(found.array, result)
    raise UnknownError("nothing is returned")


def knows(module: ModuleOp, inputs: Mapping[str, Any]) -> bool:
    """Whether what a module computes is written here; so it is said of operations that nothing here is about."""
    if not any(op.name in ORACLE for op in module.walk()):
        return True
    try:
        computed(module, inputs)
    except UnknownError:
        return False
    return True
