"""Evaluation of attention and rotary embedding.

Sums are computed in f32 (f64 for f64); f16 and bf16 are rounded after each step of ONNX's definition of the
operator.
"""

import math

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.indexing.evaluate import checked_indices
from qmlir.dialects.nn.normalization.evaluate import Rounding, rounding, softmax
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import dense_dtype


def _behind(past: Array | None, new: Array) -> Array:
    return new if past is None else np.concatenate((past, new), axis=2)


def _masked(mask: Array, total: int) -> Array:
    """Returns the bias of a mask, with minus infinity for the keys after its end."""
    bias = np.where(mask != 0, 0.0, -np.inf) if mask.dtype == np.int8 else mask
    missing = total - mask.shape[-1]
    return np.pad(bias, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=-np.inf) if missing else bias


def _forbidden(op: ops.AttentionOp, queries: int, keys: int, offset: Array) -> Array:
    """Returns the mask from causality and windows, `[B or 1, 1, S, T]`; `offset` has an element for each batch."""
    distance = np.arange(keys) - np.arange(queries)[:, None] - offset.reshape(-1, 1, 1, 1)
    left, right = op.left_window.value.data, op.right_window.value.data
    bounds = [right] if right >= 0 else []
    if op.is_causal.value.data:
        bounds.append(0)
    outside = np.zeros(distance.shape, np.bool_)
    for bound in bounds:
        outside |= distance > bound
    return outside | (distance < -left) if left >= 0 else outside


def _bias(op: ops.AttentionOp, mask: Array | None, past: int, lengths: Array | None, shape: tuple[int, ...]) -> Array:
    """Returns the bias of the scores `[B, Hq, S, T]`, in a shape that broadcasts to theirs."""
    queries, keys = shape[2:]
    offset = np.array([past]) if lengths is None else lengths - queries
    forbidden = _forbidden(op, queries, keys, offset)
    if lengths is not None:
        forbidden = forbidden | (np.arange(keys) >= lengths.reshape(-1, 1, 1, 1))
    bias = np.where(forbidden, -np.inf, 0.0)
    return bias if mask is None else bias + _masked(mask, keys)


def _attention(
    op: ops.AttentionOp,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    lengths: Array | None,
) -> tuple[Array, ...]:
    dtype = query.dtype
    rounded = rounding(dtype)
    keys, values = _behind(past_key, key), _behind(past_value, value)
    shared = query.shape[1] // keys.shape[1] if keys.shape[1] else 1
    scale = 1 / math.sqrt(query.shape[3] or 1) if op.scale is None else op.scale.value.data
    with np.errstate(all="ignore"):  # infinities yield NaN, as in IEEE 754
        factor = rounded(np.sqrt(np.float64(scale)))
        left = rounded(widened(query) * factor)
        right = rounded(widened(keys) * factor)
        raw = rounded(left @ np.repeat(right, shared, axis=1).swapaxes(-1, -2))
        capped = _capped(raw, op.softcap.value.data, rounded)
        past = 0 if past_key is None else past_key.shape[2]
        bias = rounded(_bias(op, mask, past, lengths, raw.shape))
        biased = rounded(capped + bias)
        kept = bias.max(axis=-1, keepdims=True, initial=-np.inf) != -np.inf
        precision = dtype if op.softmax_precision is None else dense_dtype(op.softmax_precision)
        assert precision is not None
        probabilities = softmax(biased, -1, rounding(precision))
        weights = np.where(kept, rounded(probabilities), raw.dtype.type(0))
        result = weights @ np.repeat(widened(values), shared, axis=1)
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return result.astype(dtype, copy=False), keys, values, scores.astype(dtype, copy=False)


def _capped(x: Array, cap: float, rounded: Rounding) -> Array:
    if not cap:
        return x
    limit = rounded(x.dtype.type(cap))
    return rounded(rounded(functions.tanh(rounded(x / limit))) * limit)


def _rotary_embedding(
    op: ops.RotaryEmbeddingOp, x: Array, cosines: Array, sines: Array, positions: Array | None
) -> tuple[Array]:
    if positions is not None:
        cosines, sines = (table[checked_indices(positions, len(table))] for table in (cosines, sines))
    cosines, sines = cosines[:, None], sines[:, None]
    size = op.turned(x.shape[3])
    turned = x[..., :size]
    if op.interleaved.value.data:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., : size // 2], turned[..., size // 2 :]
    real, imaginary = cosines * first - sines * second, sines * first + cosines * second
    if op.interleaved.value.data:
        rotated = np.stack((real, imaginary), axis=-1).reshape(turned.shape)
    else:
        rotated = np.concatenate((real, imaginary), axis=-1)
    return (np.concatenate((rotated, x[..., size:]), axis=-1),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.AttentionOp: _attention,
    ops.RotaryEmbeddingOp: _rotary_embedding,
}
