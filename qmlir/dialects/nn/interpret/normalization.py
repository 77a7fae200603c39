"""What the normalizations compute."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import normalization as ops

Array = npt.NDArray[Any]


def _batch_norm(
    op: ops.BatchNormOp, data: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> tuple[Array]:
    layout = (-1, *(1,) * (data.ndim - 2))
    deviation = np.sqrt(variance + variance.dtype.type(op.epsilon.value.data))
    factor = (scale / deviation).reshape(layout)
    return ((data - mean.reshape(layout)) * factor + bias.reshape(layout),)


def _layer_norm(op: ops.LayerNormOp, data: Array, scale: Array, bias: Array | None) -> tuple[Array]:
    axes = tuple(range(op.first_axis, data.ndim))
    centred = data - data.mean(axis=axes, keepdims=True)
    variance = (centred * centred).mean(axis=axes, keepdims=True)
    result = centred / np.sqrt(variance + data.dtype.type(op.epsilon.value.data)) * scale
    return (result if bias is None else result + bias,)


def _softmax(op: ops.SoftmaxOp, x: Array) -> tuple[Array]:
    axis = op.axis.value.data
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    return (raised / raised.sum(axis=axis, keepdims=True),)


MEANINGS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ops.BatchNormOp: _batch_norm,
    ops.LayerNormOp: _layer_norm,
    ops.SoftmaxOp: _softmax,
}
