"""Evaluation of dynamic quantization in f32 steps, each rounded once, which are the same as in its decomposition."""

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.dynamic import ops
from qmlir.dialects.nn.elementwise.evaluate import converted
from qmlir.ir.evaluation import Evaluator

_ZERO = np.float32(0)


def _dynamic_quantize(op: ops.DynamicQuantizeOp, x: Array) -> tuple[Array, Array, Array]:
    axes, keeps, steps = op.reduced_axes, op.axes is not None, np.float32(op.steps)
    low, high = (np.float32(limit) for limit in op.limits)
    storage, shift = ops.STORAGES[op.storage.data], np.float32(op.shift)
    with np.errstate(all="ignore"):  # a nonfinite range yields IEEE results
        if op.is_symmetric:
            lowest = _ZERO
            highest = np.abs(x).max(axes, initial=0, keepdims=keeps)
        else:
            lowest = np.minimum(x.min(axes, initial=np.inf, keepdims=keeps), _ZERO)
            highest = np.maximum(x.max(axes, initial=-np.inf, keepdims=keeps), _ZERO)
        span = np.asarray(highest - lowest, np.float32)
        scale = np.where(span == 0, np.float32(op.span_of_zeros), span) / steps
        zero_point = _ZERO if op.is_symmetric else np.rint(np.clip(_ZERO - lowest / scale, low, high))
        integers = np.clip(np.rint(x / scale) + zero_point, low, high) + shift
        q, z = (np.asarray(converted(np.asarray(each), storage)) for each in (integers, zero_point + shift))
        return q, np.asarray(scale), z


EVALUATORS: dict[type[Operation], Evaluator] = {ops.DynamicQuantizeOp: _dynamic_quantize}
