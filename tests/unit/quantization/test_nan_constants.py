"""What reads a constant with NaN is left in float, and all else is quantized."""

import numpy as np
import pytest
from onnx import ModelProto, helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError

RNG = np.random.default_rng(0)

NO_VALUE = """
    net (float[2, 3] x, bool[2, 3] known) => (float[2, 3] y, float[2, 3] z) {
      z = MatMul (x, weights)
      y = Where (known, z, nan)
    }"""

STATE = """
    net (float[2, 3] x, int64 most) => (float[2, 3] y, float[2, 3] z) <bool yes = {1}> {
      z = MatMul (x, weights)
      y = Loop (most, yes, nan) <
        body = step (int64 i, bool go, float[2, 3] v) => (bool goes, next) {
          goes = Identity (go)
          begins = IsNaN (v)
          known = Where (begins, x, v)
          next = MatMul (known, weights)
        }>
    }"""


def _model(text: str) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    arrays = {"weights": RNG.standard_normal((3, 3), np.float32), "nan": np.full((2, 3), np.nan, np.float32)}
    for name, array in arrays.items():
        model.graph.initializer.append(helper.make_tensor(name, 1, array.shape, array.tobytes(), True))
    return model


def _quantized_products(module: ModuleOp) -> list[bool]:
    products = (op for op in module.walk() if op.name == "nn.matmul")
    return [isinstance(element_of(op.operands[0]), UniformQuantizedType) for op in products]


@pytest.mark.parametrize(
    ("text", "more", "products"),
    [(NO_VALUE, {"known": np.ones((2, 3), bool)}, [True]), (STATE, {"most": np.array(3)}, [True, False])],
    ids=["value", "state"],
)
def test_nan_is_not_quantized(text: str, more: dict[str, Array], products: list[bool]) -> None:
    module = qmlir.load(_model(text))
    samples = [{"x": RNG.standard_normal((2, 3), np.float32), **more} for _ in range(8)]
    quantized = qmlir.quantize(module, samples)
    assert _quantized_products(quantized.module) == products
    assert "has a constant with NaN" in str(quantized)
    if "known" in more:
        samples[0]["known"] = np.eye(2, 3, dtype=bool)
    found, expected = qmlir.interpret(quantized.module, samples[0]), qmlir.interpret(module, samples[0])
    np.testing.assert_allclose(found["y"], expected["y"], atol=0.1, equal_nan=True)
    compiled = qmlir.compile(quantized.module, codegen="llvm")(samples[0])
    np.testing.assert_array_equal(compiled["y"], found["y"])


REPLACED = """
    net (float[2, 3] x, bool[2, 3] known) => (float[2, 3] y, float[2, 3] z) <float zero = {0}> {
      z = MatMul (x, weights)
      v = Where (known, z, nan)
      none = IsNaN (v)
      w = Where (none, zero, v)
      y = MatMul (w, weights)
    }"""

READ = """
    net (float[2, 3] x, bool[2, 3] known) => (float[2, 3] y, float[2, 3] z) {
      z = MatMul (x, weights)
      v = Where (known, nan, z)
      y = MatMul (v, weights)
    }"""

PADDED = """
    net (float[2, 3] x, bool[2, 3] known) => (float[2, 4] y, float[2, 3] z)
    <int64[4] pads = {0, 0, 0, 1}, int64 first = {0}> {
      z = MatMul (x, weights)
      flat = Reshape (nan, six)
      one = Gather (flat, first)
      y = Pad (z, pads, one)
    }"""


@pytest.mark.parametrize(
    ("text", "products"),
    [(NO_VALUE, [True]), (REPLACED, [True, True]), (READ, [True, False]), (PADDED, [True])],
    ids=["chosen", "replaced", "read", "padded"],
)
def test_samples_with_nan_that_a_model_chooses_calibrate(text: str, products: list[bool]) -> None:
    model = _model(text)
    model.graph.initializer.append(helper.make_tensor("six", 7, [1], [6]))
    module = qmlir.load(model)
    samples = [{"x": RNG.standard_normal((2, 3), np.float32), "known": RNG.random((2, 3)) < 0.7} for _ in range(8)]
    quantized = qmlir.quantize(module, samples)
    assert _quantized_products(quantized.module) == products
    for sample in samples:
        found, expected = qmlir.interpret(quantized.module, sample), qmlir.interpret(module, sample)
        for name in ("y", "z"):
            np.testing.assert_array_equal(np.isnan(found[name]), np.isnan(expected[name]))
            np.testing.assert_allclose(found[name], expected[name], atol=0.2)


def test_nan_that_a_model_computes_is_an_error() -> None:
    text = "net (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) { z = MatMul (x, weights) l = Log (z) y = Relu (l) }"
    samples = [{"x": RNG.standard_normal((2, 3), np.float32)} for _ in range(8)]
    with pytest.raises(DiagnosticError, match=r"\(l\) value 'l' at sample 0: values must not contain NaN"):
        qmlir.quantize(qmlir.load(_model(text)), samples)
