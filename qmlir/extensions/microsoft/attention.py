"""Imports ONNX Runtime's attention operators (`com.microsoft`) as `nn.attention` with surrounding operations.

Based on onnxruntime/contrib_ops/cpu/bert/. MultiHeadAttention and Attention *add* `mask_filter_value` to the logits of
masked keys, so if all keys of a row are masked, the row is still the softmax of its logits. GroupQueryAttention has a
cache for each sequence: `seqlens_k + 1` keys are valid, and the new keys are the last of these. For the first prompt,
the past is ignored and sequences begin with the first key. The remaining rows of the cache are 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations.ops import SigmoidOp
from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes.ops import ExpandOp
from qmlir.extensions.microsoft.layers import refuse_attributes, turned
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.attention import joined_heads, split_heads
from qmlir.onnx.operators.normalization import wanted
from qmlir.onnx.operators.shapes import counting, position_indices, size_of

_ROLES = ("query", "key", "value")
"""The roles of the projections of a node, each with separate values and ranges."""

_MASKED = -10000.0
"""The default of the attribute `mask_filter_value`."""


def _refuse_inputs(node: Node, **inputs: int) -> None:
    """Raises `DiagnosticError` if one of the inputs, by name and index, is given."""
    for name, position in inputs.items():
        if node.optional(position) is not None:
            raise node.unsupported(f"{name} is not supported")


def _add(node: Node, left: SSAValue, right: SSAValue) -> SSAValue:
    return node.add(elementwise.AddOp, left, right).result


def _spread(node: Node, value: SSAValue, *axes: int) -> SSAValue:
    """Inserts axes of size 1 at these indices."""
    return node.add(movement.UnsqueezeOp, value, axes=list(axes)).result


def _cut(node: Node, value: SSAValue, start: int, end: int, axis: int) -> SSAValue:
    return node.add(movement.SliceOp, value, starts=[start], ends=[end], axes=[axis]).result


# --- Masks that are added ---------------------------------------------------------------------------------------------


def _kept_before(node: Node, ends: SSAValue, keys: SSAValue) -> SSAValue:
    """Returns `[batch, 1, 1, keys]`: whether a key precedes the end of its sequence."""
    return node.add(elementwise.LessOp, keys, _spread(node, node.cast(ends, i64), 1, 2, 3)).result


def _mask(node: Node, position: int, queries: SSAValue, keys: SSAValue, *, has_starts: bool = False) -> SSAValue | None:
    """Returns the bias for an integer mask, of elements or of the ends (and starts) of sequences.

    Returns `None` without a mask.
    """
    mask = node.optional(position)
    if mask is None:
        return None
    sizes, batch = shape_of(mask), shape_of(queries)[0]
    if len(sizes) == 1:
        if DYNAMIC_INDEX in (sizes[0], batch) and has_starts:
            raise node.unsupported(f"mask {mask.type} is ambiguous; fix the batch size with --shape")
        if sizes[0] in (batch, DYNAMIC_INDEX):
            kept = _kept_before(node, mask, keys)
        elif has_starts and sizes[0] == 2 * batch:
            kept = _kept_before(node, _cut(node, mask, 0, batch, 0), keys)
            starts = _spread(node, node.cast(_cut(node, mask, batch, 2 * batch, 0), i64), 1, 2, 3)
            kept = node.add(elementwise.AndOp, kept, node.add(elementwise.GreaterOrEqualOp, keys, starts).result).result
        else:
            raise node.unsupported(f"mask {mask.type} of cumulative lengths is not supported")
    elif len(sizes) in (2, 3):
        kept = node.add(elementwise.GreaterOp, mask, node.scalar(0, mask)).result
        kept = _spread(node, kept, 1, 2) if len(sizes) == 2 else _spread(node, kept, 1)
    else:
        raise node.unsupported(f"mask must have rank 1 to 3, but got {mask.type}")
    filtered = node.scalar(node.attribute("mask_filter_value", _MASKED), queries)
    return node.add(elementwise.WhereOp, kept, node.scalar(0, queries), filtered).result


def _attended(
    node: Node, heads: Sequence[SSAValue], pasts: Sequence[SSAValue | None], mask: int, *, has_starts: bool = False
) -> attention.AttentionOp:
    """Returns the attention of MultiHeadAttention and Attention; `mask` is the index of this input.

    `heads` are the query, the key and the value, `[batch, heads, sequence, head size]`, `pasts` the past key and value.
    """
    query, key, _ = heads
    is_causal = bool(node.attribute("unidirectional", 0))
    queries, keys = shape_of(query)[2], shape_of(key)[2]
    if is_causal and DYNAMIC_INDEX not in (queries, keys) and queries != keys:
        raise node.unsupported(
            f"unidirectional attention requires one new key per query, but got {keys} keys for {queries} queries"
        )
    parts = [each for each in (pasts[0], key) if each is not None]
    found = _mask(node, mask, query, _places_in_all(node, parts), has_starts=has_starts)
    added = node.optional(5)
    if found is not None and added is not None:
        found = _add(node, found, added)
    return node.add(
        attention.AttentionOp, *heads, added if found is None else found, *pasts, None,
        scale=node.attribute("scale", None) or None, is_causal=is_causal,
    )  # fmt: skip


def _places_in_all(node: Node, parts: Sequence[SSAValue]) -> SSAValue:
    """Returns the positions in the concatenation of tensors along the sequence."""
    sizes = [shape_of(part)[2] for part in parts]
    if DYNAMIC_INDEX not in sizes:
        return counting(node, None, sum(sizes))
    return counting(node, reduce(partial(_add, node), (size_of(node, part, 2) for part in parts)))


def _behind(node: Node, past: SSAValue, new: SSAValue, axis: int = 2) -> SSAValue:
    return node.add(movement.ConcatOp, [past, new], axis=axis).result


# --- MultiHeadAttention -----------------------------------------------------------------------------------------------


def _unpacked(node: Node, position: int, count: int) -> list[SSAValue]:
    """Splits input `position`, `[batch, sequence, heads, count, head size]`, into `count` tensors.

    These are `[batch, heads, sequence, head size]`.
    """
    packed = node.input(position)
    if shape_of(packed)[3] != count:
        raise node.error(f"input {position} must pack {count} tensors along axis 3, but got {packed.type}")
    index = [node.add_constant(np.array(each, np.int64), i64) for each in range(count)]
    found = (node.add(indexing.GatherOp, packed, each, axis=3).result for each in index)
    return [node.add(movement.TransposeOp, each, permutation=[0, 2, 1, 3]).result for each in found]


def _multi_head_inputs(node: Node, heads: int) -> list[SSAValue]:
    """Returns query, key and value by heads, from any of their input forms."""
    if len(node.shape()) == 5:
        return _unpacked(node, 0, 3)
    query = split_heads(node, node.input(), heads)
    if node.optional(1) is None:
        raise node.error("missing key: the query is not packed with one")
    rank = len(node.shape(1))
    if rank == 5:
        return [query, *_unpacked(node, 1, 2)]
    if rank == 4:
        return [query, node.input(1), node.input(2)]
    return [query, split_heads(node, node.input(1), heads), split_heads(node, node.input(2), heads)]


def _multi_head_attention(node: Node) -> list[SSAValue | None]:
    """Adds the bias to query, key and value; keys with a head axis are a cache that already includes its bias."""
    _refuse_inputs(node, past_sequence_length=8, cache_indirection=9)
    if wanted(node, 3):
        raise node.unsupported("output 3 (attention scores) is not supported")
    count = node.attribute("num_heads")
    values = _multi_head_inputs(node, count)
    bias = node.optional(3)
    if bias is not None:
        is_cached = node.optional(1) is not None and len(node.shape(1)) == 4
        values = [
            *_with_bias(node, values[:1] if is_cached else values, bias, count),
            *(values[1:] if is_cached else ()),
        ]
    op = _attended(node, values, (node.optional(6), node.optional(7)), mask=4)
    return [joined_heads(node, op.result), op.present_key, op.present_value]


def _with_bias(node: Node, values: Sequence[SSAValue], bias: SSAValue, heads: int) -> list[SSAValue]:
    """Adds to each of `values` its part of the concatenated bias."""
    found: list[SSAValue] = []
    start = 0
    for role, value in zip(_ROLES, values, strict=False):
        size = shape_of(value)[3]
        if size == DYNAMIC_INDEX:
            raise node.unsupported(f"a bias requires heads of static size, but got {value.type}")
        part = node.reshaped(_cut(node, bias, start, start + heads * size, 0), [heads, 1, size])
        found.append(_add(node.part(role), value, part))
        start += heads * size
    return found


# --- Attention, with its projections ----------------------------------------------------------------------------------


def _attention(node: Node) -> list[SSAValue | None]:
    """Imports Attention; each projection is a separate matmul, whose weights and result have separate ranges."""
    _refuse_inputs(node, past_sequence_length=6)
    refuse_attributes(node, do_rotary=0, past_present_share_buffer=0)
    count, width = node.attribute("num_heads"), node.shape(1)[-1]
    if width == DYNAMIC_INDEX:
        raise node.unsupported(f"weights must have a static number of columns, but got {node.input(1).type}")
    sizes = node.attribute("qkv_hidden_sizes", None) or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width or any(size % count for size in sizes):
        parts = f"the sizes {sizes} of query, key and value in {count} heads"
        raise node.error(f"weights with {width} columns do not match {parts}")
    ends = np.cumsum([0, *sizes]).tolist()
    values = [
        _projected(node.part(role), start, end, count)
        for role, (start, end) in zip(_ROLES, pairwise(ends), strict=True)
    ]
    past = node.optional(4)
    index = [node.add_constant(np.array(position, np.int64), i64) for position in (0, 1)]
    pasts = [None if past is None else node.add(indexing.GatherOp, past, each, axis=0).result for each in index]
    op = _attended(node, values, pasts, mask=3, has_starts=True)
    present = None
    if wanted(node, 1):
        present = _behind(node, _spread(node, op.present_key, 0), _spread(node, op.present_value, 0), 0)
    return [joined_heads(node, op.result), present]


def _projected(node: Node, start: int, end: int, heads: int) -> SSAValue:
    """Projects to heads with the columns `start` to `end` of the weights and the bias."""
    weights, bias = node.input(1), node.optional(2)
    product = node.part("matmul").add(contraction.MatMulOp, node.input(), _cut(node, weights, start, end, 1)).result
    if bias is not None:
        product = _add(node.part("bias_add"), product, _cut(node, bias, start, end, 0))
    return split_heads(node, product, heads)


# --- GroupQueryAttention ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lengths:
    """The positions of the keys of each sequence, as i64."""

    past: SSAValue
    """The number of valid past keys, `[batch, 1]`."""

    total: SSAValue
    """The number of valid keys including the new ones, `[batch, 1]`."""

    queries: SSAValue
    """The relative positions of the new keys, `[sequence]`."""


def _lengths(node: Node, query: SSAValue, has_past: bool) -> _Lengths:
    """Returns the lengths; the first prompt, with as many queries as keys, begins with the first key."""
    seqlens = node.cast(node.reshaped(node.input(5), [shape_of(query)[0], 1]), i64)
    total = _add(node, seqlens, node.scalar(1, seqlens))
    none = node.add(elementwise.SubOp, total, total).result
    past = _unless_first(
        node, query, has_past, none, lambda: node.add(elementwise.SubOp, total, size_of(node, query, 2)).result
    )
    return _Lengths(past, total, position_indices(node, query, 2))


def _unless_first(
    node: Node, query: SSAValue, has_past: bool, first: SSAValue, other: Callable[[], SSAValue]
) -> SSAValue:
    """Returns `first` in the first prompt, which has as many queries as keys in total, and otherwise `other`."""
    count, total = shape_of(query)[2], _known_total(node)
    if not has_past or (total is not None and count == total):
        return first
    if total is not None and count != DYNAMIC_INDEX:
        return other()
    is_first = node.add(elementwise.EqualOp, size_of(node, query, 2), _total(node)).result
    return node.add(elementwise.WhereOp, is_first, first, other()).result


def _known_total(node: Node) -> int | None:
    found = node.constant(6)
    return None if found is None else int(found.reshape(-1)[0])


def _total(node: Node) -> SSAValue:
    """Returns `total_sequence_length` as an i64 vector with one element."""
    return node.cast(node.reshaped(node.input(6), [1]), i64)


def _rows(node: Node, past: SSAValue, new: SSAValue, lengths: _Lengths) -> tuple[SSAValue, SSAValue]:
    """Returns the source of each row of the cache, `[batch, keys]`, and whether the row is filled; the others are 0.

    The source is the index in the concatenation of the past and the new rows: row `t` is that of the past before its
    end, and then a new one. The cache is as long as the past, or as all keys if there are more.
    """
    length, added, total = size_of(node, past, 2), size_of(node, new, 2), _known_total(node)
    if total is None or shape_of(past)[2] == DYNAMIC_INDEX:
        rows = counting(node, node.add(elementwise.MaxOp, length, _total(node)).result)
    else:
        rows = counting(node, None, max(total, shape_of(past)[2]))
    is_past = node.add(elementwise.LessOp, rows, lengths.past).result
    is_filled = node.add(elementwise.LessOp, rows, _add(node, lengths.past, added)).result
    placed = _add(node, rows, node.add(elementwise.SubOp, length, lengths.past).result)
    source = node.add(elementwise.WhereOp, is_past, rows, placed).result
    return node.add(elementwise.WhereOp, is_filled, source, node.scalar(0, source)).result, is_filled


def _cached(node: Node, past: SSAValue, new: SSAValue, source: SSAValue, is_filled: SSAValue) -> SSAValue:
    """Returns the cache with the new rows, `[batch, heads, keys, head size]`."""
    moved = node.add(movement.TransposeOp, _behind(node, past, new), permutation=[0, 2, 1, 3]).result
    gathered = node.add(indexing.GatherNDOp, moved, _spread(node, source, 2), batch_dims=1).result
    zero = node.scalar(0, gathered)
    kept = node.add(elementwise.WhereOp, _spread(node, is_filled, 2, 3), gathered, zero).result
    return node.add(movement.TransposeOp, kept, permutation=[0, 2, 1, 3]).result


def _visible(node: Node, keys: SSAValue, lengths: _Lengths, is_causal: bool, window: int) -> SSAValue:
    """Returns `[batch, 1, sequence, keys]`: the valid keys; if causal, only those within the query's window."""
    rows = position_indices(node, keys, 2)
    found = node.add(elementwise.LessOp, rows, _spread(node, lengths.total, 2, 3)).result
    if not is_causal:
        return found
    own = _spread(node, _add(node, lengths.past, lengths.queries), 1, 3)
    found = node.add(elementwise.AndOp, found, node.add(elementwise.LessOrEqualOp, rows, own).result).result
    if window > 0:
        first = node.add(elementwise.SubOp, own, node.scalar(window, own)).result
        found = node.add(elementwise.AndOp, found, node.add(elementwise.GreaterOp, rows, first).result).result
    return found


def _group_query_inputs(node: Node, heads: int, shared: int) -> list[SSAValue]:
    """Returns query, key and value by heads, possibly packed side by side in the query."""
    if node.optional(1) is not None:
        counts = (heads, shared, shared)
        return [split_heads(node, node.input(position), count) for position, count in enumerate(counts)]
    width = node.shape()[-1]
    if width == DYNAMIC_INDEX or width % (heads + 2 * shared):
        raise node.error(f"expected {heads} + 2 * {shared} packed heads of one size, but got {node.input().type}")
    packed = split_heads(node, node.input(), heads + 2 * shared)
    ends = (0, heads, heads + shared, heads + 2 * shared)
    return [_cut(node, packed, start, end, 1) for start, end in pairwise(ends)]


def _turned_by_length(node: Node, values: list[SSAValue], lengths: _Lengths, has_past: bool) -> list[SSAValue]:
    """Applies rotary embedding to query and key; of given positions, the first prompt uses only the first."""
    if node.optional(7) is None or node.optional(8) is None:
        raise node.error("rotary embedding requires cos_cache and sin_cache")
    positions = node.optional(9)
    if positions is None:
        found = _add(node, lengths.past, lengths.queries)
    else:
        first = _cut(node, _cut(node, positions, 0, 1, 0), 0, 1, 1)
        found = _unless_first(node, values[0], has_past, _add(node, first, lengths.queries), lambda: positions)
    if shape_of(found)[0] != shape_of(values[0])[0]:
        sizes = node.add(movement.ConcatOp, [size_of(node, values[0], axis) for axis in (0, 2)], axis=0).result
        found = node.add(ExpandOp, found, sizes).result
    cosines, sines = node.input(7), node.input(8)
    if DYNAMIC_INDEX in (shape_of(cosines)[-1], shape_of(values[0])[-1]):
        raise node.unsupported(f"rotary embedding requires static sizes of cos_cache ({cosines.type}) and heads")
    interleaved = bool(node.attribute("rotary_interleaved", 0))
    return [
        *(
            turned(node.part(role), each, cosines, sines, found, 0, interleaved)
            for role, each in zip(_ROLES, values[:2], strict=False)
        ),
        values[2],
    ]


def _group_query_attention(node: Node) -> list[SSAValue | None]:
    _refuse_inputs(node, k_scale=12, v_scale=13, q_norm_weight=14, k_norm_weight=15, query_seqlens=16)
    refuse_attributes(node, k_quant_type="NONE", v_quant_type="NONE", sliding_window_cache=0)
    values = _group_query_inputs(node, node.attribute("num_heads"), node.attribute("kv_num_heads"))
    past_key, past_value = node.optional(3), node.optional(4)
    if (past_key is None) != (past_value is None):
        raise node.error("past keys and past values must be given together")
    lengths = _lengths(node, values[0], past_key is not None)
    if node.attribute("do_rotary", 0):
        values = _turned_by_length(node, values, lengths, past_key is not None)
    query, *present = values
    if past_key is not None and past_value is not None:
        rows = _rows(node, past_key, present[0], lengths)
        pasts = zip(_ROLES[1:], (past_key, past_value), present, strict=True)
        present = [_cached(node.part(role), past, new, *rows) for role, past, new in pasts]
    visible = _visible(
        node, present[0], lengths, bool(node.attribute("causal", 1)), node.attribute("local_window_size", -1)
    )
    mask, bias = visible, node.optional(10)
    if bias is not None:
        mask = node.add(elementwise.WhereOp, visible, bias, node.scalar(-np.inf, query)).result
    scores = _scores(node)
    op = node.add(
        attention.AttentionOp, query, *present, mask, None, None, None, scale=node.attribute("scale", None) or None,
        softcap=node.attribute("softcap", 0.0), scores_are="biased" if _has_sink(node) else scores or "raw",
    )  # fmt: skip
    result = _with_sink(node, op) if _has_sink(node) else op.result
    told = None
    if scores:  # before the softmax, masked keys have the logit 0 there
        zero = node.scalar(0, op.scores)
        told = op.scores if scores == "softmax" else node.add(elementwise.WhereOp, visible, op.scores, zero).result
    return [joined_heads(node, result), *present, told]


_QK_OUTPUT = ("", "biased", "softmax")


def _scores(node: Node) -> str:
    """Returns which logits output 3 holds; empty if it is unused."""
    if not wanted(node, 3):
        return ""
    mode = node.attribute("qk_output", 0)
    if mode not in (1, 2) or _has_sink(node):
        raise node.unsupported(f"qk_output must be 1 or 2, without softmax sinks, but got {mode}")
    return _QK_OUTPUT[mode]


def _has_sink(node: Node) -> bool:
    return node.optional(11) is not None or node.attribute("smooth_softmax", 0) == 1


def _with_sink(node: Node, op: attention.AttentionOp) -> SSAValue:
    """Returns the result of a softmax with an additional logit per head that belongs to no key: 0, or `head_sink`.

    With `L = log(sum(exp(logits)))`, the probabilities are scaled by `e^L / (e^L + e^sink) = sigmoid(L - sink)`.
    """
    total = node.add(reduction.ReduceLogSumExpOp, op.scores, axes=[3]).result
    sink = node.optional(11)
    if sink is not None:
        total = node.add(elementwise.SubOp, total, _spread(node, node.cast(sink, element_of(total)), 1, 2)).result
    return node.add(elementwise.MulOp, op.result, node.add(SigmoidOp, total).result).result


IMPORTERS: dict[str, Importer] = {
    f"{MICROSOFT}::MultiHeadAttention": _multi_head_attention,
    f"{MICROSOFT}::Attention": _attention,
    f"{MICROSOFT}::GroupQueryAttention": _group_query_attention,
}
