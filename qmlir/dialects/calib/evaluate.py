"""Evaluation of the `calib` operations."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.functions.steps import NUMPY
from qmlir.arithmetic.row_norms import normalized_rows
from qmlir.dialects.calib.ops import FakeQuantOp, ObserveOp, RowNormOp, StraightThroughOp


def _observe(op: ObserveOp, x: Array) -> tuple[Array]:
    return (x,)


def _tqt(op: FakeQuantOp, log2_threshold: Array) -> tuple[Array, Array]:
    bits = op.bits.value.data
    exponent = np.ceil(log2_threshold.astype(np.float64)) - (bits - 1 if op.is_signed else bits)
    return np.exp2(exponent), np.zeros_like(exponent)


def _plain(op: FakeQuantOp, scale: Array, *offset: Array) -> tuple[Array, Array]:
    return scale, np.zeros_like(scale)


def _pact(op: FakeQuantOp, limit: Array) -> tuple[Array, Array]:
    return limit / limit.dtype.type(op.limits[1]), np.zeros_like(limit)


def _affine(op: FakeQuantOp, scale: Array, zero_point: Array) -> tuple[Array, Array]:
    return scale, np.clip(np.rint(zero_point), *op.limits)


def _range(op: FakeQuantOp, minimum: Array, maximum: Array) -> tuple[Array, Array]:
    low, high = op.limits
    least, most = np.minimum(minimum, 0), np.maximum(maximum, 0)
    scale = (most - least) / least.dtype.type(high - low)
    return scale, np.clip(np.rint(least.dtype.type(low) - least / scale), low, high)


SCALES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "tqt": _tqt, "lsq": _plain, "lsq_plus": _plain, "pact": _pact, "affine": _affine, "range": _range,
}  # fmt: skip
"""For each method, the function that computes the scale and the zero point from its parameters."""


def scale_and_zero_point(op: FakeQuantOp, *parameters: Array) -> tuple[Array, Array]:
    """Returns the scale and the zero point of `op` computed from its parameters, in the type of the parameters."""
    scale, zero_point = SCALES[op.method.data](op, *parameters)
    return scale.astype(parameters[0].dtype), zero_point.astype(parameters[0].dtype)


def _fake_quant(op: FakeQuantOp, x: Array, parameters: tuple[Array, ...]) -> tuple[Array]:
    layout = op.beside(x.ndim)
    scale, zero_point = (each.reshape(layout) for each in scale_and_zero_point(op, *parameters))
    offset = parameters[1].reshape(layout) if op.method.data == "lsq_plus" else x.dtype.type(0)
    # f64 represents integers of up to 32 bits exactly.
    rounded = np.rint((x - offset) / scale).astype(np.float64) + zero_point
    steps = np.clip(rounded, *op.limits) - zero_point
    return ((steps * scale).astype(x.dtype) + offset,)


def _straight_through(op: StraightThroughOp, hard: Array, soft: Array) -> tuple[Array]:
    return (hard,)


def _row_norm(op: RowNormOp, x: Array, scale: Array) -> tuple[Array]:
    with np.errstate(all="ignore"):  # NaN for a scale without a root
        norm = op.bounds().norm(NUMPY, scale.astype(np.float64))
    return (normalized_rows(norm, x.astype(np.int64), tuple(op.row)),)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ObserveOp: _observe,
    FakeQuantOp: _fake_quant,
    RowNormOp: _row_norm,
    StraightThroughOp: _straight_through,
}
