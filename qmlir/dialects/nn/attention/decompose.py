"""Decomposition of attention: scaling of query and key, their product, cap, bias, softmax, and weighted sum of values.

Conditions that only select keys (a boolean mask, causality, windows) become the mask of the softmax rather than a bias.
Past keys and values are concatenated with the new ones. The query heads that share a key head become a separate axis,
`[batch, key heads, query heads per key head, sequence, …]`, from the queries to the result. If lengths or dynamic sizes
determine the visible keys, the mask is computed from positions.
"""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1, i64
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations.ops import TanhOp
from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.base import build, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.decomposition import Decompose, Results, cast, scalar
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    AndOp,
    DivOp,
    EqualOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
    MulOp,
    SubOp,
    WhereOp,
)
from qmlir.dialects.nn.movement.ops import ConcatOp, ReshapeOp, UnsqueezeOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp
from qmlir.dialects.nn.shapes.ops import PadOp, RangeOp, ShapeOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts


def _has_parts(op: AttentionOp) -> bool:
    """Whether this attention can be decomposed."""
    query, key, scores = (shape_of(value) for value in (op.query, op.key, op.scores))
    if DYNAMIC_INDEX in (query[1], key[1], query[3]) or (query[1] != key[1] and not _has_groups_of_mask(op)):
        return False
    return op.mask is None or DYNAMIC_INDEX not in (shape_of(op.mask)[-1], scores[3])


def _has_groups_of_mask(op: AttentionOp) -> bool:
    """Whether the heads of a mask are static, so that they can be split into heads of keys and heads that share
    them."""
    shape = () if op.mask is None else shape_of(op.mask)
    return len(shape) < 3 or shape[-3] != DYNAMIC_INDEX


def _reshaped(parts: Parts, role: str, value: SSAValue, sizes: Sequence[int], axes: Sequence[int]) -> SSAValue:
    """Reshapes `value`; the dynamic sizes are those of its `axes`."""
    if sizes.count(DYNAMIC_INDEX) < 2:  # a reshape finds one
        return parts.add(role, ReshapeOp(value, sizes)).result
    listed = [
        _size(parts, f"{role}_size", value, axis)
        if size == DYNAMIC_INDEX
        else _integers(parts, f"{role}_size", np.array([size]))
        for size, axis in zip(sizes, axes, strict=True)
    ]
    shape = parts.add(f"{role}_shape", ConcatOp(listed, 0)).result
    return parts.add(role, build(ReshapeOp, [value, shape], result_types=[TensorType(element_of(value), sizes)])).result


def _integers(parts: Parts, role: str, numbers: Array) -> SSAValue:
    return parts.add(role, ConstantOp.of(numbers.astype(np.int64), TensorType(i64, numbers.shape))).result


def _size(parts: Parts, role: str, value: SSAValue, axis: int) -> SSAValue:
    """Returns the size of an axis as a tensor `[1]`."""
    size = shape_of(value)[axis]
    if size != DYNAMIC_INDEX:
        return _integers(parts, role, np.array([size]))
    return parts.add(role, build(ShapeOp, [value], {"start": axis, "end": axis + 1})).result


def _positions(parts: Parts, role: str, value: SSAValue) -> SSAValue:
    """Returns the positions along the sequence of `value`, `[S]`."""
    size = shape_of(value)[2]
    if size != DYNAMIC_INDEX:
        return _integers(parts, role, np.arange(size))
    start, step = _integers(parts, f"{role}_start", np.zeros(1)), _integers(parts, f"{role}_step", np.ones(1))
    return parts.add(role, build(RangeOp, [start, _size(parts, f"{role}_end", value, 2), step])).result


def _grouped(op: AttentionOp, parts: Parts, role: str, value: SSAValue) -> SSAValue:
    """Splits the heads of `value`, the third axis from the end, into `[heads of keys, heads that share them]`."""
    heads, shared = shape_of(op.query)[1], shape_of(op.key)[1]
    shape = shape_of(value)
    if heads == shared or len(shape) < 3:
        return value
    *batch, own, rows, columns = shape
    split = (shared, heads // shared) if own == heads else (own, 1)  # the heads of the keys, or a common one
    position, last = len(batch), len(shape) - 1
    axes = (*range(position), position, position, last - 1, last)
    return _reshaped(parts, role, value, (*batch, *split, rows, columns), axes)


def _ungrouped(op: AttentionOp, parts: Parts, role: str, value: SSAValue) -> SSAValue:
    """Merges the two axes of heads of `value`, which has one row for each query."""
    *batch, heads, queries, _ = shape_of(op.query)
    if heads == shape_of(op.key)[1]:
        return value
    return _reshaped(parts, role, value, (*batch, heads, queries, shape_of(value)[-1]), (0, 1, 3, 4))


def _whole_mask(op: AttentionOp, parts: Parts, mask: SSAValue) -> SSAValue:
    """Extends a mask that is shorter than the keys, and masks those after its end."""
    missing = shape_of(op.scores)[3] - shape_of(mask)[-1]
    if not missing:
        return mask
    masked = None if element_of(mask) == i1 else scalar(parts, "mask_fill", -math.inf, mask)
    return parts.add("mask_pad", build(PadOp, [mask, masked], {"pads": [0, missing], "axes": [-1]})).result


def _keep(op: AttentionOp, parts: Parts, keys: SSAValue, mask: SSAValue | None) -> SSAValue | None:
    """Returns the mask of visible keys for each query, among all `keys`, with an i1 `mask`; `None` if all are
    visible."""
    if not any(op.distances) and op.lengths is None:
        return mask
    is_known = op.lengths is None and DYNAMIC_INDEX not in shape_of(op.scores)[2:]
    seen = _seen_at_known_places(op, parts) if is_known else _seen_at_places(op, parts, keys)
    return seen if mask is None else parts.add("keep", AndOp(seen, mask)).result


def _seen_at_known_places(op: AttentionOp, parts: Parts) -> SSAValue:
    queries, keys = shape_of(op.scores)[2:]
    past = 0 if op.past_key is None else keys - shape_of(op.key)[2]
    distance = np.arange(keys) - np.arange(queries)[:, None] - past
    before, after = op.distances
    seen = np.ones(distance.shape, np.bool_)
    for bound in after:
        seen &= distance <= bound
    for bound in before:
        seen &= distance >= -bound
    return parts.add("causal", ConstantOp.of(seen.astype(np.int8), TensorType(i1, seen.shape))).result


def _seen_at_places(op: AttentionOp, parts: Parts, keys: SSAValue) -> SSAValue:
    """Returns the mask from run-time positions: `[S, T]`, or with lengths `[B, 1, S, T]` (`[B, 1, 1, S, T]` for
    groups).

    Queries are positioned among all keys: after the past, or such that the last one is the last valid key.
    """
    key = _positions(parts, "key_places", keys)
    own = parts.add(
        "query_rows", build(UnsqueezeOp, [_positions(parts, "query_places", op.query)], {"axes": [1]})
    ).result
    ends = None
    if op.lengths is not None:
        rank = 4 if shape_of(op.query)[1] == shape_of(op.key)[1] else 5
        ends = parts.add("lengths", build(UnsqueezeOp, [op.lengths], {"axes": list(range(1, rank))})).result
        first = parts.add("first_query", SubOp(ends, _size(parts, "queries", op.query, 2))).result
        own = parts.add("query_places_behind", AddOp(own, first)).result
    elif op.past_key is not None:
        own = parts.add("query_places_behind", AddOp(own, _size(parts, "past", op.past_key, 2))).result
    before, after = op.distances
    seen: list[SSAValue] = []
    if after:
        last = parts.add("last_key", AddOp(own, _integers(parts, "after", np.array([min(after)])))).result
        seen.append(parts.add("is_before", LessOrEqualOp(key, last)).result)
    if before:
        first = parts.add("first_key", SubOp(own, _integers(parts, "before", np.array(before)))).result
        seen.append(parts.add("is_after", GreaterOrEqualOp(key, first)).result)
    if ends is not None:
        seen.append(parts.add("counts", LessOp(key, ends)).result)
    found, *others = seen
    for each in others:
        found = parts.add("seen", AndOp(found, each)).result
    return found


def _behind(parts: Parts, role: str, past: SSAValue | None, new: SSAValue) -> SSAValue:
    return new if past is None else parts.add(role, ConcatOp([past, new], 2)).result


def _biased(op: AttentionOp, parts: Parts, scores: SSAValue, keep: SSAValue | None) -> SSAValue:
    """Returns the scores as ONNX defines them after the mask: minus infinity for masked keys."""
    if keep is None or op.scores_are.data != "biased":
        return scores
    nothing, never = scalar(parts, "zero", 0.0, op.query), scalar(parts, "masked", -math.inf, op.query)
    return parts.add(
        "masked_scores", AddOp(scores, parts.add("mask", build(WhereOp, [keep, nothing, never])).result)
    ).result


def _capped(op: AttentionOp, parts: Parts, scores: SSAValue) -> SSAValue:
    """Computes `cap * tanh(x / cap)`."""
    if not op.softcap.value.data:
        return scores
    cap = scalar(parts, "cap", op.softcap.value.data, op.query)
    curve = parts.add("cap_tanh", TanhOp(parts.add("cap_div", DivOp(scores, cap)).result)).result
    return parts.add("cap_mul", MulOp(curve, cap)).result


def _weights(op: AttentionOp, parts: Parts, scores: SSAValue, bias: SSAValue | None, keep: SSAValue | None) -> SSAValue:
    """Computes the softmax of the scores of the keys in `keep`; 0 for a query whose keys are all masked."""
    staged = scores if op.softmax_precision is None else cast(parts, "stage", scores, op.softmax_precision)
    probabilities = parts.add("softmax", build(SoftmaxOp, [staged, keep])).result
    probabilities = cast(parts, "rounded", probabilities, plain_type(element_of(op.query)))
    if bias is None:
        return probabilities
    never = scalar(parts, "masked", -math.inf, op.query)
    seen = bias if keep is None else parts.add("seen_bias", build(WhereOp, [keep, bias, never])).result
    largest = parts.add("largest_bias", ReduceMaxOp(seen, [len(shape_of(seen)) - 1])).result
    blind = parts.add("is_masked", EqualOp(largest, never)).result
    return parts.add(
        "weights", build(WhereOp, [blind, scalar(parts, "no_weight", 0.0, op.query), probabilities])
    ).result


def _attention(op: AttentionOp, parts: Parts) -> Results:
    """Computes `softmax(cap(q k^T) + bias) v`, with query and key both multiplied by the root of the scale."""
    if not _has_parts(op):
        return None
    scale = op.score_scale(shape_of(op.query)[3])
    factor = scalar(parts, "scale", math.sqrt(scale) if scale >= 0 else math.nan, op.query)
    query = _grouped(op, parts, "query_heads", parts.add("query_scaled", MulOp(op.query, factor)).result)
    keys = _behind(parts, "keys", op.past_key, op.key)
    values = _behind(parts, "values", op.past_value, op.value)
    key = _grouped(op, parts, "key_heads", parts.add("key_scaled", MulOp(keys, factor)).result)
    raw = parts.add("query_key_matmul", MatMulOp(query, key, True)).result
    capped = _capped(op, parts, raw)
    mask = None if op.mask is None else _grouped(op, parts, "mask_heads", _whole_mask(op, parts, op.mask))
    bias = None if mask is None or element_of(mask) == i1 else mask
    keep = _keep(op, parts, keys, mask if bias is None else None)
    added = capped if bias is None else parts.add("bias_add", AddOp(capped, bias)).result
    biased = _biased(op, parts, added, keep)
    weights = _weights(op, parts, added, bias, keep)
    by_head = _grouped(op, parts, "value_heads", values)
    result = parts.add("value_matmul", MatMulOp(weights, by_head)).result
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [
        _ungrouped(op, parts, "result_heads", result), keys, values, _ungrouped(op, parts, "scores_heads", scores)
    ]  # fmt: skip


COMPOSITES: dict[type[Operation], Decompose] = {AttentionOp: _attention}
