"""Products by weights that have a scale for each block of terms, compiled: every bit of the sums in f32."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE, QUANTIZE

Array = np.ndarray


def _model(x: Array, zero: int, weights: Array, scales: Array, block: int) -> ModelProto:
    """A product in QDQ form; a step of the result is 1."""
    node = helper.make_node
    constants = {
        "one": np.array(1, np.float32), "zero": np.array(zero, x.dtype), "w": weights, "s": scales,
        "none": np.array(0, np.int8),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", ["x", "one", "zero"], ["a"]),
        node("DequantizeLinear", ["w", "s"], ["b"], axis=0, block_size=block),
        node("MatMul", ["a", "b"], ["c"]),
        node("QuantizeLinear", ["c", "one", "none"], ["y"]),
    ]
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    taken = helper.make_tensor_value_info("x", element, x.shape)
    given = helper.make_tensor_value_info("y", TensorProto.INT8, [len(x), weights.shape[1]])
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "blocks", [taken], [given], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _expected(x: Array, zero: int, weights: Array, scales: Array, block: int) -> Array:
    """By hand: each block exact, times its scale and added in f32, from the first to the last; ties to even."""
    total = np.zeros((len(x), weights.shape[1]), np.float32)
    for number, factors in enumerate(scales):
        terms = slice(number * block, (number + 1) * block)
        exact = (x[:, terms].astype(np.int64) - zero) @ weights[terms].astype(np.int64)
        total = total + factors * exact.astype(np.float32)
    return np.clip(np.rint(total), -128, 127).astype(np.int8)


# Rows, terms, channels, terms of a block, zero point of the input, its type and that of the weights.
CASES = [
    (1, 96, 150, 32, 3, np.int8, ml_dtypes.int4),  # two blocks of 64 channels, and 22 more
    (1, 64, 20, 32, 0, np.uint8, ml_dtypes.int4),  # nothing to take off
    (5, 42, 40, 21, 131, np.uint8, ml_dtypes.int4),  # a smaller tile, and terms that fill no step
    (3, 40, 17, 10, -7, np.int8, np.int8),
]


def _case(
    rows: int, terms: int, channels: int, block: int, zero: int, input_type: type, weight_type: type
) -> tuple[ModuleOp, Array, Array]:
    """A product of integers, its input, and what it gives."""
    generator = np.random.default_rng(terms)
    limit = 8 if weight_type is ml_dtypes.int4 else 128
    weights = generator.integers(-limit, limit, (terms, channels)).astype(weight_type)
    bounds = np.iinfo(input_type)
    x = generator.integers(bounds.min, bounds.max, (rows, terms), input_type, endpoint=True)
    spread = 40 / (np.sqrt(terms) * 74 * limit / 1.8)
    scales = generator.uniform(0.5 * spread, 1.5 * spread, (terms // block, channels)).astype(np.float32)
    module = run_pipeline(
        qmlir.load(_model(x, zero, weights, scales, block)), QUANTIZE.text("propagate", "raise", "rescale")
    )
    return module, x, _expected(x, zero, weights, scales, block)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("isa", ["host", "generic"])
def test_sums_of_blocks(case: tuple[Any, ...], isa: str) -> None:
    module, x, expected = _case(*case)
    for threads in (1, 2) if len(x) == 5 else (1,):
        found = qmlir.compile(module, isa=isa, threads=threads, codegen="llvm")({"x": x})["y"]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_of_blocks_on_arm(case: tuple[Any, ...]) -> None:
    """Bytes without a sign are moved before the loops; packed, and as loops."""
    module, x, expected = _case(*case)
    for stages in (("lower", "fuse", "schedule"), ("lower", "fuse", "schedule", "bufferize", "loops")):
        made = run_pipeline(module.clone(), COMPILE.text(*stages, isa="neon-dotprod", threads=1))
        assert "s8s8_lanes" in str(made) or "loops" in stages
        (found,) = qmlir.interpret(made, [x]).values()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("isa", "is_one"), [("avx512-vnni", True), ("avx2-vnni", True), ("generic", False)])
def test_where_blocks_are_summed_in_registers(isa: str, is_one: bool) -> None:
    weights, scales = np.ones((64, 16), ml_dtypes.int4), np.linspace(1, 2, 32, dtype=np.float32).reshape(2, 16)
    model = qmlir.load(_model(np.zeros((1, 64), np.int8), 0, weights, scales, 32))
    module = run_pipeline(model, QUANTIZE.text("propagate", "raise", "rescale"))
    text = str(run_pipeline(module, COMPILE.text("lower", "fuse", "schedule", isa=isa, threads=1)))
    assert ("kernel.packed_blocks" in text) == is_one


# --- Floats by integers -----------------------------------------------------------------------------------------------


def _of_floats(shape: tuple[int, ...], channels: int, block: int, bits: int, *, has_points: bool) -> ModelProto:
    """MatMulNBits with a bias and a relu, weights packed as ONNX Runtime's operator has them."""
    generator, terms = np.random.default_rng(bits), shape[-1]
    count, each = terms // block, 8 // bits

    def packed(rows: Array) -> Array:
        filled = np.pad(rows, [(0, 0), (0, -rows.shape[1] % each)]).reshape(len(rows), -1, each).astype(np.int64)
        return (filled << (np.arange(each) * bits)).sum(axis=-1).astype(np.uint8)

    constants = {
        "w": packed(generator.integers(0, 1 << bits, (channels, terms))).reshape(channels, count, -1),
        "s": generator.uniform(0.01, 0.02, (channels, count)).astype(np.float32),
        **({"z": packed(generator.integers(0, 1 << bits, (channels, count)))} if has_points else {}),
        "b": generator.standard_normal(channels).astype(np.float32),
    }
    product = helper.make_node(
        "MatMulNBits", ["x", "w", "s", *(["z"] if has_points else [])], ["p"], domain="com.microsoft",
        K=terms, N=channels, bits=bits, block_size=block,
    )  # fmt: skip
    nodes = [product, helper.make_node("Add", ["p", "b"], ["q"]), helper.make_node("Relu", ["q"], ["y"])]
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    given = helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape[:-1], channels])
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "floats", [taken], [given], initializers)
    domains = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)


@pytest.mark.parametrize(
    ("shape", "channels", "block", "bits", "has_points"),
    [
        ((1, 1, 96), 150, 16, 4, False),
        ((2, 3, 64), 40, 32, 4, True),  # without its zero point a weight takes five bits
        ((5, 64), 33, 16, 8, False),
        ((1, 64), 20, 32, 2, False),
    ],
)
def test_weights_of_floats_stay_integers(
    shape: tuple[int, ...], channels: int, block: int, bits: int, has_points: bool
) -> None:
    module = qmlir.load(_of_floats(shape, channels, block, bits, has_points=has_points))
    text = str(run_pipeline(module, COMPILE.text("lower", "fuse", "schedule", isa="avx512-vnni", threads=1)))
    assert text.count("kernel.packed_blocks") == 1
    assert f"{channels}x{shape[-1]}xf32" not in text
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = qmlir.interpret(module, {"x": x})["y"]
    for threads in (1, 2) if has_points else (1,):
        found = qmlir.compile(module, threads=threads, codegen="llvm")({"x": x})["y"]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
