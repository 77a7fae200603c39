"""Composites against their parts: the same numbers, and the same module again when the parts are raised."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from qmlir.interpreter.run import interpret
from qmlir.ir.equivalence import equivalent
from tests.support.composites import BOUND, CONTRACTIONS, check, decomposed, inline, module_of, raised, tensor
from tests.support.recurrent import GATES, Layer, layers


def _random(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


def _assume_bounded(module: ModuleOp, inputs: Sequence[np.ndarray]) -> None:
    """Rejects layers whose values explode, as unbounded activations can make them: rounding errors grow as well."""
    assume(not any(np.abs(values).max(initial=0) >= 1e4 for values in interpret(module, inputs).values()))


@settings(deadline=None, max_examples=25)
@given(layers())
def test_recurrent_layers(layer: Layer) -> None:
    module, inputs = layer.module()
    _assume_bounded(module, inputs)
    check(module, inputs)


@settings(deadline=None, max_examples=20)
@given(layers())
def test_recurrent_layers_of_constant_weights(
    layer: Layer,
) -> None:
    module, inputs = layer.module((1, 2, 3))
    _assume_bounded(module, inputs)
    check(module, inputs, is_same=False)
    parts = decomposed(module)
    assert not [op for op in parts.walk() if op.name == "nn.slice" and not op.operands[0].owner.parent_op()]
    whole = raised(parts)
    # The biases of W and R were summed: they come back as one, and every number is that of the parts.
    assert equivalent(decomposed(whole), parts)
    assert [op.name for op in whole.walk()].count(layer.name) == 1


@settings(deadline=None, max_examples=20)
@given(layers(), st.integers(0, 2))
def test_recurrent_layers_of_which_one_result_is_used(layer: Layer, number: int) -> None:
    module, _ = layer.module()
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    used = last.operands[number % len(last.operands)]
    last.operands = [used]
    function.function_type = FunctionType.from_lists(function.function_type.inputs.data, [used.type])
    assert equivalent(raised(decomposed(module)), module)


UNARY = [
    "gelu", "gelu {tanh_approximation = true}", "hard_swish", "swish", "swish {alpha = 1.5}", "mish", "hard_sigmoid",
    "hard_sigmoid {alpha = 0.3, beta = 0.25}", "selu", "selu {gamma = 2.0}", "celu", "celu {alpha = 0.5}", "softmax",
    "softmax {axis = 0}", "log_softmax", "log_softmax {axis = 1}", "lp_norm", "lp_norm {p = 1, axis = 1}",
    "lp_norm {epsilon = 0.5}",
]  # fmt: skip


@pytest.mark.parametrize("operation", UNARY)
def test_functions_of_one_tensor(operation: str) -> None:
    x = _random(np.random.default_rng(3), 2, 3, 4)
    x[0, 0] = 0
    check(module_of(f"nn.{operation}", [tensor(x.shape)], [tensor(x.shape)]), [x])


@pytest.mark.parametrize("properties", ["", "{axis = 1}", '{empty_rows = "uniform"}', "{fill = -2.5 : f32}"])
def test_masked_softmax(properties: str) -> None:
    generator = np.random.default_rng(4)
    x, mask = _random(generator, 2, 3, 4), generator.integers(0, 2, (3, 4)).astype(np.bool_)
    mask[1] = False
    types = [tensor(x.shape), tensor(mask.shape, "i1")]
    check(module_of(f"nn.softmax {properties}", types, [tensor(x.shape)]), [x, mask])


NORMALIZATIONS = [
    ("batch_norm", [(2, 4, 3, 3), (4,), (4,), (4,), (4,)]),
    ("batch_norm", [(2, 4, 3, 3), (4,), (4,)]),
    ("batch_norm {epsilon = 0.25}", [(5, 4), (4,), (4,), (4,), (4,)]),
    ("layer_norm", [(2, 4, 3), (3,), (3,)]),
    ("layer_norm {axis = 1}", [(2, 4, 3), (4, 3)]),
    ("rms_norm", [(2, 4, 3), (3,)]),
    ("rms_norm {axis = 1, epsilon = 0.5}", [(2, 4, 3)]),
    ("instance_norm", [(2, 4, 3, 5), (4,), (4,)]),
    ("group_norm {groups = 2 : i64}", [(2, 4, 3, 5), (4,), (4,)]),
    ("group_norm {groups = 4 : i64}", [(2, 4), (4,), (4,)]),
]


@pytest.mark.parametrize(("operation", "shapes"), NORMALIZATIONS, ids=[name for name, _ in NORMALIZATIONS])
def test_normalizations(operation: str, shapes: list[tuple[int, ...]]) -> None:
    generator = np.random.default_rng(5)
    inputs = [np.abs(_random(generator, *shape)) for shape in shapes]
    check(module_of(f"nn.{operation}", [tensor(shape) for shape in shapes], [tensor(shapes[0])]), inputs)


@pytest.mark.parametrize("constant_places", [(), (1, 2)], ids=["arguments", "constants"])
@pytest.mark.parametrize(("operation", "shapes", "result"), CONTRACTIONS)
def test_contractions(
    operation: str, shapes: list[tuple[int, ...]], result: tuple[int, ...], constant_places: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(6)
    inputs = [_random(generator, *shape) for shape in shapes]
    constants = {position: inline(inputs[position]) for position in constant_places if position < len(shapes)}
    module = module_of(f"nn.{operation}", [tensor(shape) for shape in shapes], [tensor(result)], constants)
    check(module, [each for position, each in enumerate(inputs) if position not in constants])


PLACES = [
    ("{left_window = 1}", 2, 2, 0),
    ('{right_window = 0, scores_are = "biased"}', 2, 1, 0),
    ("", 4, 2, 3),
    ("{is_causal = true, left_window = 2}", 4, 2, 3),
    ("{left_window = 0, right_window = 1, softcap = 2.0}", 3, 3, 2),
]
"""Attentions whose keys have a past, are shared by heads, or are selected by their places: properties and sizes."""


@pytest.mark.parametrize(("properties", "heads", "shared", "past"), PLACES)
def test_attention_over_a_past_with_windows_and_shared_heads(
    properties: str, heads: int, shared: int, past: int
) -> None:
    generator = np.random.default_rng(9)
    shapes = [(2, heads, 4, 5), (2, shared, 3, 5), (2, shared, 3, 7)]
    before = [(2, shared, past, size) for size in (5, 7)] if past else []
    inputs = [_random(generator, *shape) for shape in (*shapes, *before)]
    types = [*map(tensor, shapes), *(["_", *map(tensor, before)] if past else [])]
    total = 3 + past
    results = [(2, heads, 4, 7), (2, shared, total, 5), (2, shared, total, 7), (2, heads, 4, total)]
    module = module_of(f"nn.attention {properties}", types, [tensor(shape) for shape in results])
    check(module, inputs, is_same=False)
    parts = decomposed(module)
    assert "nn.attention" not in [op.name for op in parts.walk()]
    assert [op.name for op in raised(parts).walk() if op.name.startswith("nn.")] == ["nn.attention"]


OPEN = [
    ("{is_causal = true}", 3, 3, 0, False),
    ("{is_causal = true, left_window = 1}", 4, 2, 0, False),
    ('{is_causal = true, scores_are = "biased"}', 4, 2, 2, False),
    ("{right_window = 1}", 2, 1, 3, False),
    ("", 4, 2, 0, True),
    ("{is_causal = true, left_window = 2}", 2, 2, 0, True),
]
"""Attentions of unknown sizes: properties, heads, those of keys, the length of the past, and whether it has lengths."""


@pytest.mark.parametrize(("properties", "heads", "shared", "past", "has_lengths"), OPEN)
def test_attention_of_open_sizes(properties: str, heads: int, shared: int, past: int, has_lengths: bool) -> None:
    generator = np.random.default_rng(9)
    shapes = [(2, heads, 3, 5), (2, shared, 4, 5), (2, shared, 4, 7)]
    before = [(2, shared, past, size) for size in (5, 7)] if past else []
    inputs = [_random(generator, *shape) for shape in (*shapes, *before)]

    def opened(shape: Sequence[int]) -> str:
        return f"tensor<?x{shape[1]}x?x{shape[3]}xf32>"

    types = [*map(opened, shapes), *(["_", *map(opened, before)] if past else [])]
    if has_lengths:
        inputs.append(np.array([4, 3], np.int64))
        types += ["_", "_", "_", "tensor<?xi64>"]
    results = [opened((0, heads, 0, 7)), opened((0, shared, 0, 5)), opened((0, shared, 0, 7))]
    module = module_of(f"nn.attention {properties}", types, [*results, f"tensor<?x{heads}x?x?xf32>"])
    parts = decomposed(module)
    assert "nn.attention" not in [op.name for op in parts.walk()]
    whole, found = interpret(module, inputs), interpret(parts, inputs)
    for name, array in whole.items():
        np.testing.assert_allclose(found[name], array, **BOUND)


ATTENTIONS = [
    ("", None, {}),
    ("{scale = 0.5, softcap = 2.0}", None, {"scale": 0.5, "softcap": 2.0}),
    ("{is_causal = true}", None, {"is_causal": 1}),
    ("", np.float32, {}),
    ("{is_causal = true}", np.bool_, {"is_causal": 1}),
]


@pytest.mark.parametrize(("properties", "mask", "attributes"), ATTENTIONS)
def test_attention(properties: str, mask: type | None, attributes: dict[str, Any]) -> None:
    generator = np.random.default_rng(8)
    q, k, v = _random(generator, 2, 3, 4, 5), _random(generator, 2, 3, 6, 5), _random(generator, 2, 3, 6, 7)
    inputs = [q, k, v]
    if mask is np.float32:
        inputs.append(_random(generator, 4, 6))
    elif mask is not None:
        inputs.append(generator.integers(0, 2, (4, 6)).astype(np.bool_))
    types = [tensor(each.shape, "i1" if each.dtype == np.bool_ else "f32") for each in inputs]
    shapes = [(2, 3, 4, 7), k.shape, v.shape, (2, 3, 4, 6)]
    module = module_of(f"nn.attention {properties}", types, [tensor(shape) for shape in shapes])
    check(module, inputs, is_same=False)
    # Keys and values are handed through: who took them from the attention takes them from where it had them.
    parts = decomposed(module)
    for kinds in ("*", "attention"):
        assert [op.name for op in raised(parts, kinds).walk() if op.name.startswith("nn.")] == ["nn.attention"]
    names = [op.name for op in parts.walk()]
    with_softmax = [op.name for op in raised(parts, "softmax").walk()]
    assert "nn.softmax" not in names
    assert "nn.softmax" in with_softmax
    assert "nn.attention" not in with_softmax
    # A softmax that was raised for an attention that nobody keeps is in parts again.
    assert sorted(op.name for op in raised(parts, "gelu").walk()) == sorted(names)
    node = helper.make_node("Attention", [*"qkvm"[: len(inputs)]], ["y"], **attributes)
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.bool_): TensorProto.BOOL}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape) for n, a in zip("qkvm", inputs, strict=False)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    if mask is not np.bool_:  # onnx.reference gives NaN where all keys are masked, the standard's text 0
        (wanted,) = ReferenceEvaluator(model).run(None, dict(zip("qkvm", inputs, strict=False)))
        np.testing.assert_allclose(interpret(decomposed(module), inputs)["output0"], wanted, **BOUND)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_against_the_standard(kind: str) -> None:
    """Forward, as onnx.reference knows no other direction; the others are compared with the composite's meaning."""
    generator = np.random.default_rng(9)
    gates = GATES[kind.lower()]
    x, w, r = _random(generator, 4, 2, 3), _random(generator, 1, gates * 5, 3), _random(generator, 1, gates * 5, 5)
    b = _random(generator, 1, gates * 10)
    shapes = [(4, 1, 2, 5), *[(1, 2, 5)] * (2 if kind == "LSTM" else 1)]
    module = module_of(
        f"nn.{kind.lower()} {{hidden_size = 5}}",
        [tensor(each.shape) for each in (x, w, r, b)],
        [tensor(shape) for shape in shapes],
    )
    outputs = ["y", "h", "c"][: len(shapes)]
    node = helper.make_node(kind, [*"xwrb"], outputs, hidden_size=5)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape)
            for n, a in zip("xwrb", (x, w, r, b), strict=True)
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    wanted = ReferenceEvaluator(model).run(None, dict(zip("xwrb", (x, w, r, b), strict=True)))
    found = interpret(decomposed(module), [x, w, r, b])
    for each, value in zip(wanted, found.values(), strict=True):
        np.testing.assert_allclose(value, each, **BOUND)
