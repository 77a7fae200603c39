"""What the instructions compute: exact integers, and a shift whose rounding is that of qmlir's contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.requantization import Ties, requantize_shift
from qmlir.dialects.quant.infer import integer_dtype
from qmlir.text.elements import dense_array
from qmlir_fxp.dialect import block, ops

Array = npt.NDArray[Any]


def limits_of(value: SSAValue) -> tuple[int, int]:
    """The smallest and the largest integer of a value."""
    bits = ops.width(value)
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _held(op: Operation, exact: Array) -> tuple[Array]:
    """`exact` in the type of the result, which must hold it."""
    low, high = limits_of(op.results[0])
    if exact.size and not low <= exact.min() <= exact.max() <= high:
        found = f"{exact.min()} to {exact.max()}"
        raise InterpretationError(f"has results from {found}, {ops.width(op.results[0])} bits are too few")
    return (exact.astype(integer_dtype(ops.width(op.results[0]), signed=True)),)


def _constant(op: ops.ConstantOp) -> tuple[Array]:
    return _held(op, dense_array(op.value).astype(np.int64))


def _correlate(op: ops.CorrelateOp, data: Array, weights: Array) -> tuple[Array]:
    windows, groups = op.windows, op.groups.value.data
    spatial = len(windows.kernel)
    pads = [(0, 0), (0, 0), *(windows.padding(axis) for axis in range(spatial))]
    padded = np.pad(data.astype(np.int64), pads)
    reach = tuple(windows.extent(axis) for axis in range(spatial))
    seen = sliding_window_view(padded, reach, axis=tuple(range(2, 2 + spatial)))
    steps = tuple(slice(None, None, step) for step in (*windows.strides, *windows.dilations))
    seen = seen[(slice(None), slice(None), *steps)]  # [N, C, out…, taps…]
    batch, channels, *out = seen.shape[: 2 + spatial]
    split = seen.reshape(batch, groups, channels // groups, *seen.shape[2:])
    rows = np.moveaxis(split, 2, 2 + spatial).reshape(batch, groups, int(np.prod(out)), -1)
    columns = weights.astype(np.int64).reshape(groups, weights.shape[0] // groups, -1)
    sums = np.einsum("ngpk,gmk->ngmp", rows, columns, optimize=True)
    return _held(op, sums.reshape(batch, weights.shape[0], *out))


def _add_bias(op: ops.AddBiasOp, sums: Array, bias: Array) -> tuple[Array]:
    return _held(op, sums.astype(np.int64) + bias.astype(np.int64).reshape(-1, *(1,) * (sums.ndim - 2)))


def _add(op: ops.AddOp, lhs: Array, rhs: Array) -> tuple[Array]:
    return _held(op, lhs.astype(np.int64) + rhs.astype(np.int64))


def _shift(op: ops.ShiftOp, x: Array) -> tuple[Array]:
    places = np.asarray(op.numbers, np.int64)
    if places.size > 1:
        places = places.reshape(-1, *(1,) * (x.ndim - 2))
    return _held(op, requantize_shift(x.astype(np.int64), places, Ties(op.ties.data), 0, limits_of(op.result)))


def _limit(op: ops.LimitOp, x: Array) -> tuple[Array]:
    low, high = limits_of(op.result)
    low = low if op.minimum is None else op.minimum.value.data
    high = high if op.maximum is None else op.maximum.value.data
    return _held(op, np.clip(x.astype(np.int64), low, high))


EVALUATORS: dict[type[Operation], Callable[..., Any]] = {
    **block.EVALUATORS,
    ops.ConstantOp: _constant,
    ops.CorrelateOp: _correlate,
    ops.AddBiasOp: _add_bias,
    ops.AddOp: _add,
    ops.ShiftOp: _shift,
    ops.LimitOp: _limit,
}
