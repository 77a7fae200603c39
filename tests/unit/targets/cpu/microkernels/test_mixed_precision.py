"""Weights that loops make floats of: small floats of every format, against `ml_dtypes` and NumPy, in each way they go.

An input of ones and zeros shows each weight itself, so that every bit of it is compared.
"""

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import TensorType, f32

import qmlir
from benchmarks.emitted import BUILDS, run_c
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.environment import default_environment
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE
from qmlir.targets.cpu.scheduled import schedule
from qmlir.text.parsing import parse_module
from tests.support.sampled import sampled

KINDS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2")
HELD = {
    "FLOAT8E4M3FN": "f32e4m3", "FLOAT8E4M3FNUZ": "f32e4m3", "FLOAT8E5M2": "f32e5m2", "FLOAT8E5M2FNUZ": "f32e5m2",
    "FLOAT4E2M1": "f32e2m1", "FLOAT6E2M3": "f32s8", "FLOAT6E3M2": "f32e4m3",
}  # fmt: skip
"""What one row reads."""

TERMS, CHANNELS = 96, 72
BLOCK = 32
CASES = [
    *((kind, "block") for kind in KINDS),
    *((kind, each) for kind in ("FLOAT8E4M3FN", "FLOAT4E2M1") for each in ("tensor", "channel", "powers")),
]
"""Formats, and how their scales lie."""


def dtype_of(kind: str) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind)))


def codes_of(kind: str, shape: tuple[int, ...], *, is_finite: bool = True) -> Array:
    """Every code in turn, subnormal ones and both zeros among them; with `is_finite` a zero for what is no number."""
    dtype = dtype_of(kind)
    every = np.arange(1 << (4 if "4E2" in kind else 6 if "6E" in kind else 8), dtype=np.uint8).view(dtype)
    if is_finite:
        every = np.where(np.isfinite(every.astype(np.float32)), every, np.zeros((), dtype))
    count = int(np.prod(shape))
    return np.random.default_rng(0).permutation(np.resize(every, count)).reshape(shape)


def scales_of(granularity: str) -> tuple[Array, dict[str, int]]:
    """The scales of `[TERMS, CHANNELS]`, and what DequantizeLinear says of them."""
    random = np.random.default_rng(1)
    match granularity:
        case "tensor":
            return np.array(0.3, np.float32), {}
        case "channel":
            return random.uniform(0.1, 2, CHANNELS).astype(np.float32), {"axis": 1}
        case "powers":
            powers = np.exp2(random.integers(-6, 6, (TERMS // BLOCK, CHANNELS))).astype(ml_dtypes.float8_e8m0fnu)
            return powers, {"axis": 0, "block_size": BLOCK, "output_dtype": TensorProto.FLOAT}
        case _:
            blocks = random.uniform(0.1, 2, (TERMS // BLOCK, CHANNELS)).astype(np.float32)
            return blocks, {"axis": 0, "block_size": BLOCK}


def reals_of(codes: Array, scales: Array) -> Array:
    """By hand: the f32 of each code times its scale, rounded once."""
    wide = scales.astype(np.float32)
    if wide.ndim == 2:
        wide = np.repeat(wide, BLOCK, axis=0)
    with np.errstate(all="ignore"):
        return wide * codes.astype(np.float32)


def product(rows: int, codes: Array, granularity: str) -> ModelProto:
    """Rows of floats by stored weights."""
    scales, layout = scales_of(granularity)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["real"], "dq", **layout),
        helper.make_node("MatMul", ["x", "real"], ["y"], "fc"),
    ]
    return _model(nodes, [rows, TERMS], [rows, CHANNELS], {"w": codes, "s": scales})


def _model(nodes: list[Any], x: list[int], y: list[int], constants: dict[str, Array]) -> ModelProto:
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in (("x", x), ("y", y))]
    graph = helper.make_graph(
        nodes, "g", *ports, [numpy_helper.from_array(each, key) for key, each in constants.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)


def packed(model: ModelProto, isa: str = "avx512-vnni") -> str:
    """The packed program as text."""
    return str(run_pipeline(qmlir.load(model), COMPILE.text("lower", "fuse", "schedule", isa=isa, threads=1)))


def _large_floats(text: str) -> list[str]:
    """The types of constants of f32 with as many numbers as there are weights."""
    module = parse_module(default_environment().new_context(), text, "packed")
    types = [op.result.type for op in module.walk() if isinstance(op, ConstantOp)]
    floats = [each for each in types if isinstance(each, TensorType) and each.get_element_type() == f32]
    return [str(each) for each in floats if math.prod(each.get_shape()) >= TERMS * CHANNELS]


@pytest.mark.parametrize(("kind", "granularity"), CASES)
def test_one_row_reads_every_weight_as_it_is_stored(kind: str, granularity: str) -> None:
    codes = codes_of(kind, (TERMS, CHANNELS))
    model = product(1, codes, granularity)
    text = packed(model)
    assert f'"{HELD[kind]}"' in text
    assert not _large_floats(text)
    program, wanted = qmlir.compile(qmlir.load(model), codegen="llvm"), reals_of(codes, scales_of(granularity)[0])
    for term in range(TERMS):
        x = np.zeros((1, TERMS), np.float32)
        x[0, term] = 1
        np.testing.assert_array_equal(program({"x": x})["y"][0], wanted[term])


@pytest.mark.parametrize(("stored", "rows"), sampled(CASES, [5, TERMS], strength=1))
def test_several_rows_read_every_weight(stored: tuple[str, str], rows: int) -> None:
    """A few make floats of weights for each tile, many for all of them at once."""
    kind, granularity = stored
    codes = codes_of(kind, (TERMS, CHANNELS))
    model = product(rows, codes, granularity)
    text = packed(model)
    assert ("kernel.packed_blocks" in text) == (rows == 5)
    assert not _large_floats(text)
    program, wanted = qmlir.compile(qmlir.load(model), codegen="llvm"), reals_of(codes, scales_of(granularity)[0])
    for first in range(0, TERMS, rows):
        x = np.eye(TERMS, dtype=np.float32)[first : first + rows]
        x = np.pad(x, [(0, rows - len(x)), (0, 0)])
        found = program({"x": x})["y"][: TERMS - first]
        np.testing.assert_array_equal(found, wanted[first : first + rows])
    random = np.random.default_rng(2).standard_normal((rows, TERMS)).astype(np.float32)
    exact, magnitudes = random.astype(np.float64) @ wanted, np.abs(random).astype(np.float64) @ np.abs(wanted)
    assert (np.abs(program({"x": random})["y"] - exact) <= 1e-5 * magnitudes).all()


@pytest.mark.parametrize(
    ("kind", "rows", "isa"),
    sampled(["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1", "FLOAT6E3M2"], [1, 3, 12], ["avx512-vnni", "avx2", "neon"]),
)
def test_packed_weights_and_loops_are_interpreted(kind: str, rows: int, isa: str) -> None:
    codes = codes_of(kind, (TERMS, CHANNELS))
    module = qmlir.load(product(rows, codes, "block"))
    x = np.eye(TERMS, dtype=np.float32)[40 : 40 + rows]
    for stages in (("lower", "fuse", "schedule"), ("bufferize", "loops")):
        module = run_pipeline(module, COMPILE.text(*stages, isa=isa, threads=1))
        (found,) = qmlir.interpret(module, [x]).values()
        np.testing.assert_array_equal(found, reals_of(codes, scales_of("block")[0])[40 : 40 + rows])


@pytest.mark.parametrize("rows", [1, 12])
@pytest.mark.parametrize("kind", ["FLOAT8E5M2", "FLOAT4E2M1"])
def test_other_emitters_and_threads(kind: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM by one thread and by two, and portable C, whose weights are f32."""
    monkeypatch.setattr(schedule, "THREADED_MICROSECONDS", 0)
    monkeypatch.setattr(schedule, "THREADED_ELEMENTS", 0)
    codes = codes_of(kind, (TERMS, CHANNELS))
    module = qmlir.load(product(rows, codes, "block"))
    x = {"x": np.eye(TERMS, dtype=np.float32)[40 : 40 + rows]}
    wanted = reals_of(codes, scales_of("block")[0])[40 : 40 + rows]
    for emitter, threads in (("llvm", 1), ("llvm", 2), ("numba", 2)):
        np.testing.assert_array_equal(qmlir.compile(module, threads=threads, codegen=emitter)(x)["y"], wanted)
    build = next(each for each in BUILDS if each.name == "gcc -O2")
    if build.is_installed():
        ended, found = run_c(qmlir.emit(module), build, x, {"y": wanted}, tmp_path)
        assert ended == 0
        np.testing.assert_array_equal(found["y"], wanted)


@pytest.mark.parametrize("rows", [1, 12])
@pytest.mark.parametrize("isa", ["generic", "portable"])
def test_processors_without_fused_products_hold_floats(isa: str, rows: int) -> None:
    codes = codes_of("FLOAT8E4M3FN", (TERMS, CHANNELS))
    model = product(rows, codes, "channel")
    assert len(_large_floats(packed(model, isa))) == 1
    text = COMPILE.text("lower", "fuse", "schedule", "bufferize", "loops", isa=isa, threads=1)
    x = np.eye(TERMS, dtype=np.float32)[40 : 40 + rows]
    (found,) = qmlir.interpret(run_pipeline(qmlir.load(model), text), [x]).values()
    np.testing.assert_array_equal(found, reals_of(codes, scales_of("channel")[0])[40 : 40 + rows])


@pytest.mark.parametrize("format_", ["f8E3M4", "f8E4M3", "f8E4M3B11FNUZ"])
@pytest.mark.parametrize("rows", [1, 12])
def test_formats_that_text_has(format_: str, rows: int) -> None:
    dtype = np.dtype(
        getattr(ml_dtypes, {"f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3"}.get(format_, "float8_e4m3b11fnuz"))
    )
    every = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    weights = np.resize(np.where(np.isfinite(every), every, 0), (TERMS, CHANNELS))
    digits = "".join(each.tobytes().hex() for each in weights.astype(dtype))
    text = f"""
        !w = !quant.uniform<{format_}:f32, 0.3>
        func.func @main(%x: tensor<{rows}x{TERMS}xf32> {{nn.name = "x"}}) -> tensor<{rows}x{CHANNELS}xf32> {{
          %w = nn.constant dense<"0x{digits}"> : tensor<{TERMS}x{CHANNELS}x{format_}> -> tensor<{TERMS}x{CHANNELS}x!w>
          %0 = quant.dcast %w : tensor<{TERMS}x{CHANNELS}x!w> to tensor<{TERMS}x{CHANNELS}xf32>
          %1 = nn.matmul %x, %0 : (tensor<{rows}x{TERMS}xf32>, tensor<{TERMS}x{CHANNELS}xf32>)
            -> tensor<{rows}x{CHANNELS}xf32>
          func.return %1 : tensor<{rows}x{CHANNELS}xf32>
        }}"""
    module = parse_module(default_environment().new_context(), text, "net")
    program = qmlir.compile(module, codegen="llvm")
    for first in range(0, TERMS, rows):
        x = np.eye(TERMS, dtype=np.float32)[first : first + rows]
        (found,) = program({"x": x}).values()
        np.testing.assert_array_equal(found, (np.float32(0.3) * weights)[first : first + rows])
    if format_ == "f8E3M4":
        stages = COMPILE.text("lower", "fuse", "schedule", isa="avx512-vnni", threads=1)
        assert '"f32e3m4"' in str(run_pipeline(module, stages)) or rows > 1


@pytest.mark.parametrize("rows", [1, 5, 20])
@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2"])
def test_weights_that_are_no_numbers(kind: str, rows: int) -> None:
    """NaN and infinities: what a program of f32 computes."""
    codes = codes_of(kind, (TERMS, CHANNELS))
    dtype = dtype_of(kind)
    codes[3, 1] = np.array(np.nan, dtype)
    if kind == "FLOAT8E5M2":
        codes[5, 2], codes[6, 2], codes[7, 4] = (np.array(each, dtype) for each in (np.inf, -np.inf, np.inf))
    x = np.abs(np.random.default_rng(3).standard_normal((rows, TERMS))).astype(np.float32) + 1
    with np.errstate(invalid="ignore"):
        wanted = x @ reals_of(codes, scales_of("channel")[0])
    found = qmlir.compile(qmlir.load(product(rows, codes, "channel")), codegen="llvm")({"x": x})["y"]
    assert np.isnan(found[:, 1]).all()
    is_number = np.isfinite(wanted)
    assert is_number.all(axis=0).sum() == CHANNELS - (3 if kind == "FLOAT8E5M2" else 1)
    np.testing.assert_array_equal(found[~is_number], wanted[~is_number])
    np.testing.assert_allclose(
        found[is_number], wanted[is_number], rtol=1e-4, atol=1e-3 * np.abs(wanted[is_number]).max()
    )


@pytest.mark.parametrize(("kind", "groups"), sampled(KINDS, [1, 2], strength=1))
def test_a_convolution_reads_every_weight(kind: str, groups: int) -> None:
    """One pixel of one channel in an image shows each weight of that channel."""
    inputs, outputs = 12 * groups, 40 * groups
    codes = codes_of(kind, (outputs, 12, 3, 3))
    scales = np.random.default_rng(4).uniform(0.1, 2, outputs).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["real"], "dq", axis=0),
        helper.make_node("Conv", ["x", "real"], ["y"], "conv", group=groups),
    ]
    model = _model(nodes, [inputs, inputs, 5, 5], [inputs, outputs, 3, 3], {"w": codes, "s": scales})
    x = np.zeros((inputs, inputs, 5, 5), np.float32)
    x[range(inputs), range(inputs), 2, 2] = 1
    found = qmlir.compile(qmlir.load(model), codegen="llvm")({"x": x})["y"]
    reals = scales[:, None, None, None] * codes.astype(np.float32)
    for channel in range(inputs):
        group = channel // 12
        own = slice(group * 40, group * 40 + 40)
        np.testing.assert_array_equal(found[channel, own], reals[own, channel % 12, ::-1, ::-1])
        others = np.delete(found[channel], np.arange(own.start, own.stop), axis=0)
        assert not others.any()


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT4E2M1"])
def test_one_scale_of_channels_that_fill_registers(kind: str) -> None:
    codes = codes_of(kind, (TERMS, 64))
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["real"], "dq"),
        helper.make_node("MatMul", ["x", "real"], ["y"], "fc"),
    ]
    model = _model(nodes, [TERMS, TERMS], [TERMS, 64], {"w": codes, "s": np.array(0.3, np.float32)})
    found = qmlir.compile(qmlir.load(model), codegen="llvm")({"x": np.eye(TERMS, dtype=np.float32)})["y"]
    np.testing.assert_array_equal(found, np.float32(0.3) * codes.astype(np.float32))


@pytest.mark.parametrize(("exponent_bits", "mantissa_bits"), [(2, 1), (3, 4), (4, 3), (5, 2)])
def test_codes_of_plain_floats(exponent_bits: int, mantissa_bits: int) -> None:
    """Numbers times any power of two have codes again, by which they are exact."""
    format_ = PlainFloat(exponent_bits, mantissa_bits)
    every = format_.values(np.arange(1 << format_.bits))
    # By hand: the smallest number and the largest, each twice for the sign.
    low = 2.0 ** (1 - format_.bias - mantissa_bits)
    high = 2.0 ** ((1 << exponent_bits) - 1 - format_.bias) * (2 - 2.0**-mantissa_bits)
    assert sorted({*np.abs(every)})[1] == low
    assert np.abs(every).max() == high
    assert len({*every.tolist()}) == (1 << format_.bits) - 1  # both zeros are one number
    for power in (-40, 0, 7):
        found = format_.scaled_codes(np.ldexp(every, power))
        assert found is not None
        codes, exponent = found
        np.testing.assert_array_equal(np.ldexp(format_.values(codes), exponent), np.ldexp(every, power))
        np.testing.assert_array_equal(codes.view(np.uint8), np.arange(1 << format_.bits))
    assert format_.scaled_codes(np.array([high, low * 0.5], np.float32)) is None
    assert format_.scaled_codes(np.array([high, high * (1 - 2.0 ** -(mantissa_bits + 2))], np.float32)) is None
    assert format_.scaled_codes(np.array([np.nan, 1], np.float32)) is None
    found = format_.scaled_codes(np.zeros(3, np.float32))
    assert found is not None
    assert not found[0].any()


def test_scales_that_cannot_take_a_power_of_two_leave_f32() -> None:
    """The largest scale would be infinite: the weights are expanded as they are."""
    codes = np.full((TERMS, CHANNELS), 448, ml_dtypes.float8_e4m3fn)
    codes[0] = 2.0**-9
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["real"], "dq", axis=1),
        helper.make_node("MatMul", ["x", "real"], ["y"], "fc"),
    ]
    x = np.eye(TERMS, dtype=np.float32)[:1]
    for power in (119, -140):
        scales = np.full(CHANNELS, np.ldexp(np.float32(1), power), np.float32)
        model = _model(nodes, [1, TERMS], [1, CHANNELS], {"w": codes, "s": scales})
        found = qmlir.compile(qmlir.load(model), codegen="llvm")({"x": x})["y"]
        np.testing.assert_array_equal(found[0], scales * np.float32(2.0**-9))
