"""Settings of quantize: one list of them, and no other is taken in silence."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation

import qmlir
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import QuantizeOptions, kept_composites
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings
from qmlir.text.printing import module_text, save_module
from tests.support.classifiers import classifier, samples


@pytest.mark.parametrize("call", [qmlir.quantize, partial(qmlir.search, min_accuracy=0.5)])
def test_a_setting_that_is_none_is_an_error(call: object) -> None:
    assert callable(call)
    with pytest.raises(TypeError, match="no setting 'activation'; did you mean 'activations'"):
        call(qmlir.load(classifier()), {"x": samples()[0]}, activation="i4")


def test_the_options_of_settings() -> None:
    assert QuantizeOptions.of({}) == QuantizeOptions(keep_composites=kept_composites(), granularity="channel")
    options = QuantizeOptions.of(
        {"keep_composites": (), "weights": "i4", "granularity": "", "assert_all_quantized": True}
    )
    assert options == QuantizeOptions(weights="i4", assert_all_quantized=True)


def _modes(**settings: object) -> set[str]:
    module = qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, **settings).module  # type: ignore[arg-type]
    found = (op.properties.get("requantize") for op in module.walk() if op.name == "nn.fully_connected")
    return {str(each) for each in found}


def test_scales_of_powers_of_two_are_shifted_unless_a_mode_is_named() -> None:
    powers = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
    assert _modes() == {"None"}
    assert _modes(**powers) == {"#kernel.requantize<shift, up>"}
    assert _modes(**powers, requantize="f32") == {"None"}
    assert _modes(requantize="double_round") == {"#kernel.requantize<double_round>"}
    with pytest.raises(DiagnosticError, match="option 'mode' of pass 'quant-set-requantize' must be one of"):
        _modes(requantize="shif:up")


ENVIRONMENT = default_environment()
KEPT = {
    "nn.layer_norm": ("", "y = LayerNormalization (x, s, b)", "variance"),
    "nn.rms_norm": ("", "y = RMSNormalization (x, s)", "mean_square"),
    "nn.instance_norm": ("", "y = InstanceNormalization (x, c, c)", "squared"),
    "nn.batch_norm": ("", "y = BatchNormalization (x, c, c, c, v)", "mul"),
    "nn.group_norm": ("", "y = GroupNormalization <num_groups = 2> (x, c, c)", "centred"),
    "nn.softmax": ("", "y = Softmax (x)", "sum"),
    "nn.log_softmax": ("", "y = LogSoftmax (x)", "log"),
    "nn.gelu": ("", "y = Gelu (x)", "erf"),
    "nn.conv_transpose": ("", "y = ConvTranspose <strides = [2]> (x, k, c)", "correlation"),
    "nn.attention": ("q = Unsqueeze (x, zero)", "y = Attention (q, q, q)", "softmax/exp"),
    "nn.lstm": ("", 'y = LSTM <hidden_size = 2, direction = "bidirectional"> (x, wl, rl)', "cell/sum"),
    "nn.gru": ("", 'y = GRU <hidden_size = 2, direction = "bidirectional"> (x, wg, rg)', "hidden_gate/sum"),
}
"""An operation before the composite, the composite as ONNX has it, and a part of it."""


def _one_composite(before: str, node: str) -> ModelProto:
    random = np.random.default_rng(3)
    shapes = {"s": (8,), "b": (8,), "c": (4,), "k": (4, 4, 3), "wl": (2, 8, 8), "rl": (2, 8, 2)}
    shapes |= {"wg": (2, 6, 8), "rg": (2, 6, 2), "v": (4,)}
    own = [name for name in shapes if re.search(rf"\b{name}\b", node)]
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> net (float[2, 4, 8] x) => (y)'
        f" <int64[1] zero = {{0}}> {{ {before} [part] {node} }}"
    )
    arrays = [random.normal(size=shapes[name]).astype(np.float32) for name in own]
    if "v" in own:
        arrays[own.index("v")] = np.array([0.5, 1, 2, 4], np.float32)
    model.graph.initializer.extend(map(numpy_helper.from_array, arrays, own))
    return model


@pytest.mark.parametrize("kind", KEPT)
def test_a_composite_is_kept_whole_with_the_types_of_its_parts_by_recipe(kind: str) -> None:
    """It computes the integers that its parts compute by themselves."""
    before, node, part = KEPT[kind]
    rules = f'[[rule]]\nrole = "*{part}"\nslot = "output"\nstorage = "u12"\n'
    if part == "correlation":
        rules = rules.replace("output", "accumulator").replace("u12", "i24")
    model, x = _one_composite(before, node), np.random.default_rng(1).normal(size=(6, 2, 4, 8)).astype(np.float32)
    module = qmlir.quantize(qmlir.load(model), {"x": x}, keep_composites=(), recipe=RecipeText("parts", rules)).module
    (composite,) = (op for op in module.walk() if op.name == kind)
    types = composite.properties["components"]
    assert isinstance(types, DictionaryAttr)
    wanted = 24 if "accumulator" in rules else 12
    assert getattr(types.data[part], "bits", None) == wanted
    parts = module.clone()
    PassManager(ENVIRONMENT.new_context(), parse_pipeline("nn-decompose", ENVIRONMENT.passes)).run(parts)
    assert not any(op.name == kind for op in parts.walk() if kind != "nn.conv_transpose")
    whole, again = (interpret(each, {"x": x[0]})["y"] for each in (module, parts))
    assert np.array_equal(whole, again)
    exact = interpret(qmlir.load(model), {"x": x[0]})["y"]
    assert np.abs(whole - exact).max() < 0.1 * np.abs(exact).max()


def test_attention_over_a_past_with_shared_heads_has_types_for_its_parts() -> None:
    """The keys and values so far are results: they have the type of what they are joined of."""
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]>'
        " net (float[1, 4, 2, 3] q, float[1, 2, 2, 3] k, float[1, 2, past, 3] p)"
        " => (y, keys, values) { [part] y, keys, values = Attention (q, k, k, , p, p) }"
    )
    random, sizes = np.random.default_rng(6), {"q": (4, 2), "k": (2, 2), "p": (2, 5)}
    data = [
        {name: random.normal(size=(1, *size, 3)).astype(np.float32) for name, size in sizes.items()} for _ in range(4)
    ]
    module = qmlir.quantize(qmlir.load(model), data, keep_composites=()).module
    (attention,) = (op for op in module.walk() if op.name == "nn.attention")
    types = attention.properties["components"]
    assert isinstance(types, DictionaryAttr)
    assert {"query_scaled", "key_scaled", "softmax/exp"} < set(types.data)
    assert (
        len({element_of(value) for value in (attention.operands[1], attention.operands[3], *attention.results[1:3])})
        == 1
    )
    exact, found = (interpret(each, data[0]) for each in (qmlir.load(model), module))
    for name, array in exact.items():
        assert np.abs(found[name] - array).max() < 0.1


OPEN = {
    "nn.lstm": 'y, h = LSTM <hidden_size = 2, direction = "bidirectional"> (x, w, r, b, n)',
    "nn.gru": 'y, h = GRU <hidden_size = 2, direction = "reverse", linear_before_reset = 1> (x, w, r, b)',
    "nn.rnn": "y, h = RNN <hidden_size = 2> (x, w, r, , , s)",
}
"""Layers, each with other operands."""


def _layer(kind: str, length: str) -> ModelProto:
    random, rows, ways = np.random.default_rng(4), {"nn.lstm": 8, "nn.gru": 6, "nn.rnn": 2}[kind], 1 + ("lstm" in kind)
    shapes = {"w": (ways, rows, 3), "r": (ways, rows, 2), "b": (ways, 2 * rows)}
    own = [name for name in shapes if re.search(rf"\b{name}\b", OPEN[kind])]
    inputs = [f"float[{length}, 2, 3] x", *(["int32[2] n"] if ", n)" in OPEN[kind] else [])]
    inputs += ["float[1, 2, 2] s"] if ", s)" in OPEN[kind] else []
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> net ({", ".join(inputs)}) => (y, h) {{ [part] {OPEN[kind]} }}'
    )
    arrays = (random.normal(size=shapes[name]).astype(np.float32) for name in own)
    model.graph.initializer.extend(map(numpy_helper.from_array, arrays, own))
    return model


def _sequence(kind: str, length: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {"x": random.normal(size=(length, 2, 3)).astype(np.float32)}
    if kind == "nn.lstm":
        found["n"] = random.integers(0, length + 1, 2).astype(np.int32)
    if kind == "nn.rnn":
        found["s"] = random.normal(size=(1, 2, 2)).astype(np.float32)
    return found


@pytest.mark.parametrize("kind", OPEN)
def test_a_layer_of_open_length_has_the_types_that_it_has_at_any_length(kind: str, tmp_path: Path) -> None:
    data = [_sequence(kind, 4, seed) for seed in range(4)]
    found, wanted = (
        qmlir.quantize(qmlir.load(_layer(kind, length)), data, keep_composites=()).module for length in ("time", "4")
    )
    (layer,), (fixed,) = ([op for op in each.walk() if op.name == kind] for each in (found, wanted))
    assert layer.properties["components"] == fixed.properties["components"]
    for one, other in zip([*layer.operands, *layer.results], [*fixed.operands, *fixed.results], strict=True):
        assert element_of(one) == element_of(other)
    save_module(found, tmp_path / "open.mlir")
    again = qmlir.load(tmp_path / "open.mlir")
    for length in (1, 4, 7):
        sequence = _sequence(kind, length, 9)
        known = found.clone()
        passes = f'fix-shapes{{shapes="x={length}x2x3"}},nn-decompose'
        PassManager(ENVIRONMENT.new_context(), parse_pipeline(passes, ENVIRONMENT.passes)).run(known)
        assert not any(op.name == kind for op in known.walk())
        results = [interpret(each, sequence) for each in (found, again, known)]
        assert results[0]["y"].shape[0] == length
        for name, array in results[0].items():
            assert all(np.array_equal(array, each[name]) for each in results[1:])
    exact, sequence = interpret(qmlir.load(_layer(kind, "time")), _sequence(kind, 4, 1)), _sequence(kind, 4, 1)
    assert np.abs(interpret(found, sequence)["y"] - exact["y"]).max() < 0.1
    if "n" in sequence:
        with pytest.raises(DiagnosticError, match=r"cannot be written for any length: .* by --shape"):
            qmlir.export_onnx(found)
    else:
        assert "Loop" in {node.op_type for node in qmlir.export_onnx(found).graph.node}
    if kind == "nn.rnn":
        program, sequence = qmlir.compile(found, codegen="llvm"), _sequence(kind, 3, 5)
        assert np.array_equal(program(sequence)["y"], interpret(found, sequence)["y"])


def test_a_layer_of_open_length_of_which_a_part_is_float_stays_in_float() -> None:
    rule = RecipeText("parts", '[[rule]]\nrole = "cell/sum"\nquantize = false\n')
    data, said = [_sequence("nn.lstm", 4, seed) for seed in range(2)], list[str]()
    with diagnostic_handler(lambda each: said.append(each.message)):
        module = qmlir.quantize(qmlir.load(_layer("nn.lstm", "time")), data, keep_composites=(), recipe=rule).module
    (layer,) = (op for op in module.walk() if op.name == "nn.lstm")
    assert "components" not in layer.properties
    assert not any(op.name == "quant.qcast" for op in module.walk())
    assert [
        each
        for each in said
        if "its sequence length is dynamic, so either all of its parts are quantized or none" in each
    ]


_STATES = {"nn.lstm": "hidden/product", "nn.gru": "hidden/sum", "nn.rnn": "hidden/tanh"}
"""The part of each layer that gives the hidden state."""


def _with_state(kind: str, state: str, rounded: str, length: str = "4") -> tuple[ModuleOp, Operation]:
    """A layer whose state, and what its products read of it, have these storages; where empty, no rule says so."""
    rules = [(f"*{_STATES[kind]}", state), ("*hidden/rounded", rounded)]
    text = "".join(
        f'[[rule]]\nrole = "{role}"\nslot = "output"\nstorage = "{storage}"\n' for role, storage in rules if storage
    )
    data = [_sequence(kind, 4, seed) for seed in range(4)]
    module = qmlir.quantize(
        qmlir.load(_layer(kind, length)), data, keep_composites=(), recipe=RecipeText("state", text)
    ).module
    (layer,) = (op for op in module.walk() if op.name == kind)
    return module, layer


@pytest.mark.parametrize("kind", _STATES)
def test_a_state_of_16_bits_is_rounded_to_8_where_a_rule_says_so(kind: str) -> None:
    module, layer = _with_state(kind, "i16", "i8")
    types = layer.properties["components"]
    assert isinstance(types, DictionaryAttr)
    (state,) = {element_of(layer.results[0])}
    rounded = [type_ for role, type_ in types.data.items() if role.endswith("hidden/rounded")]
    assert len(rounded) == (2 if kind == "nn.lstm" else 1)  # one for each direction
    assert isinstance(state, UniformQuantizedType)
    assert state.bits == 16
    for each in rounded:
        assert isinstance(each, UniformQuantizedType)
        assert (each.bits, round(np.log2(each.scale / state.scale)) in (7, 8)) == (8, True)
    open_module, open_layer = _with_state(kind, "i16", "i8", "time")
    assert open_layer.properties["components"] == types
    sequence = _sequence(kind, 4, 1)
    exact, whole, same = (
        interpret(each, sequence)["y"] for each in (qmlir.load(_layer(kind, "4")), module, open_module)
    )
    assert np.array_equal(whole, same)
    assert np.abs(whole - exact).max() < 0.1


@pytest.mark.parametrize(("state", "rounded"), [("i16", ""), ("i16", "i16"), ("", "i8")])
def test_a_state_is_read_as_it_is_unless_a_rule_gives_it_another_type(state: str, rounded: str) -> None:
    module, layer = _with_state("nn.rnn", state, rounded)
    types = layer.properties["components"]
    assert isinstance(types, DictionaryAttr)
    assert "hidden/rounded" not in types.data
    assert module_text(module) == module_text(_with_state("nn.rnn", state, "")[0])


def test_weights_of_a_transposed_convolution_have_blocks_along_its_input_channels() -> None:
    model = _one_composite("", KEPT["nn.conv_transpose"][1])
    x = np.random.default_rng(1).normal(size=(6, 2, 4, 8)).astype(np.float32)
    module = qmlir.quantize(qmlir.load(model), {"x": x}, granularity="block:2", weights="i4").module
    (layer,) = (op for op in module.walk() if op.name == "nn.conv_transpose")
    element = element_of(layer.operands[1])
    assert isinstance(element, UniformQuantizedType)
    assert dict(zip(element.axes, element.block_sizes, strict=True)) == {0: 2, 1: 1}
    exact = interpret(qmlir.load(model), {"x": x[0]})["y"]
    assert np.abs(interpret(module, {"x": x[0]})["y"] - exact).max() < 0.2 * np.abs(exact).max()


@pytest.mark.parametrize("settings", ["accumulator", "bias", "option"])
@pytest.mark.parametrize("kind", ["conv", "conv_transpose"])
def test_a_layer_that_keep_names_has_a_product_and_a_bias_by_recipe(kind: str, settings: str) -> None:
    """As one that is not named: it is made of its parts again, which have ranges of their own."""
    model = _one_composite("", {"conv": "y = Conv (x, k, c)", "conv_transpose": "y = ConvTranspose (x, k, c)"}[kind])
    x = np.random.default_rng(1).normal(size=(6, 2, 4, 8)).astype(np.float32)
    rule = RecipeText("parts", f'[[rule]]\nslot = "{settings}"\nstorage = "i16"\n')
    given: QuantizeSettings = {"accumulator": "i16"} if settings == "option" else {"recipe": rule}
    modules = [
        qmlir.quantize(qmlir.load(model), {"x": x}, keep_composites=keep, **given).module
        for keep in ((), (kind,), ("*",))
    ]
    assert len({str(module) for module in modules}) == 1
    (layer,) = (op for op in modules[1].walk() if op.name == f"nn.{kind}")
    types = layer.properties["components"]
    assert isinstance(types, DictionaryAttr)
    found = element_of(layer.operands[2]) if settings == "bias" else types.data["correlation"]
    assert getattr(found, "bits", None) == 16
