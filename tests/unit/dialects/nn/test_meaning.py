"""What the float operations of `nn` compute, against the ONNX standard's reference implementation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir import evaluation
from qmlir.ir.decomposition import Parts
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()
GENERATOR = np.random.default_rng(7)

# Both sides compute in f32, in other orders: a sum of n products differs by at most about n * 2^-24 of the sum of
# their magnitudes. The sums here have at most 100 terms of magnitude about 1.
BOUND = {"rtol": 2e-5, "atol": 2e-5}


def evaluate(operations: Sequence[Operation], values: dict[SSAValue, np.ndarray]) -> None:
    """Run operations in order by their meanings."""
    for op in operations:
        results = evaluation.evaluate(op, [values[operand] for operand in op.operands])
        values.update(zip(op.results, results, strict=True))


def run(text: str, *inputs: np.ndarray, decompose: bool = False) -> np.ndarray:
    """The result of the one operation in `text`, or of its parts."""
    types = ", ".join(f"%{index}: tensor<{'x'.join(map(str, each.shape))}xf32>" for index, each in enumerate(inputs))
    module = parse_module(ENVIRONMENT.new_context(), f"func.func @f({types}) {{ %r = {text} func.return }}")
    verify(module)
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    values: dict[SSAValue, np.ndarray] = dict(zip(function.body.block.args, inputs, strict=True))
    (op,) = [op for op in function.body.block.ops if not isinstance(op, ReturnOp)]
    if not decompose:
        evaluate([op], values)
        return values[op.results[0]]
    parts = Parts(op)
    results = registry.decompositions()[type(op)](op, parts)
    assert results is not None
    evaluate(parts.operations, values)
    return values[results[0]]


def reference(op_type: str, *inputs: np.ndarray, opset: int = 21, **attributes: Any) -> np.ndarray:
    """The result of one ONNX node by the standard's own implementation."""
    names = [f"i{index}" for index in range(len(inputs))]
    node = helper.make_node(op_type, names, ["o"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, each.shape)
            for name, each in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))[0]


def _random(*shape: int) -> np.ndarray:
    return GENERATOR.standard_normal(shape).astype(np.float32)


UNARY = {
    "relu": "Relu", "abs": "Abs", "neg": "Neg", "exp": "Exp", "erf": "Erf", "sigmoid": "Sigmoid", "tanh": "Tanh",
    "reciprocal": "Reciprocal", "hard_swish": "HardSwish", "gelu": "Gelu",
}  # fmt: skip
BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "min": "Min", "max": "Max"}
COMPOSITES = ["hard_swish", "gelu"]


@pytest.mark.parametrize(("name", "op_type"), UNARY.items())
def test_unary(name: str, op_type: str) -> None:
    x = _random(4, 5)
    wanted = reference(op_type, x)
    np.testing.assert_allclose(run(f"nn.{name} %0 : tensor<4x5xf32>", x), wanted, **BOUND)
    if name in COMPOSITES:
        np.testing.assert_allclose(run(f"nn.{name} %0 : tensor<4x5xf32>", x, decompose=True), wanted, **BOUND)


def test_gelu_by_tanh() -> None:
    x = _random(4, 5)
    text = "nn.gelu %0 {tanh_approximation = true} : tensor<4x5xf32>"
    for decompose in (False, True):
        np.testing.assert_allclose(run(text, x, decompose=decompose), reference("Gelu", x, approximate="tanh"), **BOUND)


@pytest.mark.parametrize(("name", "op_type"), BINARY.items())
def test_binary(name: str, op_type: str) -> None:
    x, y = _random(4, 5), _random(5)
    text = f"nn.{name} %0, %1 : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>"
    assert run(text, x, y).tobytes() == np.asarray(reference(op_type, x, y)).tobytes()


def test_roots_and_powers() -> None:
    x, y = np.abs(_random(6)), _random(6)
    assert run("nn.sqrt %0 : tensor<6xf32>", x).tobytes() == reference("Sqrt", x).tobytes()
    # The last bit of NumPy's functions depends on the CPU.
    np.testing.assert_array_max_ulp(run("nn.log %0 : tensor<6xf32>", x), reference("Log", x), maxulp=1)
    np.testing.assert_array_max_ulp(run("nn.pow %0, %1 : tensor<6xf32>", x, y), reference("Pow", x, y), maxulp=1)
    wanted = reference("LeakyRelu", y, alpha=0.1)
    assert run("nn.leaky_relu %0 {alpha = 0.1} : tensor<6xf32>", y).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["equal", "greater", "greater_or_equal", "less", "less_or_equal"])
def test_comparison(name: str) -> None:
    x, y = np.array([1, 2, np.nan, -0.0], np.float32), np.array([1, 1, np.nan, 0.0], np.float32)
    op_type = "".join(part.capitalize() for part in name.split("_"))
    got = run(f"nn.{name} %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>", x, y)
    assert got.astype(bool).tolist() == reference(op_type, x, y).tolist()


@pytest.mark.parametrize(
    ("properties", "attributes", "weight", "shape"),
    [
        ("", {}, (4, 3, 3, 3), (2, 4, 5, 5)),
        (
            "{strides = [2, 1], pads = [1, 0, 2, 1]}",
            {"strides": [2, 1], "pads": [1, 0, 2, 1]},
            (4, 3, 3, 2),
            (2, 4, 4, 7),
        ),
        ("{dilations = [2, 2]}", {"dilations": [2, 2]}, (4, 3, 2, 3), (2, 4, 5, 3)),
        ("{groups = 3}", {"group": 3}, (6, 1, 3, 3), (2, 6, 5, 5)),
    ],
)
def test_convolution(
    properties: str, attributes: dict[str, Any], weight: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    x, w, b = _random(2, 3, 7, 7), _random(*weight), _random(weight[0])
    types = ", ".join(f"tensor<{'x'.join(map(str, each))}xf32>" for each in (x.shape, weight, b.shape))
    text = f"nn.conv %0, %1, %2 {properties} : ({types}) -> tensor<{'x'.join(map(str, shape))}xf32>"
    wanted = reference("Conv", x, w, b, **attributes)
    for decompose in (False, True):
        np.testing.assert_allclose(run(text, x, w, b, decompose=decompose), wanted, **BOUND)


@pytest.mark.parametrize(
    ("properties", "attributes", "size"),
    [
        ("", {}, (6, 6)),
        ("strides = [2, 2],", {"strides": [2, 2]}, (3, 3)),
        ("strides = [2, 2], pads = [1, 1, 1, 1],", {"strides": [2, 2], "pads": [1, 1, 1, 1]}, (4, 4)),
        ("strides = [2, 2], ceil_mode = true,", {"strides": [2, 2], "ceil_mode": 1}, (4, 4)),
    ],
)
@pytest.mark.parametrize("kind", ["max", "average"])
def test_pools(kind: str, properties: str, attributes: dict[str, Any], size: tuple[int, int]) -> None:
    x = _random(1, 2, 7, 7)
    result = f"tensor<1x2x{size[0]}x{size[1]}xf32>"
    text = f"nn.{kind}_pool %0 {{{properties} kernel = [2, 2]}} : (tensor<1x2x7x7xf32>) -> {result}"
    wanted = reference(f"{kind.capitalize()}Pool", x, kernel_shape=[2, 2], **attributes)
    np.testing.assert_allclose(run(text, x), wanted, **BOUND)


def test_average_counts_padding_where_told() -> None:
    x = _random(1, 2, 4, 4)
    text = "nn.average_pool %0 {kernel = [3, 3], pads = [1, 1, 1, 1], count_include_pad = true} : tensor<1x2x4x4xf32>"
    wanted = reference("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    np.testing.assert_allclose(run(text, x), wanted, **BOUND)


def test_normalizations() -> None:
    x, s = _random(2, 3, 4), _random(4)
    wanted = reference("LayerNormalization", x, s, s)
    text = "nn.layer_norm %0, %1, %2 : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>"
    for decompose in (False, True):
        np.testing.assert_allclose(run(text, x, s, s, decompose=decompose), wanted, **BOUND)
        softmax = run("nn.softmax %0 {axis = 1} : tensor<2x3x4xf32>", x, decompose=decompose)
        np.testing.assert_allclose(softmax, reference("Softmax", x, axis=1), **BOUND)


def test_batch_norm() -> None:
    x, parameters = _random(2, 3, 4, 4), [np.abs(_random(3)) for _ in range(4)]
    wanted = reference("BatchNormalization", x, *parameters)
    types = ", ".join(["tensor<2x3x4x4xf32>", *["tensor<3xf32>"] * 4])
    text = f"nn.batch_norm %0, %1, %2, %3, %4 : ({types}) -> tensor<2x3x4x4xf32>"
    for decompose in (False, True):
        np.testing.assert_allclose(run(text, x, *parameters, decompose=decompose), wanted, **BOUND)


def test_matmul_and_fully_connected() -> None:
    x, w, b = _random(3, 4), _random(5, 4), _random(5)
    wanted = reference("Gemm", x, w, b, transB=1)
    text = "nn.fully_connected %0, %1, %2 : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<3x5xf32>"
    for decompose in (False, True):
        np.testing.assert_allclose(run(text, x, w, b, decompose=decompose), wanted, **BOUND)
    stack, matrix = _random(2, 1, 3, 4), _random(5, 4, 2)
    text = "nn.matmul %0, %1 : (tensor<2x1x3x4xf32>, tensor<5x4x2xf32>) -> tensor<2x5x3x2xf32>"
    np.testing.assert_allclose(run(text, stack, matrix), reference("MatMul", stack, matrix), **BOUND)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_reductions(name: str) -> None:
    x = _random(3, 4, 5)
    got = run(f"nn.reduce_{name} %0 {{axes = [0, -1], keep_dims = false}} : (tensor<3x4x5xf32>) -> tensor<4xf32>", x)
    numpy = getattr(np, name)(x, axis=(0, 2))
    np.testing.assert_allclose(got, numpy, **BOUND)
