"""The predicates of `arith.cmpi` and `arith.cmpf`, on Python's and NumPy's numbers and on arrays."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Reading = Callable[[Any], Any]

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compared_integers(predicate: str, lhs: Any, rhs: Any, signed: Reading, unsigned: Reading) -> Any:
    """Where a predicate of `cmpi` holds; the readings give the numbers that bits are with and without a sign."""
    reading = signed if predicate[0] == "s" else unsigned
    order = predicate if predicate in _ORDERS else predicate[1:]
    return _ORDERS[order](reading(lhs), reading(rhs))


def is_nan(value: Any) -> Any:
    """Where `value` is not a number."""
    return value != value


def compared_floats(predicate: str, lhs: Any, rhs: Any) -> Any:
    """Where a predicate of `cmpf` holds: an ordered one (`olt`) nowhere beside NaN, an unordered one (`ult`) there."""
    unordered = is_nan(lhs) | is_nan(rhs)
    match predicate:
        case "false":
            return unordered & False
        case "true":
            return unordered | True
        case "ord":
            return np.logical_not(unordered)
        case "uno":
            return unordered
        case _:
            compared = _ORDERS[predicate[1:]](lhs, rhs)
            return compared | unordered if predicate[0] == "u" else compared & np.logical_not(unordered)
