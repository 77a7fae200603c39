"""Evaluation of operations in training mode: dropout, and batch normalization by batch statistics."""

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array, ordered_mean
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.normalization.evaluate import affine_by_channel, number, per_channel
from qmlir.dialects.nn.training import ops
from qmlir.ir.evaluation import Evaluator


def _dropout(op: ops.DropoutOp, x: Array, ratio: Array, training: Array | None) -> tuple[Array, Array]:
    share = float(ratio.reshape(()))
    if not share or (training is not None and not training.any()):
        return x, np.ones(x.shape, np.int8)
    if not 0 <= share < 1:
        raise ValueError(f"dropout ratio must be in [0, 1), but got {share:g}")
    # RandomState is NumPy's generator with a frozen stream, which ONNX's reference also uses.
    drawn = np.random.RandomState(None if op.seed is None else op.seed.value.data).uniform(0, 1, x.shape)
    kept = drawn >= share
    wide, zero = widened(x), np.zeros((), widened(x).dtype)
    result = np.where(kept, wide * zero.dtype.type(1 / (1 - share)), zero)
    return result.astype(x.dtype, copy=False), kept.astype(np.int8)


def _batch_norm(
    op: ops.BatchNormTrainingOp, data: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> tuple[Array, ...]:
    x = widened(data)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # the mean of no elements
        own = ordered_mean(x, axes).reshape(-1)
        centered = x - per_channel(own, x.ndim)
        spread = ordered_mean(centered * centered, axes).reshape(-1)
    share = number(op.momentum, x)
    running = [widened(old) * share + new * (x.dtype.type(1) - share) for old, new in ((mean, own), (variance, spread))]
    result = affine_by_channel(x, widened(scale), widened(bias), own, spread, op.epsilon)
    return tuple(each.astype(data.dtype, copy=False) for each in (result, *running, own, spread))


EVALUATORS: dict[type[Operation], Evaluator] = {ops.DropoutOp: _dropout, ops.BatchNormTrainingOp: _batch_norm}
