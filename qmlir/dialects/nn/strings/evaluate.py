"""Evaluation of string operations, on arrays of Python strings."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.strings import ops

_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


def _strings(texts: Sequence[str], shape: Sequence[int]) -> Array:
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array.reshape(shape)


def _normalize(op: ops.StringNormalizerOp, x: Array) -> tuple[Array]:
    compared = str if op.is_case_sensitive.value.data else str.lower
    stopwords = {compared(word) for word in op.words}
    changed = _CASES[op.case_change.data]
    texts = [changed(text) for text in x.reshape(-1) if compared(text) not in stopwords] or [""]
    return (_strings(texts, (*x.shape[:-1], len(texts))),)


def _concat(op: ops.StringConcatOp, a: Array, b: Array) -> tuple[Array]:
    # For scalars, NumPy's sum is a string rather than an array.
    return (np.asarray(a + b, dtype=np.object_),)


def _split(op: ops.StringSplitOp, x: Array) -> tuple[Array, Array]:
    limit = -1 if op.max_split is None else op.max_split.value.data
    rows = [text.split(op.delimiter.data or None, limit) for text in x.reshape(-1)]
    width = max(map(len, rows), default=0)
    parts = [part for row in rows for part in (*row, *[""] * (width - len(row)))]
    counts = np.array([len(row) for row in rows], dtype=np.int64).reshape(x.shape)
    return _strings(parts, (*x.shape, width)), counts


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ops.StringNormalizerOp: _normalize,
    ops.StringConcatOp: _concat,
    ops.StringSplitOp: _split,
}
