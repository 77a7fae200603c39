"""Checks around the evaluators of packages: operands are read-only, and results must have the declared types.

A package's evaluator receives operands that have the operation's operand types, and must return values of the
operation's result types. For quantized types, it receives and returns real values, and the results are rounded as in
`quant.qcast`. If it is declared as `TakesStored`, it receives and returns stored integers instead. Any other result is
an error that names the operation, the package, and the file and line of the function.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IndexType, MemRefType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.types import StoredType, UniformFloatType, UniformQuantizedType
from qmlir.interpreter.values import check_value, read_only
from qmlir.ir.builtin_types import as_integer, ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.evaluation import ByOperation, Evaluator, RegionEvaluator, TakesStored, not_computed, operand_groups
from qmlir.ir.interfaces import Container, HeldElement
from qmlir.registry import OURS, Hook
from qmlir.registry.faults import RAISED, one_line

_Uniform = UniformQuantizedType | UniformFloatType


def guarded_evaluator(hook: Hook) -> Evaluator | RegionEvaluator:
    """Returns the evaluator of `hook` with read-only arguments and checked results."""
    match hook.function:
        case RegionEvaluator() as runs:

            def guarded_runs(frame: Any, op: Operation, *operands: Any) -> tuple[Any, ...]:
                return _guarded(hook, op, operands, runs.function, (frame,))

            return RegionEvaluator(guarded_runs)
        case ByOperation() as chooses:
            return ByOperation(lambda op: _chosen(hook, chooses, op))
        case function:

            def guarded(op: Operation, *operands: Any) -> tuple[Any, ...]:
                return _guarded(hook, op, operands, function)

            return guarded


def _chosen(hook: Hook, chooses: ByOperation, op: Operation) -> Evaluator | RegionEvaluator:
    try:
        chosen = chooses.choose(op)
    except DiagnosticException:
        raise
    except RAISED as error:  # a package may raise anything
        raise _fault(op, hook, f"choosing it raises {one_line(error)}", error) from error
    found = guarded_evaluator(Hook(hook.package, hook.row, chosen))
    return found.choose(op) if isinstance(found, ByOperation) else found


def _fault(op: Operation, hook: Hook, message: str, error: BaseException | None = None) -> DiagnosticError:
    return op_error(op, f"cannot be computed: its evaluator is faulty: {message}{hook.at(error)}")


def _takes_stored(function: Any) -> bool:
    """Returns True if an evaluator takes stored integers. Those of the tree, which packages may reuse, all do."""
    module = getattr(function, "__module__", None) or ""
    return isinstance(function, TakesStored) or module.partition(".")[0] == OURS


def _guarded(
    hook: Hook, op: Operation, operands: Sequence[Any], function: Any, first: Sequence[Any] = ()
) -> tuple[Any, ...]:
    is_stored = _takes_stored(function)
    given = _arguments(op, operands, is_stored)
    state = dict(op.properties), dict(op.attributes), tuple(op.operands)
    hook = Hook(hook.package, hook.row, function)
    try:
        found = cast(object, function(*first, op, *given))
    except DiagnosticError:
        raise
    except RAISED as error:
        if isinstance(error, ValueError) and "read-only" in str(error):
            text = "it writes into an operand, which is read-only: copy the array before you change it"
            raise _fault(op, hook, text, error) from error
        raise not_computed(op, error, hook.at(error)) from error
    if (op.properties, op.attributes, tuple(op.operands)) != state:
        raise _fault(op, hook, "it changes the operation")
    if not isinstance(found, tuple | list):
        raise _fault(op, hook, f"it must return a tuple of {len(op.results)} results, but returns {_kind(found)}")
    results = cast(Sequence[Any], found)
    if len(results) != len(op.results):
        raise _fault(op, hook, f"it must return {len(op.results)} results, but returns {len(results)}")
    checked: list[Any] = []
    for number, (value, type_) in enumerate(zip(results, op.result_types, strict=True)):
        try:
            checked.append(_checked(value, type_, is_stored))
        except InterpretationError as error:
            raise _fault(op, hook, f"result {number}: {error}") from error
    return tuple(checked)


def _arguments(op: Operation, operands: Sequence[Any], is_stored: bool) -> list[Any]:
    """Returns the arguments of the evaluator for `operands`, grouped as in the definition of the operation."""
    if not isinstance(op, IRDLOperation):
        return [_given(value, type_, is_stored) for value, type_ in zip(operands, op.operand_types, strict=True)]
    given: list[Any] = []
    for (_, definition, values), argument in zip(operand_groups(op), operands, strict=True):
        if isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef):
            pairs = zip(argument, values, strict=True)
            given.append(tuple(_given(each, value.type, is_stored) for each, value in pairs))
        else:
            given.append(None if argument is None else _given(argument, values[0].type, is_stored))
    return given


def _given(value: Any, type_: Attribute, is_stored: bool) -> Any:
    """Returns a value for the evaluator: real unless it takes stored integers, and read-only unless it is memory."""
    if isinstance(type_, Container):
        return tuple(_given(each, type_.part(position), is_stored) for position, each in enumerate(value))
    if not isinstance(value, np.ndarray) or isinstance(type_, MemRefType):
        return cast(Any, value)
    array, element = cast(Array, value), _element(type_)
    if isinstance(element, _Uniform) and not is_stored:
        array = dequantize(array, element)
    return read_only(array)


def _element(type_: Attribute) -> Attribute | None:
    shaped = ranked_tensor(type_) or unranked_tensor(type_)
    return None if shaped is None else element_type(shaped)


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _checked(value: Any, type_: Attribute, is_stored: bool) -> Any:
    """Returns a result as the interpreter stores it. Raises `InterpretationError` unless it has type `type_`."""
    if isinstance(type_, Container):
        check_value(value, type_)
        return tuple(_checked(each, type_.part(position), is_stored) for position, each in enumerate(value))
    element = _element(type_)
    if isinstance(type_, MemRefType):
        return value
    if element is None:
        _check_scalar(value, type_)
        return value
    if not is_stored and isinstance(element, _Uniform):
        value = _quantized(value, type_, element)
    check_value(value, type_)
    array = cast(Array, value)
    _check_range(array, element)
    # A copy, because the package may keep the array and change it later.
    return np.array(array, copy=True, order="K")


def _quantized(value: Any, type_: Attribute, element: _Uniform) -> Any:
    """Quantizes the real values that an evaluator returned for a value of type `type_`."""
    shaped = ranked_tensor(type_)
    real = (
        UnrankedTensorType(element.expressed) if shaped is None else TensorType(element.expressed, shaped.get_shape())
    )
    array = cast(Array, value)
    if isinstance(value, np.ndarray) and array.dtype == storage_dtype(element):
        hint = f"an evaluator that computes stored integers must be declared as {TakesStored.__name__}"
        raise InterpretationError(f"expected real values of {real}, but got an array of {array.dtype}; {hint}")
    check_value(value, real)
    return quantize(array, element)


def _check_range(array: Array, element: Attribute) -> None:
    """Raises `InterpretationError` if a stored integer is outside the range of its type."""
    limits: tuple[int, int] | None = None
    if isinstance(element, StoredType):
        limits = element.storage_min, element.storage_max
    elif isinstance(element, HeldElement):
        limits = element.limits
    elif (integer := as_integer(element)) is not None:
        is_signed = array.dtype.kind == "i" and integer.bitwidth > 1
        limits = integer_limits(integer.bitwidth, is_signed=is_signed)
    if limits is None or not array.size or array.dtype.kind not in "iu":
        return
    low, high = int(array.min()), int(array.max())
    if low < limits[0] or high > limits[1]:
        raise InterpretationError(
            f"values of {element} must be in [{limits[0]}, {limits[1]}], but are in [{low}, {high}]"
        )


_SCALARS: Mapping[str, tuple[type, ...]] = {"integer": (int, np.integer, np.bool_), "float": (float, np.floating)}


def _check_scalar(value: Any, type_: Attribute) -> None:
    kind = "integer" if isinstance(type_, IndexType) or as_integer(type_) is not None else ""
    kind = "float" if isinstance(type_, AnyFloat) else kind
    if kind and not isinstance(value, _SCALARS[kind]):
        raise InterpretationError(f"a value of type {type_} must be one {kind}, but got {_kind(value)}")
