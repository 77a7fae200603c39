"""The evaluators of `arith` on scalars or whole arrays: integers modulo 2^N for every N, floats rounded at each step.

Each family of operations has a table from operation class to function. If the result is poison or undefined in MLIR,
the evaluator raises an error that names the value.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, compared_floats, compared_integers, integer_limits, is_nan, maximum, minimum
from qmlir.interpreter.upstream.scalars import (
    dtype_of,
    float_of_integer,
    is_array,
    is_integer,
    round_to,
    scalar_of,
    signed,
    unsigned,
    width_of,
    wrap,
)
from qmlir.ir.builtin_types import as_dense, element_or_self
from qmlir.ir.evaluation import Evaluator, RegionEvaluator
from qmlir.text.elements import dense_array

Function = Callable[..., Any]
OperandAccess = Callable[[Any, Attribute], Any]

# Aliases of type `Any`, because these are used on values of any kind.
_python: Any = operator
_where: Any = np.where


def elementwise(function: Function) -> Evaluator:
    """Returns the evaluator of an operation that computes `function(element type, *operands)` for each element."""

    def evaluator(op: Operation, *values: Any) -> tuple[Any]:
        return (like_operands(function(element_or_self(op.operands[0].type), *values), values),)

    return evaluator


def like_operands(result: Any, values: tuple[Any, ...]) -> Any:
    """Returns `result` as an array if an operand is an array, else as a scalar. NumPy confuses the two at rank 0."""
    if any(is_array(value) for value in values):
        return np.asarray(result)
    return result[()] if is_array(result) else result


def has_any(condition: Any) -> bool:
    """Returns True if a condition holds for a scalar, or for any element of an array."""
    return condition if isinstance(condition, bool) else bool(np.any(condition))


# --- Integers ---------------------------------------------------------------------------------------------------------


def _check_divisor(a: Any, b: Any, element: Attribute) -> None:
    if has_any(b == 0):
        raise InterpretationError(f"division of {element} by 0")


def _check_signed_quotient(a: Any, b: Any, element: Attribute) -> None:
    _check_divisor(a, b, element)
    smallest, _ = integer_limits(width_of(element))
    if has_any((a == smallest) & (b == -1)):
        raise InterpretationError(f"{smallest} divided by -1 overflows {element}")


def _check_amount(a: Any, b: Any, element: Attribute) -> None:
    bits = width_of(element)
    wrong = (b < 0) | (b >= bits)
    if has_any(wrong):
        amount = unsigned(b if isinstance(b, int) else np.asarray(b)[wrong][0], element)
        raise InterpretationError(f"shift amount of {element} must be less than {bits}, but got {amount}")


def _truncating_quotient(a: Any, b: Any) -> Any:
    return a // b + ((a % b != 0) & ((a < 0) != (b < 0)))


def _truncating_remainder(a: Any, b: Any) -> Any:
    remainder = a % b
    return remainder - b * ((remainder != 0) & ((a < 0) != (b < 0)))


def _ceiling_quotient(a: Any, b: Any) -> Any:
    return a // b + (a % b != 0)


def _smaller(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if is_array(a) or is_array(b) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if is_array(a) or is_array(b) else max(a, b)


@dataclass(frozen=True)
class _Integer:
    """A function of two integers, the signedness in which it reads them, and a check of its domain."""

    reading: OperandAccess
    function: Function
    check: Callable[[Any, Any, Attribute], None] | None = None

    def __call__(self, element: Attribute, a: Any, b: Any) -> Any:
        a, b = self.reading(a, element), self.reading(b, element)
        if self.check is not None:
            self.check(a, b, element)
        return wrap(self.function(a, b), element)


_INTEGERS: dict[type[Operation], Function] = {
    arith.AddiOp: _Integer(signed, _python.add),
    arith.SubiOp: _Integer(signed, _python.sub),
    arith.MuliOp: _Integer(signed, _python.mul),
    arith.DivSIOp: _Integer(signed, _truncating_quotient, _check_signed_quotient),
    arith.DivUIOp: _Integer(unsigned, _python.floordiv, _check_divisor),
    arith.FloorDivSIOp: _Integer(signed, _python.floordiv, _check_signed_quotient),
    arith.CeilDivSIOp: _Integer(signed, _ceiling_quotient, _check_signed_quotient),
    arith.CeilDivUIOp: _Integer(unsigned, _ceiling_quotient, _check_divisor),
    arith.RemSIOp: _Integer(signed, _truncating_remainder, _check_divisor),
    arith.RemUIOp: _Integer(unsigned, _python.mod, _check_divisor),
    arith.MinSIOp: _Integer(signed, _smaller),
    arith.MaxSIOp: _Integer(signed, _larger),
    arith.MinUIOp: _Integer(unsigned, _smaller),
    arith.MaxUIOp: _Integer(unsigned, _larger),
    arith.AndIOp: _Integer(signed, _python.and_),
    arith.OrIOp: _Integer(signed, _python.or_),
    arith.XOrIOp: _Integer(signed, _python.xor),
    arith.ShLIOp: _Integer(signed, _python.lshift, _check_amount),
    arith.ShRSIOp: _Integer(signed, _python.rshift, _check_amount),
    arith.ShRUIOp: _Integer(unsigned, _python.rshift, _check_amount),
}


def _truth(condition: Any) -> Any:
    """Returns a condition as i1 values."""
    return np.asarray(condition).astype(np.int8)[()]


def _compare_integers(op: arith.CmpiOp, lhs: Any, rhs: Any) -> tuple[Any]:
    element, predicate = (
        element_or_self(op.lhs.type),
        arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data],
    )
    readings = (partial(reading, element=element) for reading in (signed, unsigned))
    return (like_operands(_truth(compared_integers(predicate, lhs, rhs, *readings)), (lhs, rhs)),)


def exact(value: Any) -> Any:
    """Converts integers to Python integers, which can't overflow."""
    return np.asarray(value, dtype=object) if is_array(value) else value


def _add_with_carry(op: arith.AddUIExtendedOp, lhs: Any, rhs: Any) -> tuple[Any, Any]:
    element = element_or_self(op.lhs.type)
    total = exact(unsigned(lhs, element)) + exact(unsigned(rhs, element))
    carry = _truth(total >= 1 << width_of(element))
    return like_operands(wrap(total, element), (lhs, rhs)), like_operands(carry, (lhs, rhs))


def _multiply_extended(
    reading: OperandAccess, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp, lhs: Any, rhs: Any
) -> tuple[Any, Any]:
    element = element_or_self(op.lhs.type)
    product = exact(reading(lhs, element)) * exact(reading(rhs, element))
    low, high = wrap(product, element), wrap(product >> width_of(element), element)
    return like_operands(low, (lhs, rhs)), like_operands(high, (lhs, rhs))


# --- Floats -----------------------------------------------------------------------------------------------------------


def _without_nan(function: Function, a: Any, b: Any) -> Any:
    return _where(is_nan(a), b, _where(is_nan(b), a, function(a, b)))


_FLOAT_FUNCTIONS: dict[type[Operation], Function] = {
    arith.AddfOp: _python.add,
    arith.SubfOp: _python.sub,
    arith.MulfOp: _python.mul,
    arith.DivfOp: _python.truediv,
    arith.MinimumfOp: minimum,
    arith.MaximumfOp: maximum,
    arith.MinnumfOp: partial(_without_nan, minimum),
    arith.MaxnumfOp: partial(_without_nan, maximum),
    arith.NegfOp: np.negative,
}


def of_floats(function: Function) -> Function:
    """Wraps a function on floats so that it takes an element type, which it ignores, since NumPy floats have a type."""

    def computed(element: Attribute, *values: Any) -> Any:
        return function(*values)

    return computed


def _compare_floats(op: arith.CmpfOp, lhs: Any, rhs: Any) -> tuple[Any]:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    return (like_operands(_truth(compared_floats(predicate, lhs, rhs)), (lhs, rhs)),)


# --- Conversions ------------------------------------------------------------------------------------------------------


def _resize(reading: OperandAccess, source: Attribute, target: Attribute, value: Any) -> Any:
    return wrap(reading(value, source), target)


def _integer_to_float(reading: OperandAccess, source: Attribute, target: Attribute, value: Any) -> Any:
    return float_of_integer(reading(value, source), dtype_of(target))


def _float_to_integer(source: Attribute, target: Attribute, value: Any, *, is_signed: bool) -> Any:
    bits = width_of(target) - is_signed
    whole = np.trunc(np.asarray(value).astype(np.float64))
    fits = (whole >= (-(2.0**bits) if is_signed else 0.0)) & (whole < 2.0**bits)
    if not fits.all():
        first = np.asarray(value)[~fits].flat[0]
        kind = "a signed" if is_signed else "an unsigned"
        raise InterpretationError(f"{first} of type {source} cannot be represented as {kind} value of type {target}")
    integers = np.asarray(whole).astype(np.int64 if is_signed else np.uint64)
    return wrap(integers if is_array(value) else int(integers), target)


def _round(source: Attribute, target: Attribute, value: Any) -> Any:
    return round_to(value, dtype_of(target))


def _reinterpret(source: Attribute, target: Attribute, value: Any) -> Any:
    if is_integer(source) and is_integer(target):
        return wrap(unsigned(value, source), target)
    held = np.asarray(np.int64(value) if isinstance(source, IndexType) else value)
    return scalar_of(held.view(dtype_of(target)), target)


def _bitcast(op: arith.BitcastOp, value: Any) -> tuple[Any]:
    if isinstance(op.input.type, MemRefType):  # the same memory
        return (cast(Array, value).view(dtype_of(element_or_self(op.result.type))),)
    return _converted(_reinterpret, op, value)


def _converted(convert: Function, op: Operation, value: Any) -> tuple[Any]:
    source, target = element_or_self(op.operands[0].type), element_or_self(op.results[0].type)
    return (like_operands(convert(source, target, value), (value,)),)


_CONVERSIONS: dict[type[Operation], Function] = {
    arith.ExtSIOp: partial(_resize, signed),
    arith.ExtUIOp: partial(_resize, unsigned),
    arith.TruncIOp: partial(_resize, unsigned),
    arith.IndexCastOp: partial(_resize, signed),
    arith.SIToFPOp: partial(_integer_to_float, signed),
    arith.UIToFPOp: partial(_integer_to_float, unsigned),
    arith.FPToSIOp: partial(_float_to_integer, is_signed=True),
    arith.FPToUIOp: partial(_float_to_integer, is_signed=False),
    arith.ExtFOp: _round,
    arith.TruncFOp: _round,
}


# --- The rest ---------------------------------------------------------------------------------------------------------


def _constant(op: arith.ConstantOp) -> tuple[Any]:
    element = element_or_self(op.result.type)
    value: Attribute = op.value
    match value:
        case IntegerAttr():
            return (wrap(value.value.data, element),)
        case FloatAttr():
            return (round_to(np.float64(value.value.data), dtype_of(element)),)
        case _:
            return (dense_value(value, element),)


def dense_value(value: Attribute, element: Attribute) -> Array:
    """Returns the elements of `dense<…>`. Raises `InterpretationError` for elements stored outside the module."""
    dense = as_dense(value)
    if dense is None:
        raise InterpretationError("its value must be dense<…>, but got a resource")
    array = dense_array(dense)
    # Padding bits, and the value of a true i1, depend on the writer of the attribute.
    return np.asarray(wrap(array, element)) if is_integer(element) else array


def _select(op: arith.SelectOp, condition: Any, lhs: Any, rhs: Any) -> tuple[Any]:
    if is_array(condition):
        return (_where(condition != 0, lhs, rhs),)
    return (lhs if condition else rhs,)


BINARY: dict[type[Operation], Function] = {
    **_INTEGERS,
    **{operation: of_floats(function) for operation, function in _FLOAT_FUNCTIONS.items()},
}
"""The function `f(element type, *elements)` of each operation on elements of one type."""

EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    **{operation: elementwise(function) for operation, function in BINARY.items()},
    **{operation: partial(_converted, function) for operation, function in _CONVERSIONS.items()},
    arith.ConstantOp: _constant,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.BitcastOp: _bitcast,
    arith.AddUIExtendedOp: _add_with_carry,
    arith.MulSIExtendedOp: partial(_multiply_extended, signed),
    arith.MulUIExtendedOp: partial(_multiply_extended, unsigned),
}
