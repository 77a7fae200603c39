"""Evaluation in mode `qlinear`: f32 steps in ONNX Runtime's order, with the zero point added before rounding."""

import math

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic import requantization
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale, requantize
from qmlir.dialects.nn.activations.ops import SigmoidOp
from qmlir.dialects.nn.elementwise import evaluate as elementwise
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp
from qmlir.dialects.nn.evaluation.arrays import window_view
from qmlir.dialects.nn.evaluation.parameters import uniform_of
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp
from qmlir.dialects.nn.requantize import affine
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.evaluation import Evaluator


def _stored(value: Array, element: UniformQuantizedType) -> tuple[Array]:
    limits = element.storage_min, element.storage_max
    return (np.asarray(requantization.rounded(value, limits), storage_dtype(element)),)


def _add(op: AddOp, lhs: Array, rhs: Array) -> tuple[Array]:
    steps = requantization.Sum.of(*(affine(uniform_of(value)) for value in (op.lhs, op.rhs, op.result)))
    return _stored(steps.apply(lhs, rhs), uniform_of(op.result))


def _average_pool(op: AveragePoolOp, data: Array) -> tuple[Array]:
    sizes = data.shape[2:]
    source, result = uniform_of(op.data), uniform_of(op.result)
    if op.is_whole_image(sizes):
        total = (data.astype(np.int64) - source.zero_point).sum(axis=tuple(range(2, data.ndim)), keepdims=True)
        scale = accumulator_scale(result.scale, math.prod(sizes))
        limits = result.storage_min, result.storage_max
        return (requantize(total, source.scale, scale, result.zero_point, limits).astype(storage_dtype(result)),)
    windows, counts = op.windows, op.counts(sizes)
    reals = dequantize(data, source)
    taps = window_view(reals, windows, counts, 0).reshape(*data.shape[:2], *counts, -1)
    total = np.zeros(taps.shape[:-1], np.float32)
    for tap in range(taps.shape[-1]):
        total = total + taps[..., tap]
    # With `count_include_pad`, a window counts the whole kernel, even beyond the padding.
    counts_padding = bool(op.count_include_pad.value.data)
    count = math.prod(windows.kernel) if counts_padding else covered_elements(windows, counts, sizes, False)
    return _stored(requantization.moved_mean(total, count, affine(result)), result)


def _sigmoid(op: SigmoidOp, x: Array) -> tuple[Array]:
    return (quantize(requantization.sigmoid(dequantize(x, uniform_of(op.input))), uniform_of(op.result)),)


def _softmax(op: SoftmaxOp, x: Array, mask: None) -> tuple[Array]:
    axis, result = op.axis.value.data, uniform_of(op.result)
    source, target = affine(uniform_of(op.input)), affine(result)
    powers = requantization.softmax_powers(source.scale, x.shape[axis])
    wide = x.astype(np.int64)
    raised = powers[255 + wide - wide.max(axis=axis, keepdims=True)]
    total = np.add.accumulate(raised, axis=axis).take([-1], axis=axis)
    with np.errstate(over="ignore"):
        steps = np.minimum(raised * requantization.softmax_steps(target.scale) / total, requantization.SOFTMAX_LARGEST)
    stored = np.rint(steps).astype(np.int64) + target.zero_point
    return (np.asarray(stored.clip(result.storage_min, result.storage_max), storage_dtype(result)),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    AddOp: _add,
    MulOp: elementwise.product,
    AveragePoolOp: _average_pool,
    SigmoidOp: _sigmoid,
    SoftmaxOp: _softmax,
}
