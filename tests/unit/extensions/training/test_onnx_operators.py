"""ONNX's Gradient: graphs against central differences, in f64, and what cannot be differentiated.

The rules of operations are tested in `tests/unit/dialects/nn/test_gradients.py`.
"""

import numpy as np
import pytest
from onnx import ModelProto, parser

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

GENERATOR = np.random.default_rng(3)
STEP = 1e-5
"""Central differences of f64 are wrong by about `STEP^2` of the third derivative and `2^-53 / STEP` of the value."""


def _model(inputs: str, nodes: str, xs: str, extra: str = "", zs: str = "", shape: str = "*") -> ModelProto:
    names = ", ".join(f'"{name}"' for name in xs.split())
    more = ", zs: strings = [" + ", ".join(f'"{name}"' for name in zs.split()) + "]" if zs else ""
    outputs = [f"d{name}" for name in xs.split()]
    given = ", ".join([*xs.split(), *zs.split()])
    return parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]> '
        f"g ({inputs}) => (double{'' if shape == '*' else f'[{shape}]'} y, "
        f"{', '.join(f'double {name}' for name in outputs)}) {extra} {{ {nodes} "
        f'{", ".join(outputs)} = ai.onnx.preview.training.Gradient <xs: strings = [{names}]{more}, y: string = "y"> '
        f"({given}) }}"
    )


ONE, TWO = "double[2, 3] a", "double[2, 3] a, double[2, 3] b"
MODELS = {
    "broadcasts": ("double[2, 1, 3] a, double[4, 1] b", "c = Mul(a, b) y = Div(a, c)"),
    "where": ("double[2, 3] a, double[3] b", "c = Greater(a, b) y = Where(c, a, b)"),
    "gemm": ("double[3, 2] a, double[3, 4] b, double[4] c", "y = Gemm <transA = 1> (a, b, c)"),
    "gemm, parts": ("double[2, 3] a, double[4, 3] b", "y = Gemm <alpha = 2.0, transB = 1> (a, b)"),
    "sums": (ONE, "s = ReduceSum <keepdims = 0> (a, one) y = Mul(s, s)"),
    "sizes": ("double[3, 1] a", "c = Expand(a, sizes) d = Mul(c, c) y = Reshape(d, sizes)"),
    "by parts": ("double[2, 2, 3] a, double[2] b, double[2] c", "n = InstanceNormalization(a, b, c) y = Mul(n, n)"),
    "a layer": (
        "double[2, 3] a, double[4, 3] b, double[4] c",
        "h = Gemm <transB = 1> (a, b, c) t = Tanh(h) u = Mul(t, h) y = ReduceMean(u)",
    ),
}
CONSTANTS = "<int64[1] one = {1}, int64[2] sizes = {3, 2}>"


def _shapes(inputs: str) -> dict[str, list[int]]:
    shapes: dict[str, list[int]] = {}
    for each in inputs.replace("]", "").split(", double"):
        sizes, _, name = each.removeprefix("double").rpartition(" ")
        shapes[name] = [int(size) for size in sizes.strip("[ ").split(", ") if size]
    return shapes


@pytest.mark.parametrize("name", MODELS)
def test_against_differences(name: str) -> None:
    inputs, nodes = MODELS[name]
    shapes = _shapes(inputs)
    module = qmlir.load(_model(inputs, nodes, " ".join(shapes), CONSTANTS))
    values = {each: GENERATOR.uniform(0.5, 1.5, shape) for each, shape in shapes.items()}
    found = qmlir.interpret(module, values)
    for each, value in values.items():
        expected = np.zeros_like(value)
        for position in np.ndindex(*value.shape):
            sums: list[float] = []
            for sign in (1, -1):
                moved = value.copy()
                moved[position] += sign * STEP
                sums.append(float(qmlir.interpret(module, values | {each: moved})["y"].sum()))
            expected[position] = (sums[0] - sums[1]) / (2 * STEP)
        assert found[f"d{each}"].shape == value.shape
        np.testing.assert_allclose(found[f"d{each}"], expected, rtol=1e-7, atol=1e-7)


def test_second_order() -> None:
    """Of `a^3`: `6 a`, from the gradient of the gradient."""
    first = 'g = ai.onnx.preview.training.Gradient <xs: strings = ["a"], y: string = "c"> (a)'
    module = qmlir.load(_model("double[2] a", f"b = Mul(a, a) c = Mul(b, a) {first} y = Identity(g)", "a", shape="2"))
    found = qmlir.interpret(module, [np.array([2.0, -1.0])])
    np.testing.assert_allclose(found["y"], [12.0, 3.0])
    np.testing.assert_allclose(found["da"], [12.0, -6.0])


def test_what_the_target_does_not_depend_on() -> None:
    module = qmlir.load(_model(TWO, "y = Exp(a)", "a b"))
    ones = np.ones((2, 3))
    np.testing.assert_array_equal(qmlir.interpret(module, [ones, ones])["db"], np.zeros((2, 3)), strict=True)


def test_an_intermediate_tensor_is_where_it_ends() -> None:
    """Of `h^2` with respect to `h` alone, though `h` is computed."""
    module = qmlir.load(_model("double[2] a", "h = Exp(a) y = Mul(h, h)", "h"))
    found = qmlir.interpret(module, [np.zeros(2)])
    np.testing.assert_allclose(found["dh"], [2.0, 2.0])


def test_unknown_sizes() -> None:
    inputs = "double[n, 3] a, double[4, 3] b, double[4] c"
    module = qmlir.load(_model(inputs, "h = Gemm <transB = 1> (a, b, c) t = Tanh(h) y = ReduceMean(t)", "a b c"))
    a, b, c = (GENERATOR.uniform(-1, 1, shape) for shape in ((2, 3), (4, 3), 4))
    slope = (1 - np.tanh(a @ b.T + c) ** 2) / 8
    found = qmlir.interpret(module, [a, b, c])
    for name, expected in {"da": slope @ b, "db": slope.T @ a, "dc": slope.sum(0)}.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-12)


def test_provenance() -> None:
    module = qmlir.load(_model(ONE, "y = Exp(a)", "a"))
    assert 'op_type = "ai.onnx.preview.training::Gradient"' in str(module)


ERRORS = {
    "no rule": (
        _model(ONE, "h = Exp(a) y = Unique(h)", "a"),
        r"'nn.unique' op \(y\) cannot be differentiated: its output shape depends on the data",
    ),
    "no tensor": (_model(ONE, "z = Exp(a)", "a"), "graph output 'y' is not defined"),
    "constant": (
        _model(ONE, "y = Mul(a, w)", "a w", "<double[1] w = {2.0}>"),
        "'w' is a constant; make it an input of the graph",
    ),
    "open broadcast": (
        _model("double[n, 3] a, double[m, 3] b", "y = Mul(a, b)", "a b"),
        "dimension 0 of .* is dynamic, and it may be broadcast",
    ),
    "integers": (
        _model("int64[2] a", "y = Cast <to = 11> (a)", "a"),
        "'a' must be a float to be differentiated, but got tensor<2xi64>",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    model, message = ERRORS[name]
    with pytest.raises(DiagnosticError, match=message):
        qmlir.load(model)


def test_other_values_are_not_supported() -> None:
    model = _model("double[2, 3] a, double[2, 3] b", "y = Mul(a, b)", "a", zs="b")
    assert qmlir.load(model)
    model.graph.node[-1].input[1] = "a"
    with pytest.raises(DiagnosticError, match="input 1 must be the tensor 'b'"):
        qmlir.load(model)
