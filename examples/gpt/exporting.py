"""A GPT with a cache of its keys and values, as an ONNX model of open batch and length.

One model reads a whole prompt and then token by token. It takes `tokens [B, T]`, how many tokens each row has read
before, and for each layer a cache `[B, heads, context, head size]`; it writes the new keys and values into the cache
and gives it back beside the logits `[B, T, vocabulary]`. Rows of the cache that no token has filled are masked.
"""

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, numpy_helper, parser

from examples.gpt.training import EPSILON, Array, Parameters, Shape

KINDS = ("key", "value")


def states(shape: Shape) -> dict[str, str]:
    """The names of the caches that go in, each with that of the one that comes out."""
    return {f"past_{kind}_{layer}": f"present_{kind}_{layer}" for layer in range(shape.layers) for kind in KINDS}


def no_past(shape: Shape, batch: int, dtype: npt.DTypeLike = np.float32) -> dict[str, Array]:
    """What goes in beside the first tokens: caches of zeros."""
    sizes = (batch, shape.heads, shape.context, shape.head_size)
    return {"past_length": np.zeros(batch, np.int64), **{name: np.zeros(sizes, dtype) for name in states(shape)}}


def _linear(result: str, x: str, name: str) -> str:
    return f"{result}_product = MatMul({x}, {name}_weight) {result} = Add({result}_product, {name}_bias)"


def _norm(result: str, x: str, name: str) -> str:
    return f"{result} = LayerNormalization<axis = -1, epsilon = {EPSILON}>({x}, {name}_weight, {name}_bias)"


def _heads(result: str, x: str, name: str) -> str:
    return f"""
        {_linear(f"{result}_rows", x, name)}
        {result}_split = Reshape({result}_rows, by_head)
        {result} = Transpose<perm = [0, 2, 1, 3]>({result}_split)"""


def _layer(i: int) -> str:
    return f"""
        {_norm(f"normed1_{i}", f"stream_{i}", f"layer{i}_norm1")}
        {_heads(f"query_{i}", f"normed1_{i}", f"layer{i}_query")}
        {_heads(f"key_{i}", f"normed1_{i}", f"layer{i}_key")}
        {_heads(f"value_{i}", f"normed1_{i}", f"layer{i}_value")}
        present_key_{i} = TensorScatter(past_key_{i}, key_{i}, past_length)
        present_value_{i} = TensorScatter(past_value_{i}, value_{i}, past_length)
        by_heads_{i} = Attention(query_{i}, present_key_{i}, present_value_{i}, visible)
        by_tokens_{i} = Transpose<perm = [0, 2, 1, 3]>(by_heads_{i})
        attended_{i} = Reshape(by_tokens_{i}, joined)
        {_linear(f"projected_{i}", f"attended_{i}", f"layer{i}_project")}
        middle_{i} = Add(stream_{i}, projected_{i})
        {_norm(f"normed2_{i}", f"middle_{i}", f"layer{i}_norm2")}
        {_linear(f"expanded_{i}", f"normed2_{i}", f"layer{i}_expand")}
        activated_{i} = Gelu<approximate = "tanh">(expanded_{i})
        {_linear(f"reduced_{i}", f"activated_{i}", f"layer{i}_reduce")}
        stream_{i + 1} = Add(middle_{i}, reduced_{i})"""


def exported(shape: Shape, parameters: Parameters) -> ModelProto:
    """The ONNX model of `parameters`."""
    cache = f"float[B, {shape.heads}, {shape.context}, {shape.head_size}]"
    pasts = ", ".join(f"{cache} {name}" for name in states(shape))
    presents = ", ".join(f"{cache} {name}" for name in states(shape).values())
    model = parser.parse_model(f"""
    <ir_version: 11, opset_import: ["" : 24]>
    gpt (int64[B, T] tokens, int64[B] past_length, {pasts}) => (float[B, T, {shape.vocabulary}] logits, {presents}) {{
        length = Shape<start = 1, end = 2>(tokens)
        count = Squeeze(length)
        new = Range(zero, count, one)
        read = Unsqueeze(past_length, last)
        places = Add(read, new)
        rows = Unsqueeze(places, head_and_key)
        visible = LessOrEqual(keys, rows)
        of_tokens = Gather(tokens_table, tokens)
        of_places = Gather(positions_table, places)
        stream_0 = Add(of_tokens, of_places)
        {"".join(_layer(layer) for layer in range(shape.layers))}
        {_norm("normed", f"stream_{shape.layers}", "norm")}
        logits = MatMul(normed, head)
    }}""")
    constants = {
        "zero": np.array(0), "one": np.array(1), "last": np.array([-1]), "head_and_key": np.array([1, 3]),
        "keys": np.arange(shape.context),
        "by_head": np.array([0, 0, shape.heads, shape.head_size]), "joined": np.array([0, 0, shape.width]),
        "tokens_table": parameters["tokens"], "positions_table": parameters["positions"],
        "head": np.ascontiguousarray(parameters["tokens"].T),
    }  # fmt: skip
    for name, array in {**constants, **parameters}.items():
        if name not in ("tokens", "positions"):
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model
