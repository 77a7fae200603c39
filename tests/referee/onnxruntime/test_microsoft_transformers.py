"""ONNX Runtime's own operators for transformers, imported, against ONNX Runtime in f32: each form that its CPU takes.

Each node is imported twice: with its sizes, and with all of them open.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import qmlir
from tests.referee.onnxruntime.nodes import agree
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime

Array = np.ndarray
RNG = np.random.default_rng(0)

BATCH, QUERIES, KEYS, PAST = 2, 3, 5, 4
HEADS, SHARED, SIZE = 4, 2, 8
WIDTH = HEADS * SIZE


def _normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def _i32(*rows: Any) -> Array:
    return np.array(rows, np.int32)


def _bits(*shape: int) -> Array:
    return RNG.integers(0, 2, shape).astype(np.int32)


class Case(NamedTuple):
    """A node, and what tells it from the others in the name of its test."""

    op_type: str
    what: str
    inputs: Sequence[Array | None]
    outputs: Sequence[str] = ("y",)
    attributes: dict[str, Any] = {}
    needs_sizes: bool = False
    """Whether the operator asks for sizes where they are open."""


def _layers() -> Iterator[Case]:
    x, row = _normal(BATCH, QUERIES, WIDTH), _normal(WIDTH)
    yield Case("Gelu", "", [x])
    yield Case("BiasGelu", "", [x, row])
    yield Case("FastGelu", "bias", [x, row])
    yield Case("FastGelu", "", [x])
    yield Case("QuickGelu", "", [x])
    yield Case("QuickGelu", "alpha", [x], attributes={"alpha": 1.1})
    for shape in ((BATCH, QUERIES, WIDTH), (1, QUERIES, WIDTH), (QUERIES, WIDTH)):
        skip = _normal(*shape)
        for what, bias in (("", None), (" bias", row)):
            where, sums = f"{len(shape)} axes, batch {shape[0]}{what}", ["y", "", "", "sum"]
            yield Case("SkipLayerNormalization", where, [x, skip, row, row if bias is None else None, bias], sums)
            yield Case("SkipSimplifiedLayerNormalization", where, [x, skip, row, bias], sums, {"epsilon": 1e-3})
    yield Case("SimplifiedLayerNormalization", "", [x, row], ["y", "v"], {"domain": ""})
    several = {"domain": "", "axis": 1, "epsilon": 1e-3}
    yield Case("SimplifiedLayerNormalization", "axes", [x, _normal(QUERIES, WIDTH)], ["y", "v"], several)


def _products() -> Iterator[Case]:
    """`[2, 3, 4, 5]` by `[2, 3, 5, 6]`, each in the order that the attributes say."""
    sizes = {"A": (2, 3, 4, 5), "B": (2, 3, 5, 6)}
    orders = {(0, 0): (0, 1, 2, 3), (1, 0): (0, 1, 3, 2), (0, 1): (2, 0, 1, 3), (1, 1): (3, 0, 1, 2)}
    for (flip_a, batch_a), order_a in orders.items():
        for (flip_b, batch_b), order_b in orders.items():
            a, b = (_normal(*sizes[side]).transpose(order) for side, order in (("A", order_a), ("B", order_b)))
            given = {"transA": flip_a, "transB": flip_b, "transBatchA": batch_a, "transBatchB": batch_b, "alpha": 0.5}
            what = f"{flip_a}{batch_a}{flip_b}{batch_b}"
            inputs = [np.ascontiguousarray(a), np.ascontiguousarray(b)]
            yield Case("FusedMatMul", what, inputs, attributes=given)
    yield Case("FusedMatMul", "vectors", [_normal(5), _normal(5)], attributes={"alpha": 2.0})
    yield Case("FusedMatMul", "row", [_normal(5), _normal(5, 3)])


def _embeddings() -> Iterator[Case]:
    ids, words, table = _i32([1, 9, 3], [0, 4, 4]), _normal(10, WIDTH), _normal(7, WIDTH)
    norm, segments = [_normal(WIDTH), _normal(WIDTH)], [_i32([0, 1, 1], [0, 0, 1]), _normal(2, WIDTH)]
    mask, positions = _i32([1, 1, 0], [1, 0, 0]), _i32([6, 5, 4], [0, 2, 1])
    every = ["y", "lengths", "sum"]
    whole = [ids, segments[0], words, table, segments[1], *norm]
    forms = {
        "words": [ids, None, words, table, None, *norm], "mask": [*whole, mask], "positions": [*whole, None, positions],
        "one row of positions": [*whole, None, positions[:1]],
    }  # fmt: skip
    for what, inputs in forms.items():  # ONNX Runtime itself wants the sizes of the tables
        yield Case("EmbedLayerNormalization", what, inputs, every, {"epsilon": 1e-3}, needs_sizes=True)


def _rotary() -> Iterator[Case]:
    x, heads = _normal(BATCH, QUERIES, WIDTH), _normal(BATCH, HEADS, QUERIES, SIZE)
    whole, part = [_normal(9, SIZE // 2) for _ in range(2)], [_normal(9, SIZE // 4) for _ in range(2)]
    offset, positions = np.array([1]), np.array([[0, 1, 2], [3, 4, 5]])
    some = {"num_heads": HEADS, "rotary_embedding_dim": SIZE // 2}
    for interleaved in (0, 1):
        way, what = {"interleaved": interleaved}, f"interleaved {interleaved}"
        yield Case("RotaryEmbedding", f"offset {what}", [x, offset, *whole], attributes=way, needs_sizes=True)
        yield Case("RotaryEmbedding", f"heads {what}", [heads, positions, *whole], attributes=way)
        yield Case("RotaryEmbedding", f"part {what}", [x, positions, *part], attributes=way | some)
        yield Case("RotaryEmbedding", f"part of heads {what}", [heads, offset, *part], attributes=way | some)


def _multi_head() -> Iterator[Case]:
    every = ["y", "k", "v"]
    q, k, v = _normal(BATCH, QUERIES, WIDTH), _normal(BATCH, KEYS, WIDTH), _normal(BATCH, KEYS, WIDTH - 8)
    like_k = _normal(BATCH, KEYS, WIDTH)
    cached = [_normal(BATCH, HEADS, KEYS, SIZE) for _ in range(2)]
    past = [_normal(BATCH, HEADS, PAST, SIZE) for _ in range(2)]

    def case(
        what: str, inputs: Sequence[Array | None], outputs: Sequence[str] = every, *, needs: bool = False, **given: Any
    ) -> Case:
        return Case("MultiHeadAttention", what, inputs, outputs, {"num_heads": HEADS, **given}, needs)

    yield case("", [q, k, v])
    yield case("scale", [q, k, v], scale=0.3)
    yield case("bias", [q, k, v, _normal(3 * WIDTH - 8)], needs=True)
    yield case("cached keys", [q, *cached], ["y"])
    yield case("cached keys, bias", [q, *cached, _normal(3 * WIDTH)], ["y"], needs=True)
    yield case("past", [q, k, like_k, None, None, None, *past])
    own = [_normal(BATCH, QUERIES, WIDTH) for _ in range(2)]
    yield case("causal", [q, *own], unidirectional=1)
    yield case("causal past", [q, *own, None, None, None, *past], unidirectional=1)
    masks = {"ends": _i32(3, 5), "of keys": _bits(BATCH, KEYS), "of queries": _bits(BATCH, QUERIES, KEYS)}
    masks["of nothing"] = np.zeros((BATCH, KEYS), np.int32)
    for name, mask in masks.items():
        yield case(f"mask {name}", [q, k, v, None, mask])
        added = _normal(1, HEADS, QUERIES, KEYS)
        yield case(f"mask {name}, added", [q, k, v, None, mask, added], mask_filter_value=-3.0)
    mask, added = _bits(BATCH, PAST + KEYS), _normal(BATCH, 1, QUERIES, PAST + KEYS)
    yield case("mask past", [q, k, like_k, None, mask, added, *past])


def _projected() -> Iterator[Case]:
    x, weights, bias = _normal(BATCH, QUERIES, 10), _normal(10, 3 * WIDTH), _normal(3 * WIDTH)
    past = _normal(2, BATCH, HEADS, PAST, SIZE)

    def case(what: str, inputs: Sequence[Array | None], outputs: Sequence[str] = ("y",), **given: Any) -> Case:
        return Case("Attention", what, inputs, outputs, {"num_heads": HEADS, **given}, needs_sizes=True)

    yield case("", [x, weights, bias], ["y", "present"])
    yield case("no bias", [x, weights], scale=0.2, unidirectional=1)
    sizes = [WIDTH, WIDTH, WIDTH - 8]
    yield case("sizes", [x, _normal(10, sum(sizes)), _normal(sum(sizes))], qkv_hidden_sizes=sizes)
    masks = {"ends": _i32(3, 2), "ends and starts": _i32(3, 2, 1, 0), "of keys": _bits(BATCH, QUERIES)}
    masks["of queries"] = _bits(BATCH, QUERIES, QUERIES)
    for name, mask in masks.items():
        for causal in (0, 1):
            yield case(f"mask {name}, causal {causal}", [x, weights, bias, mask], unidirectional=causal)
    yield case("past", [x, weights, bias, None, past], ["y", "present"])
    yield case("past, mask", [x, weights, bias, _bits(BATCH, PAST + QUERIES), past], ["y", "present"])
    yield case("past, ends", [x, weights, bias, _i32(4, 7), past], ["y", "present"], unidirectional=1)


def _stages(size: int) -> Iterator[tuple[str, list[Array | None]]]:
    """The first seven inputs of GroupQueryAttention at each stage of a decoder."""
    q, k, v = (_normal(BATCH, QUERIES, heads * size) for heads in (HEADS, SHARED, SHARED))
    past = [_normal(BATCH, SHARED, PAST, size) for _ in range(2)]
    one = [each[:, :1] for each in (q, k, v)]
    first = [each[:1] for each in (q, k, v)]
    yield "prompt", [q, k, v, None, None, _i32(2, 2), _i32(3)]
    yield "prompt of two lengths", [q, k, v, None, None, _i32(2, 1), _i32(3)]
    yield "prompt into a buffer", [q, k, v, *past, _i32(2, 1), _i32(3)]
    yield "token", [*one, *past, _i32(4, 4), _i32(5)]
    yield "token after two lengths", [*one, *past, _i32(4, 2), _i32(5)]
    yield "token into a buffer", [*one, *past, _i32(2, 1), _i32(3)]
    yield "chunk", [*first, *(each[:1] for each in past), _i32(6), _i32(7)]
    yield "chunk into a buffer", [*(each[:, :2] for each in first), *(each[:1] for each in past), _i32(3), _i32(4)]


def _group_query() -> Iterator[Case]:
    every, counts = ["y", "k", "v"], {"num_heads": HEADS, "kv_num_heads": SHARED}
    ways: dict[str, dict[str, Any]] = {
        "": {}, "scale": {"scale": 0.3}, "softcap": {"softcap": 1.5}, "window": {"local_window_size": 2},
        "smooth": {"smooth_softmax": 1}, "not causal": {"causal": 0},
    }  # fmt: skip
    for way, given in ways.items():
        for stage, inputs in _stages(SIZE):
            yield Case("GroupQueryAttention", f"{stage} {way}", inputs, every, counts | given)
    q, k, v = (_normal(BATCH, QUERIES, heads * SIZE) for heads in (HEADS, SHARED, SHARED))
    packed = _normal(BATCH, QUERIES, (HEADS + 2 * SHARED) * SIZE)
    lengths, added = [_i32(2, 1), _i32(3)], _normal(1, HEADS, QUERIES, QUERIES)
    scalar = [lengths[0], np.array(3, np.int32)]
    yield Case("GroupQueryAttention", "packed", [packed, *[None] * 4, *scalar], every, counts, needs_sizes=True)
    sink = [q, k, v, None, None, *lengths, None, None, None, None, _normal(HEADS)]
    yield Case("GroupQueryAttention", "sink", sink, every, counts)
    biased = [q, k, v, None, None, *lengths, None, None, None, added]
    yield Case("GroupQueryAttention", "added", biased, every, counts | {"softcap": 2.0})
    for mode in (1, 2):
        whole = [*biased[:5], _i32(2, 2), *biased[6:]]
        given = counts | {"qk_output": mode, "softcap": 2.0}
        yield Case("GroupQueryAttention", f"scores {mode}", whole, [*every, "qk"], given)


def _group_query_turned() -> Iterator[Case]:
    """ONNX Runtime turns heads of 16 elements and more, by caches of 8 columns and more."""
    every, counts = ["y", "k", "v"], {"num_heads": HEADS, "kv_num_heads": SHARED, "do_rotary": 1}
    given = np.array([[2, 3, 9], [5, 6, 1]])
    for interleaved in (0, 1):
        for half in (16, 8):
            for positions in (None, given):
                for stage, inputs in _stages(32):
                    batch, queries = (inputs[0] if inputs[0] is not None else given).shape[:2]
                    indices = None if positions is None else positions[:batch, :queries]
                    cache = [_normal(20, half) for _ in range(2)]
                    what = f"{stage} {half} {'given' if positions is not None else ''} interleaved {interleaved}"
                    attributes = counts | {"rotary_interleaved": interleaved}
                    yield Case(
                        "GroupQueryAttention", what, [*inputs, *cache, indices], every, attributes, needs_sizes=True
                    )


CASES = [
    case
    for family in (_layers, _products, _embeddings, _rotary, _multi_head, _projected, _group_query, _group_query_turned)
    for case in family()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op_type} {case.what}")
def test_operator(case: Case) -> None:
    given = {"domain": "com.microsoft", **case.attributes}
    agree(case.op_type, case.inputs, case.outputs, opset=20, rtol=1e-4, atol=2e-5, **given)
    if not case.needs_sizes:
        agree(case.op_type, case.inputs, case.outputs, opset=20, rtol=1e-4, atol=2e-5, is_open=True, **given)


ENCODER = """<ir_version: 8, opset_import: ["": OPSET]>
g (int64[2, 3] ids) => (float[2, 3, 8] y) {
  words = Gather (table, ids)
  x = Add (words, positions)
  q = MatMul (x, wq)
  k = MatMul (x, wk)
  kt = Transpose <perm = [0, 2, 1]> (k)
  scores = MatMul (q, kt)
  scaled = Div (scores, root)
  p = Softmax <axis = -1> (scaled)
  v = MatMul (p, x)
  r = Add (v, x)
  mean = ReduceMean <axes = [-1]> (r)
  centered = Sub (r, mean)
  squared = Pow (centered, two)
  variance = ReduceMean <axes = [-1]> (squared)
  shifted = Add (variance, epsilon)
  deviation = Sqrt (shifted)
  normed = Div (centered, deviation)
  weighed = Mul (normed, gain)
  n = Add (weighed, bias)
  u = MatMul (n, wk)
  inner = Div (u, diagonal)
  erf = Erf (inner)
  over = Add (erf, one)
  product = Mul (u, over)
  y = Mul (product, half)
}"""


@pytest.mark.parametrize("opset", [17, 14])
def test_a_model_that_onnx_runtime_optimized(opset: int, tmp_path: Path) -> None:
    """An encoder of plain operators, as ONNX Runtime writes it after its fusions: before 17 ONNX has no such norm."""
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    model = parser.parse_model(ENCODER.replace("OPSET", str(opset)))
    constants = {
        "table": _normal(9, 8), "positions": _normal(3, 8), "wq": _normal(8, 8), "wk": _normal(8, 8),
        "gain": _normal(8), "bias": _normal(8),
        **{name: np.array(number, np.float32) for name, number in (
            ("root", 3.0), ("two", 2.0), ("epsilon", 1e-5), ("diagonal", 2**0.5), ("one", 1.0), ("half", 0.5),
        )},
    }  # fmt: skip
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    options, path = onnxruntime.SessionOptions(), tmp_path / "optimized.onnx"
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath, options.log_severity_level = str(path), 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    written = {node.op_type for node in onnx.load(path).graph.node}
    assert {"FusedMatMul", "Gelu"} < written
    assert written & {"LayerNormalization", "SkipLayerNormalization"}
    inputs = {"ids": np.array([[1, 2, 3], [8, 0, 8]])}
    (expected,) = session.run(None, inputs)
    np.testing.assert_allclose(qmlir.interpret(qmlir.load(path), inputs)["y"], expected, rtol=1e-4, atol=1e-5)
