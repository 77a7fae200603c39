"""ONNX Runtime's operators for transformers: what is refused, and forms that its CPU does not have, by formulas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.nets import node_model

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(0)


def _normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def _model(op_type: str, inputs: Sequence[Array | None], outputs: Sequence[str], **attributes: Any) -> ModelProto:
    return node_model(op_type, inputs, outputs, 20, domain="com.microsoft", **attributes)


def _run(
    op_type: str, inputs: Sequence[Array | None], outputs: Sequence[str] = ("y",), **attributes: Any
) -> dict[str, Array]:
    values = {f"i{position}": each for position, each in enumerate(inputs) if each is not None}
    return qmlir.interpret(qmlir.load(_model(op_type, inputs, outputs, **attributes)), values)


X, ROW, ONE = _normal(2, 3, 8), _normal(8), np.array([1])
CACHE = [_normal(2, 2, 4, 4), _normal(2, 2, 4, 4)]
LENGTHS = [np.array([2, 2], np.int32), np.array([3], np.int32)]
GROUP = [X, X, X, None, None, *LENGTHS]
TABLES = [_normal(9, 2), _normal(9, 2)]
COUNTS = {"num_heads": 2, "kv_num_heads": 2}


@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "attributes", "message"),
    [
        ("SkipSimplifiedLayerNormalization", [X, X, ROW], ["y", "mean"], {}, r"output 1 \(mean\) is not supported"),
        ("RotaryEmbedding", [X, ONE, *TABLES], ["y"], {"scale": 2.0}, r"scale must be 1\.0, but got 2\.0"),
        ("RotaryEmbedding", [X, ONE, *TABLES], ["y"], {"is_packed_batching": 1},
         "is_packed_batching must be 0, but got 1"),
        ("RotaryEmbedding", [X, ONE, *TABLES], ["y"], {"rotary_embedding_dim": 2},
         "rotary_embedding_dim requires num_heads"),
        ("EmbedLayerNormalization", [np.zeros((1, 2), np.int32)] * 2 + [_normal(3, 8)] * 2 + [None, ROW, ROW], ["y"],
         {}, "segments and segment embeddings must be given together"),
        ("MultiHeadAttention", [X], ["y"], {"num_heads": 2}, "missing key: the query is not packed with one"),
        ("MultiHeadAttention", [X, X, X], ["y", "", "", "qk"], {"num_heads": 2}, "output 3 "),
        ("MultiHeadAttention", [X, X, X, None, None, None, *CACHE, LENGTHS[0]], ["y"], {"num_heads": 2},
         "past_sequence_length is not supported"),
        ("MultiHeadAttention", [X, X, X, None, np.ones(8, np.int32)], ["y"], {"num_heads": 2},
         "of cumulative lengths is not supported"),
        ("MultiHeadAttention", [X, X[:, :2], X[:, :2]], ["y"], {"num_heads": 2, "unidirectional": 1},
         "unidirectional attention requires one new key per query, but got 2 keys for 3 queries"),
        ("MultiHeadAttention", [_normal(2, 3, 2, 2, 4)], ["y"], {"num_heads": 2},
         "input 0 must pack 3 tensors along axis 3, but got tensor<2x3x2x2x4xf32>"),
        ("Attention", [X, _normal(8, 24)], ["y"], {"num_heads": 2, "do_rotary": 1}, "do_rotary must be 0, but got 1"),
        ("Attention", [X, _normal(8, 24)], ["y"], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 9]},
         "weights with 24 columns do not match the sizes"),
        ("Attention", [X, _normal(8, 24), None, np.ones((2, 1, 3, 3), np.int32)], ["y"], {"num_heads": 2},
         "mask must have rank 1 to 3, but got"),
        ("GroupQueryAttention", GROUP, ["y", "", "", "qk"], COUNTS,
         "qk_output must be 1 or 2, without softmax sinks, but got 0"),
        ("GroupQueryAttention", GROUP, ["y"], COUNTS | {"sliding_window_cache": 1},
         "sliding_window_cache must be 0, but got 1"),
        ("GroupQueryAttention", GROUP, ["y"], COUNTS | {"k_quant_type": "PER_TENSOR"},
         "k_quant_type must be NONE, but got PER_TENSOR"),
        ("GroupQueryAttention", GROUP, ["y"], COUNTS | {"do_rotary": 1}, "requires cos_cache and"),
        ("GroupQueryAttention", [X, X, X, CACHE[0], None, *LENGTHS], ["y"], COUNTS,
         "past keys and past values must be given together"),
        ("GroupQueryAttention", [X, None, None, None, None, *LENGTHS], ["y"], COUNTS,
         r"expected 2 \+ 2 \* 2 packed heads of one size"),
        ("GroupQueryAttention", [*GROUP, *[None] * 9, LENGTHS[0]], ["y"], COUNTS, "query_seqlens is not supported"),
    ],
)  # fmt: skip
def test_what_is_refused(
    op_type: str, inputs: list[Array | None], outputs: list[str], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DiagnosticError, match=f"com.microsoft.{op_type} node 'node': .*{message}"):
        qmlir.load(_model(op_type, inputs, outputs, **attributes), fallback=False)


def test_packed_heads() -> None:
    """Query, key and value packed head by head are those that lie in tensors of their own."""
    q, k, v = (_normal(2, 3, 2, 4) for _ in range(3))
    flat = [each.reshape(2, 3, 8) for each in (q, k, v)]
    (expected,) = _run("MultiHeadAttention", flat, num_heads=2).values()
    (packed,) = _run("MultiHeadAttention", [np.stack((q, k, v), axis=3)], num_heads=2).values()
    (half,) = _run("MultiHeadAttention", [flat[0], np.stack((k, v), axis=3)], num_heads=2).values()
    assert np.array_equal(packed, expected)
    assert np.array_equal(half, expected)


def test_the_statistics_of_norms() -> None:
    """The mean, and one over the deviation (or the root of the mean square), of the sum along its last axis."""
    skip, epsilon = _normal(2, 3, 8), 0.5
    total = (X + skip).astype(np.float64)
    found = _run("SkipLayerNormalization", [X, skip, ROW], ["y", "mean", "inverse", "sum"], epsilon=epsilon)
    np.testing.assert_allclose(found["mean"], total.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["inverse"], (total.var(-1, keepdims=True) + epsilon) ** -0.5, rtol=1e-4)
    np.testing.assert_array_equal(found["sum"], X + skip)
    found = _run("SkipSimplifiedLayerNormalization", [X, skip, ROW], ["y", "", "inverse"], epsilon=epsilon)
    np.testing.assert_allclose(found["inverse"], ((total**2).mean(-1, keepdims=True) + epsilon) ** -0.5, rtol=1e-4)


def test_a_loop_of_tokens_is_the_prompt() -> None:
    """One token after the other, each with the cache of the last one, gives what all of them give at once."""
    q, k, v = (_normal(1, 4, 8) for _ in range(3))

    def step(start: int, end: int, caches: Sequence[Array]) -> dict[str, Array]:
        rows = [each[:, start:end] for each in (q, k, v)]
        lengths = [np.array([end - 1], np.int32), np.array([end], np.int32)]
        tables = [np.cos(np.arange(8)[:, None] * [1, 0.1]), np.sin(np.arange(8)[:, None] * [1, 0.1])]
        given = [*rows, *caches, *lengths, *(each.astype(np.float32) for each in tables)]
        return _run("GroupQueryAttention", given, ["y", "k", "v"], **COUNTS, do_rotary=1, local_window_size=3)

    caches: list[Array] = [np.zeros((1, 2, 0, 4), np.float32)] * 2
    whole = step(0, 4, caches)
    for position in range(4):
        found = step(position, position + 1, caches)
        np.testing.assert_allclose(found["y"][:, 0], whole["y"][:, position], rtol=1e-5, atol=1e-6)
        caches = [found["k"], found["v"]]
    np.testing.assert_allclose(caches, [whole["k"], whole["v"]], rtol=1e-6)


def test_the_prompts_of_a_batch() -> None:
    """Sequences of a batch, the shorter one padded behind its end, give what each of them gives alone."""
    q, k, v = (_normal(2, 4, 8) for _ in range(3))
    caches = [np.zeros((2, 2, 0, 4), np.float32)] * 2
    lengths = [np.array([3, 1], np.int32), np.array([4], np.int32)]
    found = _run("GroupQueryAttention", [q, k, v, *caches, *lengths], ["y", "k", "v"], **COUNTS)
    for position, count in enumerate((4, 2)):
        own = [each[position : position + 1, :count] for each in (q, k, v)]
        given = [*own, *(each[:1] for each in caches), np.array([count - 1], np.int32), np.array([count], np.int32)]
        alone = _run("GroupQueryAttention", given, ["y", "k", "v"], **COUNTS)
        np.testing.assert_allclose(found["y"][position, :count], alone["y"][0], rtol=1e-5, atol=1e-6)
        for name in "kv":
            np.testing.assert_array_equal(found[name][position, :, :count], alone[name][0])
