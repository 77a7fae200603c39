"""`qmlir.gradient`: both functions compiled equal the interpreter, and a step along the gradient lowers the loss."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module

MLP = """
func.func @main(%x: tensor<4x3xf32> {nn.name = "x"}, %t: tensor<4x2xf32> {nn.name = "t"},
                %w: tensor<5x3xf32> {nn.name = "w"}, %b: tensor<5xf32> {nn.name = "b"},
                %v: tensor<2x5xf32> {nn.name = "v"}) -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.fully_connected %x, %w, %b
      : (tensor<4x3xf32>, tensor<5x3xf32>, tensor<5xf32>) -> tensor<4x5xf32> {origin = "fc1"}
  %1 = nn.relu %0 : tensor<4x5xf32> {origin = "act"}
  %2 = nn.fully_connected %1, %v : (tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<4x2xf32> {origin = "fc2"}
  %3 = nn.sub %2, %t : tensor<4x2xf32>
  %4 = nn.reduce_sum_square %3 {keep_dims = false} : (tensor<4x2xf32>) -> tensor<f32>
  func.return %4 : tensor<f32>
}"""

CNN = """
func.func @main(%x: tensor<2x3x6x6xf32> {nn.name = "x"}, %w: tensor<4x3x3x3xf32> {nn.name = "w"},
                %s: tensor<4xf32> {nn.name = "s"}, %b: tensor<4xf32> {nn.name = "b"},
                %d: tensor<4x1x3x3xf32> {nn.name = "d"}) -> (tensor<2x4x1x1xf32> {nn.name = "y"}) {
  %mean = nn.constant dense<[0.1, -0.2, 0.3, 0.0]> : tensor<4xf32>
  %variance = nn.constant dense<[1.0, 0.5, 2.0, 1.5]> : tensor<4xf32>
  %0 = nn.conv %x, %w {pads = [1, 1, 1, 1]}
      : (tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32> {origin = "conv"}
  %1 = nn.batch_norm %0, %s, %b, %mean, %variance : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
      tensor<4xf32>) -> tensor<2x4x6x6xf32> {origin = "norm"}
  %2 = nn.relu %1 : tensor<2x4x6x6xf32>
  %3 = nn.max_pool %2 {kernel = [2, 2], strides = [2, 2]} : (tensor<2x4x6x6xf32>) -> tensor<2x4x3x3xf32>
  %4 = nn.conv %3, %d {strides = [2, 2], pads = [1, 1, 1, 1], groups = 4}
      : (tensor<2x4x3x3xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x2x2xf32> {origin = "depthwise"}
  %5 = nn.global_average_pool %4 : (tensor<2x4x2x2xf32>) -> tensor<2x4x1x1xf32>
  func.return %5 : tensor<2x4x1x1xf32>
}"""

ATTENTION = """
func.func @main(%q: tensor<1x2x4x3xf32> {nn.name = "q"}, %k: tensor<1x2x4x3xf32> {nn.name = "k"},
                %v: tensor<1x2x4x3xf32> {nn.name = "v"}, %s: tensor<3xf32> {nn.name = "s"})
    -> (tensor<1x2x4x3xf32> {nn.name = "y"}) {
  %0, %1, %2, %3 = nn.attention %q, %k, %v {is_causal = true}
      : (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>)
      -> (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>, tensor<1x2x4x4xf32>) {origin = "attention"}
  %4 = nn.add %0, %q : tensor<1x2x4x3xf32>
  %5 = nn.layer_norm %4, %s : (tensor<1x2x4x3xf32>, tensor<3xf32>) -> tensor<1x2x4x3xf32> {origin = "norm"}
  func.return %5 : tensor<1x2x4x3xf32>
}"""


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def _inputs(module: ModuleOp, function: str, known: dict[str, Array]) -> dict[str, Array]:
    """Random inputs of a function, but for those that are known."""
    random = np.random.default_rng(0)
    shapes = {port.name: tensor(port.type).get_shape() for port in inputs_of(function_of(module, function))}
    drawn = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: known.get(name, value) for name, value in drawn.items()}


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        pytest.param(MLP, "loss", id="mlp"),
        pytest.param(CNN, "", id="cnn", marks=pytest.mark.sweep),
        pytest.param(ATTENTION, "", id="attention", marks=pytest.mark.sweep),
    ],
)
def test_compiled(text: str, loss: str) -> None:
    module = qmlir.gradient(_module(text), loss=loss)
    inputs = _inputs(module, "forward", {})
    kept: dict[str, Array] = {}
    for function in ("forward", "backward"):
        given = _inputs(module, function, {**inputs, **kept})
        expected = qmlir.interpret(module, given, function=function)
        found = qmlir.compile(module, function=function, codegen="llvm")(given)
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5 * np.abs(value).max())
        kept = expected


def test_a_step_along_the_gradient() -> None:
    """The change of the loss is the square of the gradient, times the step."""
    module = _module(MLP)
    split = qmlir.gradient(module, ["w", "b", "v"], "loss")
    inputs = _inputs(module, "main", {})
    values = inputs | qmlir.interpret(split, inputs, function="forward")
    assert values["loss"] == qmlir.interpret(module, inputs)["loss"]
    found = qmlir.interpret(split, _inputs(split, "backward", values), function="backward")
    assert list(found) == ["gradient_w", "gradient_b", "gradient_v"]
    step = np.float32(1e-3)
    moved = inputs | {name: inputs[name] - step * found[f"gradient_{name}"] for name in ("w", "b", "v")}
    change = values["loss"] - qmlir.interpret(module, moved)["loss"]
    np.testing.assert_allclose(change, step * sum((each**2).sum() for each in found.values()), rtol=2e-2)


@pytest.mark.parametrize(("text", "loss"), [(MLP, "loss"), (CNN, ""), (ATTENTION, "")])
def test_what_is_computed_again_is_what_would_be_kept(text: str, loss: str) -> None:
    found: list[dict[str, Array]] = []
    sizes: list[int] = []
    for recompute in (False, True):
        split = qmlir.gradient(_module(text), loss=loss, recompute=recompute)
        inputs = _inputs(split, "forward", {})
        values = inputs | qmlir.interpret(split, inputs, function="forward")
        given = _inputs(split, "backward", values)
        sizes.append(sum(array.nbytes for name, array in given.items() if name not in inputs))
        found.append(qmlir.interpret(split, given, function="backward"))
    kept, again = found
    assert sizes[1] <= sizes[0]
    assert all(np.array_equal(again[name], array) for name, array in kept.items())


def test_the_module_stays_as_it_is() -> None:
    module = _module(MLP)
    before = str(module)
    qmlir.gradient(module)
    assert str(module) == before


def test_names_with_other_characters() -> None:
    text = MLP.replace('"w"', '"fc1.weight:0, a"')
    split = qmlir.gradient(_module(text), ["fc1.weight:0, a"], "loss")
    (returned,) = qmlir.interpret(split, _inputs(split, "backward", {}), function="backward")
    assert returned == "gradient_fc1.weight:0, a"


def test_an_unknown_name() -> None:
    with pytest.raises(DiagnosticError, match=r"has no input 'fc1.weight' \(available: x, t, w, b, v\)"):
        qmlir.gradient(_module(MLP), ["fc1.weight"], "loss")
