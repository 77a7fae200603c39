"""Quantized normalizations of rows: exact sums, a reciprocal root for each row, rounded exactly, then steps in f32."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.row_norms import normalized_rows
from qmlir.dialects.nn.interpret.quantized.parameters import centred, uniform_of
from qmlir.dialects.nn.ops import normalization as ops
from qmlir.dialects.quant.interpret import quantize

Result = tuple[Array]


def _normalized(op: ops.RowNormOp, data: Array, grouped: tuple[int, ...], first: int) -> Array:
    """The integers of the rows of `grouped`, which are its axes from `first` on, normalized."""
    integers = centred(op.operands[0], data).integers.reshape(grouped)
    return normalized_rows(op.integer_norm(), integers, tuple(range(first, len(grouped))))


def _result(op: ops.RowNormOp, x: Array, scale: Array | None, bias: Array | None) -> Result:
    with np.errstate(all="ignore"):  # what is not finite saturates, as everywhere
        x = x if scale is None else x * scale
        return (quantize(x if bias is None else x + bias, uniform_of(op.results[0])),)


def _layer_norm(op: ops.LayerNormOp, data: Array, scale: Array, bias: Array | None) -> Result:
    return _result(op, _normalized(op, data, data.shape, op.first_axis), scale, bias)


def _rms_norm(op: ops.RmsNormOp, data: Array, scale: Array | None) -> Result:
    return _result(op, _normalized(op, data, data.shape, op.first_axis), scale, None)


def _channel_norm(op: ops.ScaledChannelNormOp, data: Array, scale: Array, bias: Array) -> Result:
    """Rows are those of `[N, G, C / G, …]`, whose groups are single channels for an instance norm."""
    batch, channels, *sizes = data.shape
    groups = op.groups.value.data if isinstance(op, ops.GroupNormOp) else channels
    normalized = _normalized(op, data, (batch, groups, channels // groups, *sizes), 2).reshape(data.shape)
    along = (-1, *(1,) * len(sizes))
    return _result(op, normalized, scale.reshape(along), bias.reshape(along))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.GroupNormOp: _channel_norm,
    ops.InstanceNormOp: _channel_norm,
    ops.LayerNormOp: _layer_norm,
    ops.RmsNormOp: _rms_norm,
}
