"""Products by weights that have a scale for each block of terms, compiled: every bit of the sums in f32."""

import math
import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, differing_bits, run_c
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE, QUANTIZE
from qmlir.targets.cpu.host import runs_here

Array = np.ndarray


def _model(x: Array, zero: int, weights: Array, scales: Array, block: int, step: float = 1) -> ModelProto:
    """A product in QDQ form; a step of the result is 1."""
    node = helper.make_node
    constants = {
        "one": np.array(1, np.float32), "zero": np.array(zero, x.dtype), "w": weights, "s": scales,
        "none": np.array(0, np.int8), "step": np.array(step, np.float32),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", ["x", "step", "zero"], ["a"]),
        node("DequantizeLinear", ["w", "s"], ["b"], axis=0, block_size=block),
        node("MatMul", ["a", "b"], ["c"]),
        node("QuantizeLinear", ["c", "one", "none"], ["y"]),
    ]
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    taken = helper.make_tensor_value_info("x", element, x.shape)
    given = helper.make_tensor_value_info("y", TensorProto.INT8, [len(x), weights.shape[1]])
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "blocks", [taken], [given], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


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
    # Whole super-blocks of 256 terms, and two of 128.
    (1, 768, 75, 32, 3, np.int8, ml_dtypes.int4),
    (1, 512, 41, 16, 131, np.uint8, ml_dtypes.int2),
    (3, 512, 17, 64, -7, np.int8, np.int8),
    (5, 384, 33, 32, 4, np.uint8, ml_dtypes.int4),
    (5, 42, 40, 21, 131, np.uint8, ml_dtypes.int4),  # a smaller tile, and terms that fill no step
    (3, 40, 17, 10, -7, np.int8, np.int8),
    (1, 42, 40, 21, 131, np.uint8, ml_dtypes.int4),
    (1, 96, 41, 48, -9, np.int8, ml_dtypes.int4),  # more terms than a run of sums in 16 bits
    (1, 80, 33, 40, 5, np.int8, ml_dtypes.int2),
    (1, 40, 17, 10, 100, np.uint8, np.int8),
]
# The types that scales are rounded to, in turns over the cases without super-blocks.
_HELD = (np.float32, np.float16, ml_dtypes.bfloat16)
_LIMITS = {ml_dtypes.int2: 2, ml_dtypes.int4: 8, np.int8: 128}


def _has_levels(terms: int) -> bool:
    return terms % 128 == 0


def _case(
    rows: int, terms: int, channels: int, block: int, zero: int, input_type: type, weight_type: type
) -> tuple[ModuleOp, Array, Array]:
    """A product of integers, its input, and what it gives."""
    generator = np.random.default_rng(terms)
    limit = _LIMITS[weight_type]
    weights = generator.integers(-limit, limit, (terms, channels)).astype(weight_type)
    bounds = np.iinfo(input_type)
    x = generator.integers(bounds.min, bounds.max, (rows, terms), input_type, endpoint=True)
    spread = 40 / (np.sqrt(terms) * 74 * limit / 1.8)
    scales = generator.uniform(0.5 * spread, 1.5 * spread, (terms // block, channels))
    super_terms = math.gcd(terms, 256)
    if not _has_levels(terms):
        scales = scales.astype(_HELD[terms % 3]).astype(np.float32)
    else:
        steps = (scales[:: super_terms // block] * 2 / 63).astype(np.float16).astype(np.float32)
        factors = generator.integers(1, 64, scales.shape)
        factors[:, :2] = 63, 0  # many bits of a step are the factor's, or none
        scales = (np.repeat(steps, super_terms // block, axis=0) * factors).astype(np.float32)
    # Scales in less than 32 bits are held without the scale of the input.
    step = np.float32(0.7 if _has_levels(terms) or terms % 3 == 1 else 1)
    model = _model(x, zero, weights, scales, block, step)
    module = run_pipeline(qmlir.load(model), QUANTIZE.text("propagate", "raise", "rescale"))
    return module, x, _expected(x, zero, weights, step * scales, block)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("isa", ["host", "generic"])
def test_sums_of_blocks(case: tuple[Any, ...], isa: str) -> None:
    module, x, expected = _case(*case)
    for threads in (1, 2) if len(x) == 5 else (1,):
        found = qmlir.compile(module, isa=isa, threads=threads, codegen="llvm")({"x": x})["y"]
        np.testing.assert_array_equal(found, expected)


# The variant of one row, by the bits of its weights, and that of several rows.
_VARIANTS = {
    "neon-dotprod": ("s8s8_lanes", "s8s8_lanes", "s8s8_lanes"),  # which moves bytes without a sign before the loops
    "avx512-vnni": ("s8u2_dot", "s8u4_dot", "u8s8_dot"),
    "avx2-vnni": ("s8u2_dot", "s8u4_dot", "u8s8_dot"),
    "avx2": ("s8u2_short", "s8u4_short", "i16_bytes"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("isa", _VARIANTS)
def test_sums_of_blocks_of_other_processors(case: tuple[Any, ...], isa: str) -> None:
    """Packed, and as loops."""
    module, x, expected = _case(*case)
    variant = _VARIANTS[isa][list(_LIMITS).index(case[-1])]
    for stages in (("lower", "fuse", "schedule"), ("lower", "fuse", "schedule", "bufferize", "loops")):
        made = run_pipeline(module.clone(), COMPILE.text(*stages, isa=isa, threads=1))
        if "loops" not in stages and len(x) == 1:
            assert f'"{variant}"' in str(made)
            assert ("super_block" in str(made)) == _has_levels(case[1])
            assert ("scale_factor" in str(made)) == (_has_levels(case[1]) or case[1] % 3 == 1)
        (found,) = qmlir.interpret(made, [x]).values()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="requires gcc")
@pytest.mark.parametrize("case", [CASES[2], CASES[-3], CASES[-2]], ids=str)
def test_sums_of_blocks_as_c(case: tuple[Any, ...], tmp_path: Path) -> None:
    module, x, expected = _case(*case)
    build = next(each for each in BUILDS if each.name == "gcc -O2")
    ended, found = run_c(qmlir.emit(module, isa="avx2"), build, {"x": x}, {"y": expected}, tmp_path)
    assert ended == 0
    assert differing_bits({"y": expected}, found) == 0


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize(("low", "zero"), [(-128, 127), (127, -128)])
def test_largest_sums_of_blocks(bits: int, low: int, zero: int) -> None:
    """Sums in 16 bits, of weights and of their products, that are as large as they can be."""
    weight_type = {2: ml_dtypes.int2, 4: ml_dtypes.int4}[bits]
    weights, x = np.full((256, 8), (1 << bits - 1) - 1, weight_type), np.full((1, 256), low, np.int8)
    scales = np.full((2, 8), 2.0**-15, np.float32)
    expected = _expected(x, zero, weights, scales, 128)
    module = qmlir.load(_model(x, zero, weights, scales, 128))
    made = run_pipeline(module, QUANTIZE.text("propagate", "raise", "rescale"))
    for isa in ("host", *filter(runs_here, ["avx2"])):
        found = qmlir.compile(made, isa=isa, codegen="llvm")({"x": x})["y"]
        np.testing.assert_array_equal(found, expected)
    loops = COMPILE.text("lower", "fuse", "schedule", "bufferize", "loops", isa="avx2", threads=1)
    np.testing.assert_array_equal(qmlir.interpret(run_pipeline(made, loops), [x])["y"], expected)


@pytest.mark.parametrize(
    ("isa", "is_one"), [("avx512-vnni", True), ("avx2-vnni", True), ("avx2", True), ("generic", False)]
)
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
        "s": generator.uniform(0.01, 0.02, (channels, count)).astype(_HELD[bits // 2 % 3]).astype(np.float32),
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
