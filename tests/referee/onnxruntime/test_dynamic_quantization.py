"""Operators of dynamic quantization, imported, against ONNX Runtime: integers are equal, interpreted and compiled.

Zero points are constants, inputs of the graph, or left out; weights as well. What ends in floats is within rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import qmlir
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from tests.levels.test_dynamic_data import FORMS, network
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime
from tests.support.emitted import parsed
from tests.support.nets import Net
from tests.support.unsigned_twins import run_exactly
from tests.unit.dialects.nn.lower.driver import tensor

pytestmark = needs_onnxruntime

MICROSOFT = "com.microsoft"
ROUNDING = 1e-5
"""Of sums of some tens of floats about 1, in another order."""

PER_SHEET = 6


class Draw:
    """A model of single operators under construction, and random numbers for it."""

    def __init__(self, seed: int) -> None:
        self.rng, self.net, self.outputs = np.random.default_rng(seed), Net(opset=21), list[str]()

    def size(self, low: int = 1, high: int = 6) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def kind(self) -> Any:
        return np.uint8 if self.chance(0.5) else np.int8

    def integers(self, dtype: Any, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def tensor(self, array: Any) -> str:
        return self.net.tensor(array, is_constant=self.chance(0.5))

    def floats(self, *shape: int) -> np.ndarray:
        return (self.rng.standard_normal(shape) * 2.0 ** self.rng.integers(-3, 4)).astype(np.float32)

    def scales(self, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.01, 0.2, shape).astype(np.float32)


def _matmul_integer(draw: Draw) -> list[str]:
    rows, terms, columns = draw.size(), draw.size(1, 40), draw.size(1, 20)
    batch = [2] if draw.chance(0.3) else []
    left, right = draw.kind(), draw.kind()
    a, b = draw.net.input(draw.integers(left, *batch, rows, terms)), draw.tensor(draw.integers(right, terms, columns))
    points = ["", ""]
    if draw.chance(0.8):
        points[0] = draw.tensor(draw.integers(left))
    if draw.chance(0.6):
        points[1] = draw.tensor(draw.integers(right, *([columns] if draw.chance(0.5) else [])))
    return [draw.net.node("MatMulInteger", a, b, *points)]


def _conv_integer(draw: Draw) -> list[str]:
    groups = draw.size(1, 2)
    inputs, outputs = draw.size(1, 3), groups * draw.size(1, 3)
    x = draw.net.input(draw.integers(np.uint8, 1, groups * inputs, draw.size(4, 7), draw.size(4, 7)))
    w = draw.net.constant(draw.integers(np.uint8, outputs, inputs, draw.size(1, 3), draw.size(1, 3)))
    points = [draw.tensor(draw.integers(np.uint8)) if draw.chance(0.8) else ""]
    points.append(draw.net.constant(draw.integers(np.uint8)) if draw.chance(0.5) else "")
    pads, strides = [draw.size(0, 2) for _ in range(4)], [draw.size(1, 2), draw.size(1, 2)]
    return [draw.net.node("ConvInteger", x, w, *points, group=groups, pads=pads, strides=strides)]


def _dynamic_quantize_linear(draw: Draw) -> list[str]:
    values = draw.floats(draw.size(), draw.size(1, 40)) + np.float32(draw.rng.choice([-9, 0, 9]))
    return draw.net.nodes_of("DynamicQuantizeLinear", draw.net.input(values), outputs=3)


def _matmul_integer_to_float(draw: Draw) -> list[str]:
    """Of s8 by u8 ONNX Runtime has no kernel."""
    rows, terms, columns = draw.size(), draw.size(1, 40), draw.size(1, 20)
    left = draw.kind()
    right = np.int8 if left is np.int8 else draw.kind()
    several = [columns] if draw.chance(0.5) else []
    inputs = [
        draw.net.input(draw.integers(left, rows, terms)),
        draw.tensor(draw.integers(right, terms, columns)),
        draw.tensor(draw.scales()),
        draw.tensor(draw.scales(*several)),
        draw.tensor(draw.integers(left)) if draw.chance(0.8) else "",
        draw.tensor(draw.integers(right, *several)) if draw.chance(0.6) else "",
        draw.tensor(draw.floats(columns)) if draw.chance(0.5) else "",
    ]
    return [draw.net.node("MatMulIntegerToFloat", *inputs, domain=MICROSOFT)]


def _dynamic_quantize_matmul(draw: Draw) -> list[str]:
    terms, columns, right = draw.size(1, 40), draw.size(1, 20), draw.kind()
    several = [columns] if draw.chance(0.5) else []
    inputs = [
        draw.net.input(draw.floats(draw.size(), terms)),
        draw.tensor(draw.integers(right, terms, columns)),
        draw.tensor(draw.scales(*several)),
        draw.tensor(draw.integers(right, *several)) if draw.chance(0.6) else "",
        draw.tensor(draw.floats(columns)) if draw.chance(0.5) else "",
    ]
    return [draw.net.node("DynamicQuantizeMatMul", *inputs, domain=MICROSOFT)]


def _matmul_n_bits(draw: Draw) -> list[str]:
    block, terms, columns = int(draw.rng.choice([16, 32])), 16 * draw.size(1, 5), draw.size(1, 20)
    blocks = -(-terms // block)
    inputs = [
        draw.net.input(draw.floats(draw.size(), terms) / 8),
        draw.net.constant(draw.integers(np.uint8, columns, blocks, block // 2)),
        draw.net.constant(draw.scales(columns * blocks)),
        draw.net.constant(draw.integers(np.uint8, columns * ((blocks + 1) // 2))) if draw.chance(0.5) else "",
    ]
    if draw.chance(0.5):
        inputs += ["", draw.net.constant(draw.floats(columns))]
    return [draw.net.node("MatMulNBits", *inputs, domain=MICROSOFT, K=terms, N=columns, bits=4, block_size=block)]


def _sheet(kind: Callable[[Draw], list[str]], seed: int) -> tuple[ModelProto, dict[str, np.ndarray]]:
    draw = Draw(seed)
    for _ in range(PER_SHEET):
        draw.outputs += kind(draw)
    model = draw.net.model(*draw.outputs)
    model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return model, draw.net.feeds


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "kind",
    [
        _matmul_integer,
        _conv_integer,
        _dynamic_quantize_linear,
        _matmul_integer_to_float,
        _dynamic_quantize_matmul,
        _matmul_n_bits,
    ],
)
def test_random(kind: Callable[[Draw], list[str]], seed: int) -> None:
    model, feeds = _sheet(kind, seed)
    wanted = run_exactly(model, feeds)
    module = qmlir.load(model)
    for found in (qmlir.interpret(module, feeds), qmlir.compile(module, codegen="llvm")(feeds)):
        for name, expected in wanted.items():
            assert (found[name].dtype, found[name].shape) == (expected.dtype, expected.shape), name
            if expected.dtype.kind in "iu":
                np.testing.assert_array_equal(found[name], expected, err_msg=name)
            else:
                bound = ROUNDING * max(1.0, float(np.abs(expected).max()))
                np.testing.assert_allclose(found[name], expected, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize(
    ("producer", "domain", "scale"),
    [("", "", 1 / 255), ("pytorch", "", 1 / 255), ("onnx.quantize", "", 1.0), ("", MICROSOFT, 1.0)],
)
def test_zeros_have_the_scale_of_who_made_the_model(producer: str, domain: str, scale: float) -> None:
    """ONNX Runtime's is 1 whoever made it; ONNX's reference has 1 / 255. What is exported comes back with its own."""
    ports = {"q": (TensorProto.UINT8, [3]), "s": (TensorProto.FLOAT, []), "z": (TensorProto.UINT8, [])}
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("DynamicQuantizeLinear", ["x"], list(ports))],
            "zeros",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
            [helper.make_tensor_value_info(name, *port) for name, port in ports.items()],
        ),
        opset_imports=[helper.make_opsetid("", 13), *([helper.make_opsetid(domain, 1)] if domain else [])],
        producer_name=producer,
        ir_version=8,
    )
    inputs = {"x": np.zeros(3, np.float32)}
    theirs = OrtSession(model.SerializeToString(), OrtOptions())(inputs)
    for module in (qmlir.load(model), qmlir.load(qmlir.export_onnx(qmlir.load(model)))):
        ours = qmlir.interpret(module, inputs)
        assert ours["s"] == np.float32(scale)
        assert theirs["s"] == 1
        for name in ("q", "z"):
            np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize(("scope", "scheme"), FORMS)
def test_exported_networks(scope: str, scheme: str) -> None:
    """ONNX Runtime computes every bit of what is quantized at run time, by its operator or by elementary ones.

    Its optimizations join the multiplications by scales, which then round once less.
    """
    options = OrtOptions(optimization="none", is_exact=True)
    for seed in range(6):
        module, inputs, wanted = network(seed, scope, scheme)
        model = qmlir.export_onnx(module)
        found = OrtSession(model.SerializeToString(), options)(inputs)
        (array,) = found.values()
        np.testing.assert_array_equal(array, wanted, err_msg=f"seed {seed}")
        del model.metadata_props[:]  # with the text of the module
        (again,) = qmlir.interpret(qmlir.load(model), inputs).values()
        np.testing.assert_array_equal(again, wanted, err_msg=f"seed {seed}")
        has_operator = any(node.op_type == "DynamicQuantizeLinear" for node in model.graph.node)
        assert has_operator is (any("conv" in op.name for op in module.walk()) or scope == "tensor") & (
            scheme == "asymmetric"
        )


_CORRECTED = {
    "nn.matmul": ([2, 2], [2, 2], [[4, 10], [5, 20]]),
    "nn.fully_connected": ([2, 2], [2, 2], [[4, 5], [10, 20]]),
    "nn.conv": ([1, 2, 3, 2], [2, 2, 1, 1], [[[[4]], [[5]]], [[[10]], [[20]]]]),
}
"""The shapes of data and weights, and weights whose sums are 9 and 30 for the two outputs."""


@pytest.mark.parametrize(
    ("operation", "sums", "is_one_node"),
    [
        ("nn.matmul", [9, 30], True),
        ("nn.matmul", [[9, 30]], True),
        ("nn.matmul", [[9], [30]], False),
        ("nn.fully_connected", [[9, 30]], True),
        ("nn.fully_connected", [[9], [30]], False),
        ("nn.conv", [[[[9]], [[30]]]], True),
        ("nn.conv", [[[9]], [[30]]], True),
        ("nn.conv", [9, 30], False),
    ],
)
def test_corrections_lie_along_the_outputs(operation: str, sums: list[Any], is_one_node: bool) -> None:
    """The same sums along another axis are no correction of the product."""
    data, shape, weights = _CORRECTED[operation]
    counts = np.array(sums, np.int32).shape
    x, s, w = (tensor(each, kind) for each, kind in ((data, "ui8"), (counts, "i32"), (shape, "!w")))
    product, result = tensor(data, "!sum"), tensor(data, "i32")
    module = parsed(f"""
    !data = !quant.uniform<u8:f32, 1.0>
    !w = !quant.uniform<i8:f32, 1.0>
    !sum = !quant.uniform<i32:f32, 1.0>
    func.func @main(%x: {x} {{nn.name = "x"}}, %z: tensor<ui8> {{nn.name = "z"}}) -> {result} {{
      %0 = nn.constant dense<{weights}> : {tensor(shape, "i8")} -> {w}
      %1 = nn.cast %x : ({x}) -> {tensor(data, "i8")}
      %2 = quant.scast %1 : {tensor(data, "i8")} to {tensor(data, "!data")}
      %3 = {operation} %2, %0 : ({tensor(data, "!data")}, {w}) -> {product}
      %4 = quant.scast %3 : {product} to {result}
      %5 = nn.cast %z : (tensor<ui8>) -> tensor<i32>
      %6 = nn.constant dense<{sums}> : {s}
      %7 = nn.mul %5, %6 : (tensor<i32>, {s}) -> {s}
      %8 = nn.sub %4, %7 : ({result}, {s}) -> {result}
      func.return %8 : {result}
    }}""")
    model = qmlir.export_onnx(module)
    assert (len(model.graph.node) <= 2) == is_one_node  # one more transposes the weights of a fully connected layer
    inputs = {"x": np.random.default_rng(0).integers(0, 256, data).astype(np.uint8), "z": np.uint8(139)}
    columns = np.reshape(weights, (2, 2)).T if operation != "nn.matmul" else np.array(weights)
    products = np.einsum("nk...,kc->nc...", inputs["x"].astype(int), columns)
    (found,) = OrtSession(model.SerializeToString(), OrtOptions())(inputs).values()
    np.testing.assert_array_equal(found, products - 139 * np.array(sums))
