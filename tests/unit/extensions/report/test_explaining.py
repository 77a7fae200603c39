"""`explain`: types by the formulas, rules and options by who gave them, kernels by the code that is emitted."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.extensions.report.deciding import OperationDecision, SlotDecision
from qmlir.extensions.report.explaining import Explanation, explain_node
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import ORIGIN
from qmlir.ir.verification import verify
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe_text import Effort
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.lowering import lowered
from qmlir.text.parsing import parse_module
from qmlir.workflows.quantizing import quantize

NET = """
func.func @main(%x: tensor<?x4xf32> {nn.name = "image"}) -> (tensor<?x3xf32> {nn.name = "probability"}) {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25], [0.0, 4.0, -1.5, 2.0], [1.0, 1.0, 1.0, 1.0]]> : tensor<3x4xf32>
      {origin = "fc1.weight"}
  %b = nn.constant dense<[0.125, -0.5, 0.25]> : tensor<3xf32> {origin = "fc1.bias"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<?x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<?x3xf32>
      {origin = "fc1", op_type = "Gemm", tensor = "hidden"}
  %1 = nn.relu %0 : tensor<?x3xf32> {origin = "relu1", op_type = "Relu"}
  %2 = nn.sigmoid %1 : tensor<?x3xf32> {origin = "gate", op_type = "Sigmoid", tensor = "probability"}
  func.return %2 : tensor<?x3xf32>
}
"""
IMAGES = np.random.default_rng(0).uniform(-1, 1, (12, 4)).astype(np.float32)
W = np.array([[1.0, -2.0, 0.5, 0.25], [0.0, 4.0, -1.5, 2.0], [1.0, 1.0, 1.0, 1.0]], np.float32)
B = np.array([0.125, -0.5, 0.25], np.float32)


def net() -> ModuleOp:
    module = parse_module(default_environment().new_context(), NET, "text")
    verify(module)
    return module


@pytest.fixture(scope="module")
def profile() -> Profile:
    return quantize(net(), {"image": IMAGES}, validate=False).profile


def slot_of(found: Explanation, key: str, slot: str, position: int = 0) -> SlotDecision:
    return [each for each in decision_of(found, key).slots if each.slot == slot][position]


def decision_of(found: Explanation, key: str) -> OperationDecision:
    return next(each for each in found.decisions if each.key == key)


def settings_of(slot: SlotDecision) -> dict[str, tuple[str, str]]:
    return {each.name: (each.value, each.source) for each in slot.settings}


def test_types_ranges_and_defaults(profile: Profile) -> None:
    found = explain_node("fc1", net(), profile)
    assert (found.op_types, found.is_reproduced) == (("Gemm",), True)
    assert [(op.key, op.operation) for op in found.operations] == [("fc1", "nn.fully_connected")]

    data = slot_of(found, "fc1/matmul", "input")
    low, high = float(IMAGES.min()), float(IMAGES.max())
    assert (data.value, data.basis) == ("image", "range")
    assert data.observation is not None
    assert (data.observation.minimum, data.observation.maximum) == (low, high)
    assert (data.observation.samples, data.observation.count) == (12, 48)
    samples = IMAGES.min(1).argmin(), IMAGES.max(1).argmax()
    assert (data.observation.lowest_sample, data.observation.highest_sample) == samples
    assert data.observation.mean == pytest.approx(float(IMAGES.mean(dtype=np.float64)))
    # ONNX Runtime: the range over 255 steps.
    assert data.type.scale[0] == pytest.approx((high - low) / 255, rel=1e-6)
    assert data.type.zero_point[0] == round(-128 - low / data.type.scale[0])
    assert [(each.low, each.high) for each in data.ranges] == [(low, high)]
    assert settings_of(data)["storage"] == ("i8", "default")

    weight = slot_of(found, "fc1/matmul", "weight")
    assert (weight.value, weight.basis, weight.type.granularity, weight.type.count) == (
        "fc1.weight",
        "weights",
        "axis",
        3,
    )
    assert weight.type.scale == pytest.approx((1 / 127, 4 / 127), rel=1e-6)
    assert settings_of(weight)["granularity"] == ("channel", "the option granularity=channel")

    total = slot_of(found, "fc1/matmul", "accumulator")
    assert total.basis == "sum"
    assert total.type.scale[1] == pytest.approx(data.type.scale[0] * 4 / 127, rel=1e-6)
    assert list(settings_of(total)) == ["storage"]
    assert slot_of(found, "fc1/bias_add", "input", 1).basis == "addend"

    # A relu gives its operand its own type: what is below 0 is cut off anyhow.
    output = slot_of(found, "fc1/bias_add", "output")
    assert (output.shared_with, output.decided_by, output.decided_slot) == (("relu1",), "relu1", "output")
    assert output.type.scale[0] == pytest.approx(float((IMAGES @ W.T + B).max()) / 255, rel=1e-5)


def test_a_fixed_range(profile: Profile) -> None:
    """A result of the model that stays in a part of its fixed range has 16 bits, and says by which rule."""
    slot = slot_of(explain_node("gate", net(), profile), "gate", "output")
    assert (slot.basis, slot.type.scale[0], slot.ranges) == ("fixed", 1 / 65536, ())
    assert set(settings_of(slot)) == {"storage", "scheme"}
    assert "results in a part of their fixed range" in settings_of(slot)["storage"][1]
    assert "fixed range" in explain_node("gate", net(), profile).text()


def test_who_decides(profile: Profile, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        '[[rule]]\nslot = "output"\nstorage = "u8"\n'
        '[[rule]]\norigin = "relu1"\nscheme = "symmetric_pow2"\ncalibrator = { name = "percentile", percent = 90.0 }\n'
        '[[rule]]\nop = "sigmoid"\nquantize = false\n'
    )
    found = explain_node("relu1", net(), profile, activations="i4", recipe=recipe)
    slot = slot_of(found, "relu1", "output")
    told = settings_of(slot)
    assert told["storage"] == ("u8", f"'{recipe}', rule 1 (slot = 'output')")
    assert told["scheme"] == ("symmetric_pow2", f"'{recipe}', rule 2 (origin = 'relu1')")
    assert told["calibrator"] == ("percentile (percent = 90.0)", f"'{recipe}', rule 2 (origin = 'relu1')")
    assert told["rule"] == ("onnxruntime", "default")
    assert slot.type.storage == "u8"
    assert 0 < slot.ranges[0].high < slot.ranges[0].maximum  # the calibrator narrows the range

    data = slot_of(explain_node("fc1", net(), profile, activations="i4", recipe=recipe), "fc1/matmul", "input")
    assert settings_of(data)["storage"] == ("i4", "the option activations=i4")

    gate = decision_of(explain_node("gate", net(), profile, activations="i4", recipe=recipe), "gate")
    assert (gate.is_quantized, gate.slots) == (False, ())
    excluded = "a rule of the recipe excludes it; help: remove that rule, or the pattern from --exclude (exclude=), "
    assert (gate.reason, gate.rule) == (f"{excluded}to quantize it", f"'{recipe}', rule 3 (op = 'sigmoid')")
    assert gate.observations[0].key == "gate"


def test_why_it_is_in_float_where_no_rule_says_so() -> None:
    text = """
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
      %0 = nn.hardmax %x {axis = 1} : tensor<1x4xf32> {origin = "r"}
      func.return %0 : tensor<1x4xf32>
    }"""
    module = parse_module(default_environment().new_context(), text, "text")
    taken = quantize(module, {"x": np.ones((2, 4))}, validate=False)
    (decision,) = explain_node("r", module, taken.profile).decisions
    assert not decision.is_quantized
    assert decision.reason == "it has no integer kernel"
    assert decision.rule == ""


def test_what_can_be_named(profile: Profile) -> None:
    part = explain_node("fc1/matmul", net(), profile)
    assert [each.key for each in part.decisions] == ["fc1/matmul"]
    assert [op.key for op in part.operations] == ["fc1"]  # the part has become one with the others again
    tensor = explain_node("hidden", net(), profile)
    assert [each.key for each in tensor.decisions] == ["fc1/matmul", "fc1/bias_add"]
    weight = explain_node("fc1.weight", net(), profile)
    assert [(each.key, [slot.slot for slot in each.slots]) for each in weight.decisions] == [("fc1/matmul", ["weight"])]
    given = explain_node("image", net(), profile)
    assert [(each.key, [slot.value for slot in each.slots]) for each in given.decisions] == [("fc1/matmul", ["image"])]


@pytest.mark.parametrize(
    ("name", "near"),
    [("fc2", "fc1"), ("fc1/matmull", "fc1/matmul"), ("imag", "image"), ("weight", "fc1.weight"), ("", "relu1")],
)
def test_an_unknown_name(name: str, near: str, profile: Profile) -> None:
    with pytest.raises(DiagnosticError, match="no node, tensor or input") as error:
        explain_node(name, net(), profile)
    assert near in str(error.value)
    assert "\n" not in str(error.value)


def test_operations_without_provenance(profile: Profile) -> None:
    module = net()
    for op in module.walk():
        if op.name == "nn.relu":
            del op.attributes[ORIGIN]
    taken = quantize(module, {"image": IMAGES}, validate=False)
    (decision,) = explain_node("nn.relu[0]", module, taken.profile).decisions
    assert (decision.operation, [slot.slot for slot in decision.slots]) == ("nn.relu", ["input", "output"])


def test_passes_and_kernels(profile: Profile) -> None:
    shapes = {"image": (2, 4)}
    found = explain_node("fc1", net(), profile, shapes=shapes, isa="avx2", threads=2)
    names = [change.pass_name for change in found.quantize_changes]
    assert names == ["nn-decompose", "calib-apply-profile", "quant-assign-types", "nn-raise"]
    assert found.compile_changes[0].pass_name == "convert-nn-to-kernel"
    assert found.isa == "avx2"
    quantized = quantize(net(), profile=profile, validate=False).module
    source = emit_module(lowered(specialize(quantized, shapes), "avx2", 2))
    assert found.kernels
    for kernel in found.kernels:
        assert f"def {kernel.name}(" in source
    (product,) = [kernel for kernel in found.kernels if kernel.schedule is not None]
    assert product.operations == ("kernel.packed_matmul",)
    assert product.schedule is not None
    assert product.schedule["lanes"] == 8  # of 32 bits, in 256
    assert set(product.nodes) >= {"fc1", "relu1"}
    assert f"@{product.name}" in found.text()


def test_open_sizes_and_what_is_not_compiled(profile: Profile) -> None:
    found = explain_node("fc1", net(), profile)
    assert (found.kernels, found.compile_changes) == ((), ())
    assert "image=" in found.not_compiled
    assert found.not_compiled in found.text()


def test_a_module_that_was_changed(profile: Profile) -> None:
    other = quantize(net(), profile=profile, activations="u8", validate=False).module
    found = explain_node("fc1", net(), profile, quantized=other)
    assert not found.is_reproduced
    assert found.operations[0].results[0].element == "u8"  # what is there
    assert "was changed" in found.text()
    assert explain_node("fc1", net(), profile, quantized=other, activations="u8").is_reproduced


def lstm(steps: int) -> ModuleOp:
    types = f"(tensor<{steps}x1x4xf32>, tensor<1x12x4xf32>, tensor<1x12x3xf32>)"
    text = f"""
    func.func @main(%x: tensor<{steps}x1x4xf32> {{nn.name = "x"}}) -> tensor<{steps}x1x1x3xf32> {{
      %w = nn.constant dense<0.5> : tensor<1x12x4xf32> {{origin = "w"}}
      %r = nn.constant dense<0.25> : tensor<1x12x3xf32> {{origin = "r"}}
      %0, %1, %2 = nn.lstm %x, %w, %r {{hidden_size = 3 : i64}} : {types}
          -> (tensor<{steps}x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>) {{origin = "lstm1", op_type = "LSTM"}}
      func.return %0 : tensor<{steps}x1x1x3xf32>
    }}"""
    return parse_module(default_environment().new_context(), text, "text")


@pytest.mark.parametrize(("steps", "effort"), [(3, 0), (9, 0), (9, 1)])
def test_the_rules_that_are_built_in(steps: int, effort: Effort) -> None:
    """Long layers too: an effort profiles all of their steps, and they are whole without one."""
    module = lstm(steps)
    samples = np.random.default_rng(1).standard_normal((4, steps, 1, 4)).astype(np.float32)
    profile = quantize(module, [{"x": sample} for sample in samples], validate=False, effort=effort).profile
    found = explain_node("lstm1", module, profile)
    cells = [
        slot
        for decision in found.decisions
        for slot in decision.slots
        if "the built-in rule" in settings_of(slot).get("storage", ("", ""))[1]
    ]
    assert cells
    assert {slot.type.storage for slot in cells} == {"i16"}
    # The first step takes zeros, the others the state before: one type.
    assert any(slot.basis == "shared" for decision in found.decisions for slot in decision.slots)
