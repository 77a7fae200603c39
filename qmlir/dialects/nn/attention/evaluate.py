"""Evaluation of attention and rotary embedding.

Sums are computed in f32 (f64 for f64); f16 and bf16 are rounded after each step of ONNX's definition of the
operator.
"""

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.indexing.evaluate import checked_indices
from qmlir.dialects.nn.normalization.evaluate import Rounding, rounding, softmax
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import dtype_of


def _behind(past: Array | None, new: Array) -> Array:
    return new if past is None else np.concatenate((past, new), axis=2)


def _masked(mask: Array, total: int) -> Array:
    """Returns the bias of a mask, with minus infinity for the keys after its end."""
    bias = np.where(mask != 0, 0.0, -np.inf) if mask.dtype == np.int8 else mask
    missing = total - mask.shape[-1]
    return np.pad(bias, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=-np.inf) if missing else bias


def _bias(op: ops.AttentionOp, mask: Array | None, past: int, lengths: Array | None, shape: tuple[int, ...]) -> Array:
    """Returns the bias of the scores `[B, Hq, S, T]`, in a shape that broadcasts to theirs."""
    queries, keys = shape[2:]
    offset = np.array([past]) if lengths is None else lengths - queries
    distance = np.arange(keys) - np.arange(queries)[:, None] - offset.reshape(-1, 1, 1, 1)
    before, after = op.distances
    forbidden = np.zeros(distance.shape, np.bool_)
    for bound in before:
        forbidden |= distance < -bound
    for bound in after:
        forbidden |= distance > bound
    if lengths is not None:
        forbidden |= np.arange(keys) >= lengths.reshape(-1, 1, 1, 1)
    bias = np.where(forbidden, -np.inf, 0.0)
    return bias if mask is None else bias + _masked(mask, keys)


def _attention(
    op: ops.AttentionOp, query: Array, key: Array, value: Array, mask: Array | None, past_key: Array | None,
    past_value: Array | None, lengths: Array | None,
) -> tuple[Array, ...]:  # fmt: skip
    dtype = query.dtype
    rounded = rounding(dtype)
    keys, values = _behind(past_key, key), _behind(past_value, value)
    shared = query.shape[1] // keys.shape[1] if keys.shape[1] else 1
    with np.errstate(all="ignore"):  # infinities yield NaN, as in IEEE 754
        factor = rounded(np.sqrt(np.float64(op.score_scale(query.shape[3]))))
        left = rounded(widened(query) * factor)
        right = rounded(widened(keys) * factor)
        raw = rounded(left @ np.repeat(right, shared, axis=1).swapaxes(-1, -2))
        capped = _capped(raw, op.softcap.value.data, rounded)
        past = 0 if past_key is None else past_key.shape[2]
        bias = rounded(_bias(op, mask, past, lengths, raw.shape))
        biased = rounded(capped + bias)
        kept = bias.max(axis=-1, keepdims=True, initial=-np.inf) != -np.inf
        precision = dtype if op.softmax_precision is None else dtype_of(op.softmax_precision)
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
    if op.interleaved.value.data:
        real, imaginary = slice(0, size, 2), slice(1, size, 2)
    else:
        real, imaginary = slice(size // 2), slice(size // 2, size)
    first, second, result = x[..., real], x[..., imaginary], x.copy()
    result[..., real] = cosines * first - sines * second
    result[..., imaginary] = sines * first + cosines * second
    return (result,)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.AttentionOp: _attention,
    ops.RotaryEmbeddingOp: _rotary_embedding,
}
