"""Evaluation of dynamic quantization in f32 steps, each rounded once, which are the same as in its decomposition."""

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.dynamic import ops
from qmlir.ir.evaluation import Evaluator

_ZERO, _STEPS = np.float32(0), np.float32(ops.STEPS)


def _dynamic_quantize(op: ops.DynamicQuantizeOp, x: Array) -> tuple[Array, Array, Array]:
    with np.errstate(all="ignore"):  # a nonfinite range yields IEEE results
        low = np.minimum(x.min(initial=np.inf), _ZERO)
        span = np.maximum(x.max(initial=-np.inf), _ZERO) - low
        scale = (np.float32(op.span_of_zeros) if span == 0 else span) / _STEPS
        zero_point = np.rint(np.clip(_ZERO - low / scale, _ZERO, _STEPS))
        integers = np.clip(np.rint(x / scale) + zero_point, _ZERO, _STEPS)
        return integers.astype(np.uint8), np.asarray(scale), np.asarray(zero_point.astype(np.uint8))


EVALUATORS: dict[type[Operation], Evaluator] = {ops.DynamicQuantizeOp: _dynamic_quantize}
