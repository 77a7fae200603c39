"""States of other forms than the example's: the cache of GroupQueryAttention, and a state that is computed with."""

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

Array = np.ndarray

RANDOM = np.random.default_rng(0)
HEADS, SHARED, SIZE, ROOM = 4, 2, 8, 16
WIDTH = HEADS * SIZE


def _attention() -> ModelProto:
    cache = f"float[B,{SHARED},{ROOM},{SIZE}]"
    model = parser.parse_model(f"""
    <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
    g (float[B,T,{WIDTH}] x, int32[B] seqlens_k, int32[1] total, {cache} past_key, {cache} past_value)
        => (float[B,T,{WIDTH}] y, {cache} present_key, {cache} present_value) {{
      q = MatMul(x, wq)
      k = MatMul(x, wk)
      v = MatMul(x, wv)
      y, present_key, present_value = com.microsoft.GroupQueryAttention<num_heads = {HEADS}, kv_num_heads = {SHARED}>(
          q, k, v, past_key, past_value, seqlens_k, total)
    }}""")
    for name, heads in (("wq", HEADS), ("wk", SHARED), ("wv", SHARED)):
        weight = RANDOM.normal(0, 0.3, (WIDTH, heads * SIZE)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model


def _feeds(x: Array, past: int, key: Array, value: Array) -> dict[str, Array]:
    last = past + x.shape[1]
    lengths = {"seqlens_k": np.full(len(x), last - 1, np.int32), "total": np.array([last], np.int32)}
    return {"x": x, **lengths, "past_key": key, "past_value": value}


def test_the_cache_of_shared_heads() -> None:
    """A prompt at once and row by row: the same numbers and the same cache, which is bytes throughout.

    The attention computes in float, in sums of other lengths; a rule rounds its output to integers behind it.
    """
    x = RANDOM.normal(size=(2, 5, WIDTH)).astype(np.float32)
    room = (2, SHARED, ROOM, SIZE)
    samples = [_feeds(x, 0, *[np.zeros(room, np.float32)] * 2)]
    rounding = {"op": "nn.transpose", "quantize": True}
    quantized = qmlir.quantize(
        qmlir.load(_attention()), samples, states={"past_*": "present_*"}, recipe=[rounding], validate=False
    ).module
    empty = np.zeros(room, np.int8)
    whole = qmlir.interpret(quantized, _feeds(x, 0, empty, empty))
    key, value, rows = empty, empty, list[Array]()
    for position in range(5):
        found = qmlir.interpret(quantized, _feeds(x[:, position : position + 1], position, key, value))
        key, value = found["present_key"], found["present_value"]
        rows.append(found["y"])
    assert key.dtype == value.dtype == np.int8
    assert np.array_equal(np.concatenate(rows, axis=1), whole["y"])
    assert np.array_equal(key, whole["present_key"])
    assert np.array_equal(value, whole["present_value"])


CELL = """
<ir_version: 10, opset_import: ["": 21]>
cell (float[1,2] x, float[1,2] h) => (float[1,2] next) { a = Add(x, h) next = Mul(a, h) }
"""


def test_a_state_that_is_computed_with() -> None:
    """The state enters and leaves with one range, 0 to 8 in 65535 steps, as it is fed back.

    16384 steps are 2.00003. An input of 1.004 is 128 of 255 steps from 0 to 2, or 1.00392. The sum is 49216 of the
    65535 steps from 0 to 4, or 3.00395, and the product, 6.00799, is 49217 steps.
    """
    samples = [{"x": np.array([[0, 2]], np.float32), "h": np.array([[0, 2]], np.float32)}]
    model = qmlir.load(parser.parse_model(CELL))
    quantized = qmlir.quantize(model, samples, states={"h": "next"}, validate=False).module
    state = np.full((1, 2), -(2**15) + 16384, np.int16)
    found = qmlir.interpret(quantized, {"x": np.full((1, 2), 1.004, np.float32), "h": state})["next"]
    assert found.dtype == np.int16
    assert found.tolist() == [[-(2**15) + 49217] * 2]


def test_names_that_the_model_has_not() -> None:
    samples = [{"x": np.ones((1, 2), np.float32), "h": np.ones((1, 2), np.float32)}]
    with pytest.raises(DiagnosticError, match="has no output 'net' for state 'h'; did you mean 'next'"):
        qmlir.quantize(qmlir.load(parser.parse_model(CELL)), samples, states={"h": "net"})
