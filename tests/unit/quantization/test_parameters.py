"""Parameters that rules give: exact types, what they take precedence over, and what is said about them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest

import qmlir
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.recovery.nn_equalize import equalize
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.quantization.choice import GivenParameters
from qmlir.quantization.given import fixed_values
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe import Recipe, TypeOptions, make_rule, pinned_rules, read_rules
from qmlir.workflows.quantized import Quantized
from tests.support.commands import run_command
from tests.unit.quantization.test_recipe import decide
from tests.unit.quantization.test_recipe import net as convolutions

Rules = Sequence[Mapping[str, Any]]
X = {"x": np.random.default_rng(0).normal(0, 1, (64, 4)).astype(np.float32)}
F32 = {each: float(np.float32(each)) for each in (0.23, 0.1, 0.2, 0.3)}


def model(body: str, outputs: str = "float[N, 3] y", inputs: str = "float[N, 4] x") -> onnx.ModelProto:
    """A model whose nodes have the names of their first results."""
    made = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        net ({inputs}) => ({outputs})
        <float[4, 3] w = {{0.5, -0.25, 1, 2, -1, 0.5, 0.1, 0.2, 0.3, 0.4, -0.5, 0.6}},
         float[3, 4] v = {{8, 1, 2, -3, 9, 7, -5, 0, 1, 2, 3, -4}}, float[3] b = {{0.1, -0.2, 0.3}}>
        {{ {body} }}
    """)
    for node in made.graph.node:
        node.name = f"node_{node.output[0]}"
    return made


EQUALIZED = "u = MatMul (x, w) h = Relu (u) y = MatMul (h, v)"
LAYER = "h = Relu (x) m = MatMul (h, w) a = Add (m, b) y = Sigmoid (a)"


def quantized(net: onnx.ModelProto, rules: Rules, data: Any = X, **settings: Any) -> tuple[Quantized, list[str]]:
    """The quantized model, and the warnings."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        made = qmlir.quantize(qmlir.load(net), data, recipe={"rule": list(rules)}, validate=False, **settings)
    return made, [each.message for each in said if each.severity is Severity.WARNING]


def types_in(made: Quantized) -> dict[str, str]:
    """The quantized types of tensors by their name in the model; of weights and inputs, by their name hint."""
    found: dict[str, str] = {}
    for op in made.module.walk():
        for result in op.results:
            type_ = element_type(result.type) if "tensor" in str(result.type) else None
            tensor = op.attributes.get("tensor")
            name = tensor.data if tensor is not None else result.name_hint  # pyright: ignore
            if op.name == "quant.qcast":
                name = op.operands[0].name_hint
            if isinstance(type_, UniformQuantizedType) and name:
                found[name] = str(type_).removeprefix("!quant.uniform")
    return found


def scale_of(made: Quantized, name: str) -> float:
    return float(types_in(made)[name].split(", ")[1].partition(":")[0].rstrip(">"))


@pytest.mark.parametrize("matcher", [{"values": ["a"]}, {"origin": "node_a"}, {"origin": "node_a", "slot": "output"}])
def test_exactly_this_scale_and_zero_point(matcher: Mapping[str, Any]) -> None:
    made, warnings = quantized(model(LAYER), [{**matcher, "scale": 0.23, "zero_point": -10}])
    assert types_in(made)["a"] == f"<i8:f32, {F32[0.23]}:-10>"
    assert warnings == []
    exported = qmlir.export_onnx(made, format="qdq", signed=True)
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in exported.graph.initializer}
    (cast,) = (
        node for node in exported.graph.node if node.op_type == "QuantizeLinear" and node.input[0].startswith("a")
    )
    assert (arrays[cast.input[1]], arrays[cast.input[2]]) == (np.float32(0.23), -10)


def test_integers_with_given_parameters_are_those_of_the_formula() -> None:
    """A clamp and a rounding by hand, in the interpreter and in compiled code of both generators."""
    net = model("y = Relu (x)", "float[N, 4] y")
    made, _ = quantized(net, [{"values": ["x"], "scale": 0.25, "zero_point": 3}, {"values": ["y"], "scale": 0.125}])
    codes = np.clip(np.rint(X["x"] / np.float32(0.25)) + 3, -128, 127) - 3
    wanted = np.clip(np.maximum(codes, 0) * 2, -128, 127) * np.float32(0.125)
    assert np.array_equal(qmlir.interpret(made, X)["y"], wanted)
    for codegen in ("numba", "llvm"):
        assert np.array_equal(qmlir.compile(made, codegen=codegen)(X)["y"], wanted)


@pytest.mark.parametrize(
    ("rule", "type_"),
    [
        ({"scale": 0.25}, "i8:f32, 2.500000e-01"),
        ({"scale": 0.25, "scheme": "symmetric"}, "i8:f32, 2.500000e-01"),
        ({"scale": 0.25, "storage": "u8"}, "u8:f32, 2.500000e-01"),
        ({"scale": 0.25, "storage": "u8", "scheme": "symmetric"}, "u8:f32, 2.500000e-01:128"),
        ({"scale": 0.25, "storage": "i16", "zero_point": 300}, "i16:f32, 2.500000e-01:300"),
        ({"range": [-1, 3], "storage": "u8"}, f"u8:f32, {float(np.float32(4 / 255))}:64"),  # 1 / (4 / 255) = 63.75
        ({"range": [0, 1], "scheme": "symmetric"}, f"i8:f32, {float(np.float32(2 / 255))}"),
        ({"range": [0, 3], "scheme": "symmetric_pow2"}, "i8:f32, 3.125000e-02"),  # 3 / 127 up to a power of two
        ({"range": [2, 255]}, "i8:f32, 1.000000e+00:-128"),  # extended to contain 0, like every range
    ],
)
def test_storage_and_scheme_of_given_parameters(rule: Mapping[str, Any], type_: str) -> None:
    made, _ = quantized(model(LAYER), [{"values": ["a"], **rule}])
    assert types_in(made)["a"] == f"<{type_}>"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"range": [1, -1]}, "range must be two ascending numbers, [low, high], but got [1, -1]"),
        ({"range": [1, 1]}, "range must be two ascending numbers, [low, high], but got [1, 1]"),
        ({"range": [1]}, "range must be two ascending numbers, [low, high], but got [1]"),
        ({"range": 1}, "range must be two ascending numbers, [low, high], but got 1"),
        ({"range": [0, float("inf")]}, "range must be a finite number or a list of such numbers, but got [0, inf]"),
        ({"range": [0, 1], "scale": 1}, "range cannot be combined with scale; remove one of them"),
        ({"range": [0, 1], "zero_point": 1}, "range cannot be combined with zero_point; remove one of them"),
        ({"zero_point": 1}, "zero_point requires scale"),
        ({"scale": 0}, "scale must be a positive f32, but got 0"),
        ({"scale": -0.5}, "scale must be a positive f32, but got -0.5"),
        ({"scale": 1e-40}, "scale must be a positive f32, but got 1e-40"),
        ({"scale": "0.5"}, "scale must be a finite number or a list of such numbers, but got '0.5'"),
        ({"scale": True}, "scale must be a finite number or a list of such numbers, but got True"),
        ({"scale": 1, "zero_point": 0.5}, "zero_point must be a whole number, but got 0.5"),
        ({"scale": 1, "zero_point": [1]}, "zero_point must be a number, or a list as long as that of scale"),
        ({"scale": [1, 2], "slot": "weight", "zero_point": [1]}, "or a list as long as that of scale"),
        ({"scale": [1, 2]}, "a list of scales is only for weights; add slot = 'weight'"),
        ({"scale": 1, "slot": "bias"}, "scale is only for data, weights and results, but the rule is for slot 'bias'"),
        ({"scale": 1, "calibrator": "mse"}, "calibrator has no effect together with scale; remove one of them"),
        ({"range": [0, 1], "granularity": "channel"}, "granularity has no effect together with range"),
        ({"values": [], "scale": 1}, "values must be a list of names of values, but got []"),
        ({"values": [1], "scale": 1}, "values must be a list of names of values, but got [1]"),
        ({"values": ["a"]}, "sets nothing"),
        ({"share": True}, "share requires values, the names of the values that share a type"),
        ({"values": ["a"], "share": False}, "share must be true, but got False"),
    ],
)
def test_what_no_rule_may_give(rule: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        make_rule(rule, "rule 1")
    assert f"rule 1: {message}" in str(caught.value) or message in str(caught.value)


def test_a_zero_point_outside_of_the_storage() -> None:
    message = r"'node_a.*' op \(node_m, node_a\)|cannot have the parameters of 'recipe', rule 1 \(values = \['a'\]\): "
    message += r"zero point 200 is outside the limits \[-128, 127\] of storage i8"
    with pytest.raises(DiagnosticError, match=message):
        quantized(model(LAYER), [{"values": ["a"], "scale": 1, "zero_point": 200}])


@pytest.mark.parametrize("is_versioned", [False, True])
def test_a_word_is_the_scale_of_a_bias(tmp_path: Path, *, is_versioned: bool) -> None:
    path = tmp_path / "old.toml"
    version = "version = 1\n" if is_versioned else ""
    path.write_text(f'{version}[[rule]]\nslot = "bias"\nscale = "sum"\n\n[[rule]]\nop = "add"\nscale = 0.5\n')
    old, new = read_rules(path)
    assert old.settings == {"bias_scale": "sum"}
    assert new.settings == {"parameters": GivenParameters(scales=(0.5,))}


def test_weights() -> None:
    per_tensor = {"origin": "node_m", "slot": "weight", "scale": 0.1}
    made, _ = quantized(model(LAYER), [per_tensor])
    assert types_in(made)["w"] == f"<i8<-127:127>:f32, {F32[0.1]}>"
    for rule in (
        {**per_tensor, "scale": [0.1, 0.2, 0.3]},
        {"values": ["w"], "slot": "weight", "scale": [0.1, 0.2, 0.3]},
    ):
        made, _ = quantized(model(LAYER), [rule])
        assert types_in(made)["w"] == f"<i8<-127:127>:f32:0, {{{F32[0.1]}, {F32[0.2]}, {F32[0.3]}}}>"
    with pytest.raises(DiagnosticError, match="expected 3 scales, one for each output channel, but got 2"):
        quantized(model(LAYER), [{**per_tensor, "scale": [0.1, 0.2]}])


@pytest.mark.parametrize(
    "rule", [{"values": ["x"]}, {"op": "relu", "slot": "input"}, {"origin": "node_h", "slot": "input"}]
)
def test_model_inputs(rule: Mapping[str, Any]) -> None:
    made, _ = quantized(model(LAYER), [{**rule, "scale": 0.5, "zero_point": 7}])
    assert types_in(made)["x"] == "<i8:f32, 5.000000e-01:7>"
    assert scale_of(made, "h") != 0.5  # a clamp no longer decides the type of its operand


def test_the_product_before_a_bias_keeps_its_exact_sum() -> None:
    """Unless a rule names the product; then it is rounded to this type before the bias."""
    given = {"scale": 0.23, "zero_point": -10}
    for rule, is_rounded in (({"slot": "output"}, False), ({"op": "add"}, False), ({"values": ["m"]}, True)):
        made, _ = quantized(model(LAYER), [{"values": ["a"], **given}, {**rule, **given}])
        assert types_in(made)["a"] == f"<i8:f32, {F32[0.23]}:-10>"
        assert (f"components = {{matmul = !quant.uniform<i8:f32, {F32[0.23]}:-10>}}" in str(made.module)) is is_rounded


# What given parameters take precedence over.


def test_built_in_rules_do_not_widen_them() -> None:
    """A sigmoid that uses a small part of its range has 16 bits otherwise."""
    net, small = model("y = Sigmoid (x)", "float[N, 4] y"), {"x": X["x"] / 10}
    assert types_in(quantized(net, [], small)[0])["y"].startswith("<i16")
    made, _ = quantized(net, [{"values": ["y"], "scale": 2**-8, "zero_point": -128}], small)
    assert types_in(made)["y"] == "<i8:f32, 3.906250e-03:-128>"
    made, _ = quantized(net, [{"values": ["y"], "range": [0.25, 0.75]}], small)
    assert types_in(made)["y"] == f"<i8:f32, {float(np.float32(0.75 / 255))}:-128>"


@pytest.mark.parametrize("effort", [1, 2])
def test_accuracy_recovery_keeps_them(effort: int) -> None:
    """Equalization would move a factor of 8 between the layers, and scales of 4-bit weights would be searched."""
    net = model(EQUALIZED, "float[N, 4] y")
    given = [
        {"values": ["h"], "scale": 0.05, "zero_point": -128},
        {"origin": "node_u", "slot": "weight", "storage": "i4", "scale": 0.3},
    ]
    made, _ = quantized(net, given, effort=effort)
    found = types_in(made)
    assert found["h"] == f"<i8:f32, {float(np.float32(0.05))}:-128>"
    assert found["w"] == f"<i4:f32, {F32[0.3]}>"


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        ({"origin": "other", "scale": 1}, 1),
        ({"values": ["h"], "scale": 1}, 0),
        ({"values": ["u"], "range": [-1, 1]}, 0),
        ({"origin": "node_u", "slot": "weight", "scale": 1}, 0),
        ({"origin": "node_y", "slot": "weight", "scale": 1}, 0),
    ],
)
def test_equalization_does_not_rescale_them(rule: Mapping[str, Any], number: int) -> None:
    module = qmlir.load(model(EQUALIZED, "float[N, 4] y"))
    assert equalize(module, fixed_values(module, Recipe([make_rule(rule, "rule 1")]))) == number


def test_remedies_restate_them() -> None:
    source = {"rule": [
        {"values": ["a"], "scale": 0.5}, {"op": "conv", "storage": "u8"}, {"slot": "bias", "scale": "sum"},
        {"op": "conv", "slot": "weight", "range": [-1, 1], "storage": "i4"},
    ]}  # fmt: skip
    assert pinned_rules(TypeOptions(activations="u8"), source) == [
        {"quantize": True, "storage": "u8", "values": ["a"], "scale": 0.5},
        {"quantize": True, "op": "conv", "slot": "weight", "range": [-1, 1], "storage": "i4"},
    ]


# Values that share one type.

CONCAT = "h = Relu (x) s = Tanh (x) c = Concat <axis = 1> (h, s) y = Neg (c)"


@pytest.mark.parametrize(
    ("body", "outputs", "one", "other"),
    [
        ("h = Relu (x) c = Concat <axis = 1> (h, h) y = Neg (c)", "float[N, 8] y", "h", "c"),
        ("h = Tanh (x) t = Transpose <perm = [1, 0]> (h) y = Neg (t)", "float[4, N] y", "h", "t"),
    ],
)
def test_parameters_that_disagree(body: str, outputs: str, one: str, other: str) -> None:
    rules = [{"values": [one], "scale": 0.5}, {"values": [other], "scale": 0.25}]
    with pytest.raises(DiagnosticError) as caught:
        quantized(model(body, outputs), rules)
    for part in (
        f"(node_{other}) shares one quantized type with", f"(node_{one})", "'recipe', rule 1", "gives scale 0.5",
        "'recipe', rule 2", "gives scale 0.25", "help: use the same parameters for both",
    ):  # fmt: skip
        assert part in str(caught.value)
    made, _ = quantized(model(body, outputs), [rules[0], {**rules[1], "scale": 0.5}])
    assert types_in(made)[one] == types_in(made)[other] == "<i8:f32, 5.000000e-01>"


def test_a_state_and_its_next_state_that_disagree() -> None:
    net = model(
        "t = Add (x, s) n = Tanh (t) y = Neg (n)", "float[N, 4] y, float[N, 4] n", "float[N, 4] x, float[N, 4] s"
    )
    rules = [{"values": ["s"], "scale": 0.5}, {"values": ["n"], "scale": 0.25}]
    data = {**X, "s": X["x"]}
    with pytest.raises(DiagnosticError, match="shares one quantized type with"):
        quantized(net, rules, data, states={"s": "n"})
    made, _ = quantized(net, rules[:1], data, states={"s": "n"})
    assert types_in(made)["n"] == "<i8:f32, 5.000000e-01>"


def test_one_value_shares_no_type() -> None:
    net = model("h = Relu (x) y = MatMul (h, w)")
    with pytest.raises(DiagnosticError, match="only the value 'h' matches, but two or more must share a type"):
        quantized(net, [{"values": ["h"], "share": True}])


def test_values_that_share_a_type() -> None:
    """The union of both ranges; without the rule, each has its own."""
    net = model("h = Relu (x) k = Mul (x, x) y = Add (h, k)", "float[N, 4] y")
    apart, _ = quantized(net, [])
    assert types_in(apart)["h"] != types_in(apart)["k"]
    made, _ = quantized(net, [{"values": ["h", "k"], "share": True}])
    largest = max(np.maximum(X["x"], 0).max(), np.square(X["x"]).max())
    assert types_in(made)["h"] == types_in(made)["k"] == f"<i8:f32, {float(np.float32(float(largest) / 255))}:-128>"
    made, _ = quantized(net, [{"values": ["h", "k"], "share": True, "scale": 0.5}])
    assert types_in(made)["h"] == types_in(made)["k"] == "<i8:f32, 5.000000e-01>"
    with pytest.raises(DiagnosticError, match=r"rule 1 \(values = .*\): the model has no value 'kk'; did you mean 'k'"):
        quantized(net, [{"values": ["h", "kk"], "share": True}])


# What is said.


def test_a_value_in_float_ignores_them() -> None:
    made, warnings = quantized(model(LAYER), [{"values": ["a"], "scale": 0.5}], exclude=["node_[may]"])
    assert "a" not in types_in(made)
    assert any(
        "ignores scale 0.5, given by 'recipe and exclude', rule 1 (values = ['a']): " in each for each in warnings
    )


def test_a_range_that_is_far_too_small() -> None:
    _, warnings = quantized(model(LAYER), [{"values": ["x"], "range": [-0.5, 0.5]}])
    share = np.mean(X["x"] > 0.5)  # of these, the clamp leaves all; it makes the others 0
    (warning,) = warnings
    assert "saturates: 'recipe', rule 1 (values = ['x']) gives range [-0.5, 0.5], but " in warning
    assert abs(float(warning.partition("but ")[2].partition("%")[0]) / 100 - share) < 0.02


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (2 / 127, ""),
        (1 / 256, "gives scale 0.00390625, which does not cover 58% of the elements of slot 'weight'"),
        ([1, 1, 1e-9], "gives scale [1, 1, 1e-09], which does not cover 33% of the elements of slot 'weight'"),
    ],
)
def test_weights_that_do_not_fit(scale: Any, said: str) -> None:
    """The magnitudes of 7 of 12 weights are above 127.5 / 256, and of the 4 of the last channel above 127e-9."""
    _, warnings = quantized(model(LAYER), [{"origin": "node_m", "slot": "weight", "scale": scale}])
    assert len(warnings) == bool(said)
    for each in warnings:
        assert "saturates: 'recipe', rule 1" in each
        assert said in each


def test_a_bias_that_does_not_fit() -> None:
    """Its scale, 1e-12 times that of the data, has 2^31 steps up to far less than 1."""
    (module, _), rule = convolutions(), {"op": "conv", "slot": "weight", "scale": 1e-12}
    found = [each for each in decide(module, rule) if "saturates: " in each]
    assert found[0].endswith("which does not cover 100% of the elements of slot 'weight' and its bias")
    assert found[1].endswith("which does not cover 100% of the elements of slot 'weight'")  # without a bias


def test_samples_of_given_values_cause_no_warning() -> None:
    net = model("h = Relu (x) y = Sigmoid (h)", "float[N, 4] y")
    constant = {"x": np.ones((1, 4), np.float32)}
    rules = [{"values": ["x"], "range": [0, 4]}, {"values": ["h"], "range": [0, 4]}]
    assert len(quantized(net, [], constant)[1]) > 0
    assert quantized(net, rules, constant)[1] == []


def test_no_samples() -> None:
    rules = [
        {"values": ["x"], "range": [-4, 4]}, {"values": ["h"], "range": [0, 4]},
        {"values": ["a"], "scale": 0.23, "zero_point": -10},
    ]  # fmt: skip
    made, warnings = quantized(model(LAYER), rules, None)
    assert warnings == []
    assert types_in(made)["a"] == f"<i8:f32, {F32[0.23]}:-10>"
    assert made.coverage.quantized_operations == made.coverage.operations
    with pytest.raises(DiagnosticError, match="no calibration data"):
        quantized(model(LAYER), [], None)
    made, (warning,) = quantized(model(LAYER), rules[:2], None)
    assert warning.startswith("some values have no range, so that operations on them stay in float: ")
    assert "value 'node_a'" in warning
    assert made.coverage.quantized_operations < made.coverage.operations


def test_a_branch_that_no_sample_reached() -> None:
    net = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        net (float[N, 4] x, bool c) => (float[N, 4] y)
        { y = If (c) <
            then_branch = one () => (float[N, 4] p) { u = Tanh (x) p = Neg (u) },
            else_branch = two () => (float[N, 4] q) { v = Relu (x) q = Neg (v) }
          > }
    """)
    for branch in net.graph.node[0].attribute:
        for node in branch.g.node:
            node.name = f"node_{node.output[0]}"
    data = [{"x": X["x"], "c": np.array(True)}]
    _, warnings = quantized(net, [], data)
    assert any("no run reached" in each for each in warnings)
    made, warnings = quantized(net, [{"origin": f"y/node_{each}", "scale": 0.5} for each in "vq"], data)
    assert not any("no run reached" in each for each in warnings)
    assert made.coverage.quantized_operations == made.coverage.operations == 4


# The ranges that a model carries.


def annotated() -> onnx.ModelProto:
    net = model("h = Relu (x) y = Neg (h)", "float[N, 4] y")
    for key, value in (("qmlir.min", "0"), ("qmlir.max", "51")):
        (made,) = (each for each in [onnx.helper.make_tensor_value_info("h", 1, ["N", 4])])
        if not net.graph.value_info:
            net.graph.value_info.append(made)
        net.graph.value_info[0].metadata_props.add(key=key, value=value)
    return net


def test_annotations_are_kept_on_request() -> None:
    made, (warning,) = quantized(annotated(), [])
    assert "the ranges that the model carries for 1 value have no effect: those of the samples replace them" in warning
    assert scale_of(made, "h") == pytest.approx(X["x"].max() / 255)
    made, warnings = quantized(annotated(), [], keep_annotations=True)
    assert warnings == []
    assert scale_of(made, "h") == pytest.approx(0.2)
    _, (warning,) = quantized(model("y = Neg (x)", "float[N, 4] y"), [], keep_annotations=True)
    assert "--keep-annotations (keep_annotations) has no effect: the model carries no ranges" in warning


def test_an_edited_profile(tmp_path: Path) -> None:
    net, path = model("h = Relu (x) y = Neg (h)", "float[N, 4] y"), tmp_path / "p.json"
    qmlir.profile(qmlir.load(net), X, passes=None).save(path)
    whole = json.loads(path.read_text())
    whole["values"]["node_h"]["range"] = [0, 51]
    path.write_text(json.dumps(whole))
    made, warnings = quantized(net, [], None, profile=Profile.load(path))
    assert warnings == []
    assert scale_of(made, "h") == pytest.approx(0.2)


# The command.


def test_the_command(tmp_path: Path) -> None:
    onnx.save(model(LAYER), tmp_path / "model.onnx")
    np.savez(tmp_path / "x.npz", **X)
    (tmp_path / "r.toml").write_text('[[rule]]\nvalues = ["a"]\nscale = 0.23\nzero_point = -10\n')
    files = [str(tmp_path / each) for each in ("model.onnx", "x.npz", "r.toml", "out")]
    done = run_command(["qmlir", "quantize", files[0], "--data", files[1], "--recipe", files[2], "-o", files[3]], "")
    assert done.code == 0, done.stderr
    text = (tmp_path / "out" / "model.q.mlir").read_text()
    assert f"!quant.uniform<i8:f32, {F32[0.23]}:-10>" in text
    told = run_command(["qmlir", "explain", files[3], "a"], "").stdout
    assert "a rule gives its parameters" in told
    assert re.search(r"parameters scale 0\.23, zero point -10: by '.*recipe\.toml', rule 2 \(values = \['a'\]\)", told)
