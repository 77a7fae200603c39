"""Evaluation of assertions: a failure names the operation, the first difference and the number of them."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.check.ops import ExpectCloseOp, ExpectEqOp
from qmlir.ir.diagnostics import op_error


def _fail_where(op: Operation, wrong: Array, actual: Array, expected: Array) -> None:
    if not wrong.any():
        return
    index = tuple(int(position) for position in np.argwhere(wrong)[0])
    raise op_error(
        op,
        f"failed at {list(index)}: expected {expected[index]}, but got {actual[index]} ({int(wrong.sum())} of "
        f"{wrong.size} elements differ)",
    )


def _both_nan(actual: Array, expected: Array) -> Array:
    if np.issubdtype(actual.dtype, np.integer) or actual.dtype == np.bool_:
        return np.zeros(actual.shape, dtype=bool)
    return np.isnan(actual) & np.isnan(expected)


def _check_shape(op: Operation, actual: Array, expected: Array) -> None:
    if actual.shape != expected.shape:
        raise op_error(op, f"failed: expected shape {list(expected.shape)}, but got {list(actual.shape)}")


def _expect_eq(op: ExpectEqOp, actual: Array, expected: Array) -> tuple[()]:
    _check_shape(op, actual, expected)
    _fail_where(op, (actual != expected) & ~_both_nan(actual, expected), actual, expected)
    return ()


def _expect_close(op: ExpectCloseOp, actual: Array, expected: Array) -> tuple[()]:
    _check_shape(op, actual, expected)
    exact, wanted = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):  # NaN comes from infinities, which must be equal
        bound = op.absolute.value.data + op.relative.value.data * np.abs(wanted)
        close = (np.abs(exact - wanted) <= bound) | (exact == wanted)
    _fail_where(op, ~close & ~_both_nan(actual, expected), actual, expected)
    return ()


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ExpectEqOp: _expect_eq,
    ExpectCloseOp: _expect_close,
}
