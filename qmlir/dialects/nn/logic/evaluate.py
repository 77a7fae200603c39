"""Evaluation of elementwise logic: booleans as 0 and 1, bits of integers, and predicates on floats."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.evaluation import Evaluator, of_arrays, of_operation, of_question
from qmlir.dialects.nn.logic import ops
from qmlir.ir.builtin_types import as_integer, element_of


def _not(x: Array) -> Array:
    return x ^ 1


def _bit_shift(op: ops.BitShiftOp, x: Array, amount: Array) -> Array:
    integer = as_integer(element_of(op.lhs))
    assert integer is not None
    is_inside = (amount >= 0) & (amount < integer.width.data)
    shift = np.left_shift if op.direction.data == "left" else np.right_shift
    emptied = np.where((x < 0) & (op.direction.data == "right"), -1, 0).astype(x.dtype)
    return np.where(is_inside, shift(x, np.where(is_inside, amount, 0)), emptied)


def _is_inf(op: ops.IsInfOp, x: Array) -> Array:
    signs = (op.detect_negative.value.data, -np.inf), (op.detect_positive.value.data, np.inf)
    found = np.zeros(x.shape, np.bool_)
    for is_wanted, infinity in signs:
        if is_wanted:
            found |= x == infinity
    return found


_FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    ops.AndOp: np.bitwise_and,
    ops.OrOp: np.bitwise_or,
    ops.XorOp: np.bitwise_xor,
    ops.NotOp: _not,
    ops.BitwiseAndOp: np.bitwise_and,
    ops.BitwiseOrOp: np.bitwise_or,
    ops.BitwiseXorOp: np.bitwise_xor,
    ops.BitwiseNotOp: np.bitwise_not,
}

EVALUATORS: dict[type[Operation], Evaluator] = {
    **{operation: of_operation(of_arrays(function)) for operation, function in _FUNCTIONS.items()},
    ops.BitShiftOp: of_operation(_bit_shift),
    ops.IsNaNOp: of_question(of_arrays(np.isnan)),
    ops.IsInfOp: of_question(_is_inf),
}
