"""Weight-only quantization: activations stay f32, and programs read the integers of the weights."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper
from safetensors.numpy import load_file

import qmlir
from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.recurrent.ops import LstmOp
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from tests.support.emitted import parsed

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _model(text: str, **constants: np.ndarray) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in constants.items())
    return model


LAYERS = "net (float[1, 64] x) => (float[1, 16] y) { h = MatMul (x, w) r = Relu (h) y = Gemm<transB = 1> (r, v, b) }"
X = {"x": _floats(1, 64)}


def _layers() -> onnx.ModelProto:
    return _model(LAYERS, w=_floats(64, 32), v=_floats(16, 32), b=_floats(16))


def _by_runtime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]


def _output(found: Any) -> np.ndarray:
    return np.asarray(next(iter(found.values())) if isinstance(found, dict) else found)


def _stored(module: Any, kind: type) -> list[tuple[np.ndarray, UniformQuantizedType]]:
    """The integers and types of the weights of operations of a kind."""
    casts = [op.operands[0 if kind is GatherOp else 1].owner for op in module.walk() if isinstance(op, kind)]
    assert all(isinstance(cast, DequantizeCastOp) for cast in casts)
    return [(cast.input.owner.array, element_of(cast.input)) for cast in casts]


def _rounded(rows: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of symmetric weights, one scale for each row, by hand; 8 bits have no -128."""
    low, high = (-127, 127) if bits == 8 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    scales = (2 * np.abs(rows).max(-1, keepdims=True).astype(np.float64) / (high - low)).astype(np.float32)
    return np.clip(np.rint(rows / scales), low, high), scales


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
def test_weights_by_channel_are_rounded_by_hand(bits: int) -> None:
    """No samples are needed, and none are asked for."""
    model = _layers()
    arrays = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    settings = {} if bits == 8 else {"weights": f"i{bits}"}
    quantized = qmlir.quantize(model, activations="f32", **settings)
    ((codes, type_),) = _stored(quantized.module, MatMulOp)
    wanted, scales = _rounded(arrays["w"].T, bits)
    assert np.array_equal(codes, wanted.T)
    assert np.array_equal(type_.scales, scales[:, 0])
    ((rows, _),) = _stored(quantized.module, FullyConnectedOp)
    assert np.array_equal(rows, _rounded(arrays["v"], bits)[0])
    assert "samples: not needed" in quantized.text()
    assert f"100.0% f32 x i{bits}" in quantized.text()


@pytest.mark.parametrize(("block", "inputs"), [(4, 64), (32, 64), (20, 100), (160, 320), (64, 64)])
@pytest.mark.parametrize("scheme", ["symmetric", "asymmetric"])
def test_ranges_of_blocks_have_the_least_error(
    block: int, inputs: int, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 17 ranges, from the whole one to 0.6 of it, or up to 7.5 / 7 if symmetric; small slabs choose the same."""
    monkeypatch.setattr("qmlir.quantization.types._JUDGED", 7 * block)
    monkeypatch.setattr("qmlir.quantization.types._AT_ONCE", 20)
    model = _model(LAYERS.replace("64", str(inputs)), w=_floats(inputs, 64), v=_floats(16, 64), b=_floats(16))
    array = numpy_helper.to_array(model.graph.initializer[0])
    settings: dict[str, Any] = {"weights": "i4", "granularity": f"block:{block}", "weight_scheme": scheme}
    ((_, type_),) = _stored(qmlir.quantize(model, activations="f32", **settings).module, MatMulOp)
    rows = array.T.reshape(-1, block).astype(np.float64)
    low, high = np.minimum(rows.min(1), 0), np.maximum(rows.max(1), 0)
    errors, scales = [], []
    more = np.linspace(1, 7.5 / 7, 4)[1:] if scheme == "symmetric" else []
    for fraction in (*np.linspace(1, 0.6, 17), *more):
        if scheme == "symmetric":
            step, point = np.maximum(-low, high) * fraction / 7.5, np.zeros(len(rows))
        else:
            step = (high - low) * fraction / 15
            point = np.clip(np.rint(-8 - low * fraction / step), -8, 7)
        scales.append(step.astype(np.float32).astype(np.float64))
        codes = np.clip(np.rint(rows / scales[-1][:, None]) + point[:, None], -8, 7)
        errors.append(np.square((codes - point[:, None]) * scales[-1][:, None] - rows).sum(1))
    best = np.array(scales)[np.argmin(errors, 0), np.arange(len(rows))]
    assert np.array_equal(type_.scales, best.reshape(64, -1).T)


@pytest.mark.parametrize(
    ("bits", "size", "inputs", "scheme", "factor"),
    [
        (6, 32, 512, "symmetric", 1.0),
        (4, 16, 512, "asymmetric", 1e-6),
        (8, 32, 128, "symmetric", 1e12),
        (6, 16, 64, "asymmetric", 1.0),
    ],
)
def test_two_levels_of_scales(bits: int, size: int, inputs: int, scheme: str, factor: float) -> None:
    """Scales are multiples of an f16 or bf16 number for each super-block: the better one of the two nearest."""
    array = np.float32(factor) * _floats(inputs, 32)
    array[:size, 0] = 0  # a block without a range
    model = _model(LAYERS.replace("64", str(inputs)), w=array, v=_floats(16, 32), b=_floats(16))

    def types(granularity: str) -> UniformQuantizedType:
        settings: dict[str, Any] = {"weights": "i4", "granularity": granularity, "weight_scheme": scheme}
        return _stored(qmlir.quantize(model, activations="f32", **settings).module, MatMulOp)[0][1]

    wanted, found = types(f"block:{size}"), types(f"block:{size}:k{bits}")
    run, most = min(256, inputs) // size, (1 << bits) - 1
    scales = np.where(array.reshape(-1, size, 32).any(1), wanted.scales, 0)
    steps = scales.reshape(-1, run, 32).max(1) / most
    held = np.float16 if factor == 1 else ml_dtypes.bfloat16
    steps = np.repeat(steps.astype(np.float32).astype(held).astype(np.float64), run, 0)
    rows, points = array.reshape(-1, size, 32).astype(np.float64), wanted.zero_points
    errors, tried = [], []
    for more in (0, 1):
        tried.append(steps * np.clip(np.floor(wanted.scales / steps) + more, 1, most))
        each, point = tried[-1][:, None], np.broadcast_to(points, steps.shape)[:, None]
        errors.append(np.square((np.clip(np.rint(rows / each) + point, -8, 7) - point) * each - rows).sum(1))
    np.testing.assert_array_equal(found.scales, np.where(errors[1] < errors[0], tried[1], tried[0]))
    np.testing.assert_array_equal(found.zero_points, points)


def test_a_block_that_shares_no_number_has_a_scale_of_16_bits() -> None:
    """The greatest common divisor of 3 blocks and the 4 of a super-block is 1."""
    array = _floats(192, 32)
    model = _model(LAYERS.replace("64", "192"), w=array, v=_floats(16, 32), b=_floats(16))
    types: list[UniformQuantizedType] = []
    for granularity in ("block:64", "block:64:k4"):
        quantized = qmlir.quantize(model, activations="f32", weights="i4", granularity=granularity)
        types.append(_stored(quantized.module, MatMulOp)[0][1])
    wanted, found = types
    np.testing.assert_array_equal(found.scales, wanted.scales.astype(np.float16).astype(np.float64))


@pytest.mark.parametrize("scheme", ["symmetric", "asymmetric"])
@pytest.mark.parametrize(
    ("weights", "granularity"), [("i8", "channel"), ("i4", "block:16"), ("i3", "block:8"), ("u2", "tensor")]
)
def test_a_program_computes_the_float_model_of_the_dequantized_weights(
    weights: str, granularity: str, scheme: str
) -> None:
    model = _layers()
    quantized = qmlir.quantize(model, activations="f32", weights=weights, granularity=granularity, weight_scheme=scheme)
    for name, kind in (("w", MatMulOp), ("v", FullyConnectedOp)):
        ((codes, type_),) = _stored(quantized.module, kind)
        scales, points = (np.asarray(each) for each in (type_.scales, type_.zero_points))
        if scales.ndim == 1 and scales.size > 1:
            scales, points = (each[None, :] if name == "w" else each[:, None] for each in (scales, points))
        for axis, size in enumerate(codes.shape):
            if scales.ndim == 2 and scales.shape[axis] not in (1, size):
                repeats = size // scales.shape[axis]
                scales, points = np.repeat(scales, repeats, axis), np.repeat(points, repeats, axis)
        real = (scales.astype(np.float32) * (codes.astype(np.int64) - points)).astype(np.float32)
        (tensor,) = (each for each in model.graph.initializer if each.name == name)
        tensor.CopyFrom(numpy_helper.from_array(real, name))
    wanted = _by_runtime(model, X)
    assert np.allclose(_output(qmlir.compile(quantized)(X)), wanted, rtol=1e-4, atol=1e-4)
    assert np.allclose(_output(qmlir.compile(quantized, codegen="llvm")(X)), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("scales", "sizes"), [("", (4, 4)), (":f16", (2, 2)), (":bf16", (2, 2)), (":k6", (1 + 2 / 2, 1 + 2 / 4))]
)
def test_a_row_reads_packed_weights(scales: str, sizes: tuple[float, float], tmp_path: Path) -> None:
    """Both spellings of a layer hold two weights in a byte, followed by scales, and no f32 weights.

    With two levels, a scale is a byte, and two or four blocks share two bytes.
    """
    quantized = qmlir.quantize(_layers(), activations="f32", weights="i4", granularity=f"block:16{scales}")
    qmlir.compile(quantized).save(tmp_path / "program")
    held = load_file(tmp_path / "program" / "constants.safetensors").values()
    weights = 16 * 32, 32 * 64
    assert sorted(each.size for each in held if each.dtype == np.int8) == [
        count // 2 + count // 16 * size for count, size in zip(weights, sizes, strict=True)
    ]
    assert sum(each.size for each in held if each.dtype == np.float32) == 16  # the bias


def test_a_transposed_gemm_and_a_convolution() -> None:
    model = _model(
        "net (float[1, 8, 5, 5] x) => (float[1, 6] y) { c = Conv (x, k) f = Flatten (c) y = Gemm (f, w, b) }",
        k=_floats(16, 8, 5, 5), w=_floats(16, 6), b=_floats(6),
    )  # fmt: skip
    feeds = {"x": _floats(1, 8, 5, 5)}
    quantized = qmlir.quantize(model, activations="f32")
    assert [type_.granularity.name for _, type_ in _stored(quantized.module, ConvOp)] == ["AXIS"]
    assert [type_.bits for _, type_ in _stored(quantized.module, FullyConnectedOp)] == [8]
    wanted = _by_runtime(model, feeds)
    assert np.corrcoef(np.ravel(_output(qmlir.compile(quantized)(feeds))), np.ravel(wanted))[0, 1] > 0.999


def test_a_gemm_without_transpose_has_the_weights_that_were_asked_for() -> None:
    """Also if activations are integers."""
    model = _model("net (float[1, 64] x) => (float[1, 32] y) { y = Gemm (x, w, b) }", w=_floats(64, 32), b=_floats(32))
    quantized = qmlir.quantize(model, X, weights="i4", validate=False)
    (layer,) = (op for op in quantized.module.walk() if isinstance(op, FullyConnectedOp))
    assert element_of(layer.weight).bits == 4
    assert element_of(layer.weight).scales.size == 32


@pytest.mark.parametrize("length", ["n", 200])
def test_a_long_recurrent_layer_keeps_whole(length: int | str) -> None:
    model = _model(
        f"net (float[{length}, 1, 8] x) => (float[{length}, 1, 1, 8] y) {{ y = LSTM<hidden_size = 8> (x, w, r) }}",
        w=_floats(1, 32, 8), r=_floats(1, 32, 8),
    )  # fmt: skip
    quantized = qmlir.quantize(model, activations="f32", weights="i4")
    ((codes, type_),) = _stored(quantized.module, LstmOp)
    wanted, scales = _rounded(numpy_helper.to_array(model.graph.initializer[0])[0], 4)
    assert np.array_equal(codes[0], wanted)
    assert np.array_equal(type_.scales, scales[:, 0])


EMBEDDING = "net (int64[4] ids) => (float[4, 8] y) { e = Gather (table, ids) y = MatMul (e, w) }"


def test_a_table_and_its_summary() -> None:
    model = _model(EMBEDDING, table=_floats(512, 32), w=_floats(32, 8))
    quantized = qmlir.quantize(model, activations="f32", recipe=[{"embedding": True, "storage": "i4"}])
    ((codes, type_),) = _stored(quantized.module, GatherOp)
    wanted, scales = _rounded(numpy_helper.to_array(model.graph.initializer[0]), 4)
    assert np.array_equal(codes, wanted)
    assert np.array_equal(type_.scales, scales[:, 0])
    assert "embedding table: 512x32 in 4 bits with a scale for each row" in quantized.text()


@pytest.mark.parametrize("codegen", ["numba", "llvm"])
@pytest.mark.parametrize(
    ("kind", "block", "dtype"),
    [("UINT8", 0, "f4"), ("INT8", 0, "f2"), ("UINT4", 0, "f4"), ("INT4", 32, "f4"), ("UINT4", 32, "f2")],
)
def test_bags_of_a_foreign_table(kind: str, block: int, dtype: str, codegen: str, tmp_path: Path) -> None:
    """A program holds the integers and parameters of the table; its rows are those of ONNX Runtime, bit for bit."""
    rows, width, bits = 1000, 128, int(kind[-1])
    low = 0 if kind[0] == "U" else -(1 << (bits - 1))
    shape = (rows, width // block) if block else (rows,)
    codes, points = (RNG.integers(low, low + (1 << bits), each) for each in ((rows, width), shape))
    scales = RNG.uniform(0.01, 0.1, shape).astype(dtype)
    layout = f"axis = 1, block_size = {block}" if block else "axis = 0"
    element = "float" if dtype == "f4" else "float16"
    model = _model(
        f"net (int64[4, 5] ids) => ({element}[4, 5, {width}] e, {element}[4, {width}] y) {{ "
        f"t = DequantizeLinear<{layout}> (q, s, z) e = Gather (t, ids) y = ReduceSum<keepdims = 0> (e, axes) }}",
        s=scales, axes=np.array([1]),
    )  # fmt: skip
    for name, array in (("q", codes), ("z", points)):
        data_type = onnx.TensorProto.DataType.Value(kind)
        model.graph.initializer.append(onnx.helper.make_tensor(name, data_type, array.shape, array.ravel().tolist()))
    feeds = {"ids": RNG.integers(-rows, rows, (4, 5))}
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    program = qmlir.compile(model, codegen=codegen)
    taken, sums = program(feeds).values()
    assert np.array_equal(np.reshape(taken, wanted[0].shape), wanted[0])
    assert np.allclose(np.reshape(sums, wanted[1].shape), wanted[1], rtol=2e-3, atol=2e-3)
    program.save(tmp_path / "program")
    stored = codes.size * bits // 8 + scales.nbytes + points.size * bits // 8
    assert (
        sum(each.nbytes for each in load_file(tmp_path / "program" / "constants.safetensors").values()) <= 1.05 * stored
    )


def test_a_rule_for_a_part_of_the_model() -> None:
    """The rest has integers, for which samples are needed; the part isn't fused with the casts around it."""
    model = _model(
        "net (float[2, 16] x) => (float[2, 16] y) { h = MatMul (x, w) r = Relu (h) i = MatMul (r, v) s = Relu (i) "
        "y = MatMul (s, w) }",
        w=_floats(16, 16), v=_floats(16, 16),
    )  # fmt: skip
    recipe = [{"node": "i", "storage": "f32", "slot": "input"}]
    model.graph.node[2].name = "i"
    data = {"x": _floats(64, 2, 16)[0]}
    module = qmlir.quantize(model, data, validate=False, recipe=recipe).module
    products = [op for op in module.walk() if isinstance(op, MatMulOp | FullyConnectedOp)]
    are_float = [isinstance(op.operands[1].owner, DequantizeCastOp) for op in products]
    assert are_float == [False, True, False]
    with pytest.raises(DiagnosticError, match="no calibration data"):
        qmlir.quantize(model, recipe=recipe)


@pytest.mark.parametrize(("scales", "dtype"), [("", np.float32), (":f16", np.float16), (":bf16", ml_dtypes.bfloat16)])
def test_samples_choose_codes(scales: str, dtype: type) -> None:
    """GPTQ uses samples to lower the error of the layers; scales are rounded before it sees them."""
    mix = _floats(64, 64)
    model = _model(LAYERS.replace("[1,", "[n,"), w=_floats(64, 32), v=_floats(16, 32), b=_floats(16))
    data = {"x": _floats(256, 64) @ mix}
    wanted = _by_runtime(model, data)

    def error(effort: int) -> float:
        settings: dict[str, Any] = {"activations": "f32", "weights": "i3", "granularity": f"block:16{scales}"}
        module = qmlir.quantize(model, data, effort=effort, validate=False, **settings)
        for kind in (MatMulOp, FullyConnectedOp):
            for _, type_ in _stored(module.module, kind):
                np.testing.assert_array_equal(type_.scales, type_.scales.astype(dtype).astype(np.float64))
        return float(np.square(_output(qmlir.interpret(module, data)) - wanted).mean())

    assert error(2) < 0.6 * error(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"activations": "f32", "granularity": "block:32:k6", "weight_scheme": "symmetric_pow2"},
            "granularity 'block:32:k6' does not support scheme 'symmetric_pow2'",
        ),
        ({"activations": "f16"}, "activations in f16 are not supported.*use f32"),
        (
            {"activations": "f32", "weights": "f32"},
            "storage f32 is only for slots 'input' and 'output'.*quantize = fal",
        ),
        ({"activations": "f32", "assert_all_quantized": True}, "assert_all_quantized contradicts activations=f32"),
        ({"recipe": [{"slot": "bias", "storage": "f32"}]}, "storage f32 is only for slots 'input' and 'output'"),
    ],
)
def test_settings_that_contradict(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(_layers(), X, **settings)


def _said(model: onnx.ModelProto, *data: Any, **settings: Any) -> list[str]:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        qmlir.quantize(model, *data, validate=False, **settings)
    return [each.message for each in said if "no effect" in each.message or "change no type" in each.message]


def test_settings_without_an_effect() -> None:
    assert _said(_layers(), activations="f32", calibrator="mse", scheme="symmetric") == [
        "'scheme', 'calibrator' have no effect: all activations are f32; help: omit scheme, calibrator"
    ]
    assert _said(_layers(), activations="f32", weights="i4") == []


@pytest.mark.parametrize(
    ("rule", "is_idle"),
    [
        ({"op": "matmul", "slot": "output", "storage": "i8"}, True),
        ({"op": "matmul", "slot": "output", "storage": "i16"}, False),
        ({"op": "matmul", "slot": "weight", "granularity": "channel"}, True),
        ({"op": "matmul", "slot": "weight", "granularity": "tensor"}, False),
        ({"op": "matmul", "quantize": True}, True),
        ({"op": "matmul", "quantize": False}, False),
        ({"op": "matmul", "slot": "input", "storage": "f32"}, False),
    ],
)
def test_a_rule_that_changes_no_type_is_a_warning(rule: dict[str, Any], is_idle: bool) -> None:
    """8 bits, with one weight scale per channel, are the default."""
    model = _model("net (float[1, 64] x) => (float[1, 32] y) { h = MatMul (x, w) y = Softmax (h) }", w=_floats(64, 32))
    said = _said(model, X, recipe=[rule])
    assert len(said) == is_idle
    assert all("match, but change no type" in each for each in said)


def _operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize(
    ("weights", "granularity"), [("i8", "channel"), ("i4", "block:32"), ("u4", "block:16"), ("i2", "block:16")]
)
def test_matmul_n_bits_holds_the_integers_and_imports_alike(weights: str, granularity: str) -> None:
    """ONNX Runtime computes the same floats; importing and exporting again changes no byte of the weights."""
    quantized = qmlir.quantize(_layers(), activations="f32", weights=weights, granularity=granularity)
    model = qmlir.export_onnx(quantized, format="qoperator")
    assert _operators(model) == ["MatMulNBits", "Relu", "MatMulNBits"]
    assert np.allclose(_by_runtime(model, X), _output(qmlir.interpret(quantized, X)), rtol=1e-4, atol=1e-4)
    imported = qmlir.load(model)
    bits = int(weights[1])
    middle = 1 << (bits - 1) if weights[0] == "i" else 0
    (given, _), (taken, _) = _stored(quantized.module, MatMulOp)[0], _stored(imported, MatMulOp)[0]
    assert np.array_equal(given.T.astype(np.int64) + middle, taken)
    again = qmlir.export_onnx(imported, format="qoperator")
    held = [sorted(bytes(each.raw_data) for each in made.graph.initializer) for made in (model, again)]
    assert held[0] == held[1]


@pytest.mark.parametrize(("exact", "hidden"), [(None, ["Reshape"]), (False, [])])
def test_casts_of_weights_are_blocks_of_dequantize_linear(exact: bool | None, hidden: list[str]) -> None:
    """Unless a Reshape hides it, ONNX Runtime rounds the activations of such a matmul to 8 bits."""
    quantized = qmlir.quantize(_layers(), activations="f32", weights="i4", granularity="block:32")
    model = qmlir.export_onnx(quantized, exact=exact)
    expected = ["DequantizeLinear", *hidden, "MatMul", "Relu", "DequantizeLinear", *hidden, "Gemm"]
    assert _operators(model) == expected
    blocks = [each.i for node in model.graph.node for each in node.attribute if each.name == "block_size"]
    assert blocks == [32, 32]
    if exact is None:
        assert np.allclose(_by_runtime(model, X), _output(qmlir.interpret(quantized, X)), rtol=1e-4, atol=1e-4)
    imported = qmlir.load(model)
    for kind in (MatMulOp, FullyConnectedOp):
        ((given, given_type),), ((taken, taken_type),) = (_stored(each, kind) for each in (quantized.module, imported))
        assert np.array_equal(given, taken)
        assert given_type == taken_type


def test_weights_that_matmul_n_bits_does_not_hold() -> None:
    """3 bits, and blocks below 16, stay DequantizeLinear."""
    for settings in ({"weights": "i3"}, {"weights": "i4", "granularity": "block:8"}):
        model = qmlir.export_onnx(qmlir.quantize(_layers(), activations="f32", **settings), format="qoperator")
        assert "MatMulNBits" not in _operators(model)
        assert _by_runtime(model, X).shape == (1, 16)


@pytest.mark.parametrize("storage", ["f32", "dynamic"])
def test_a_rule_without_slot_is_for_data(storage: str) -> None:
    """Weights stay integers: the rule is the same as one for slot 'input'."""
    one, other = ({"origin": "*", "storage": storage, **slot} for slot in ({}, {"slot": "input"}))
    layers = _layers()
    models = [qmlir.quantize(layers, recipe={"rule": [rule]}, validate=False) for rule in (one, other)]
    assert str(models[0].module) == str(models[1].module)
    assert "quant.dcast" in str(models[0].module) or "nn.dynamic_quantize" in str(models[0].module)


@pytest.mark.parametrize("activations", ["f32", "dynamic"])
def test_accumulators_of_no_recorded_range_are_not_proven(activations: str) -> None:
    made = qmlir.quantize(_layers(), activations=activations, accumulator_bits=24, validate=False)
    assert "accumulators hold every sum" not in str(made)


@pytest.mark.parametrize(
    ("layout", "scales", "is_held"),
    [
        ("0", np.resize([0.125, 0.25, 0.5, 1.0], (32, 1)), False),
        ("1", np.resize([0.125, 0.25, 0.5, 1.0], (1, 4)), True),
        ("{1:1}", np.resize([0.125, 0.25, 0.5, 1.0], (1, 4)), True),
    ],
)
def test_matmul_n_bits_has_no_scales_within_a_block(layout: str, scales: np.ndarray, is_held: bool) -> None:
    codes, x = np.arange(128).reshape(32, 4) - 64, _floats(1, 32)
    listed = (scales if ":" in layout else scales.reshape(-1)).tolist()
    element = f"!quant.uniform<i8:f32:{layout}, {listed}>".replace("[", "{").replace("]", "}")
    module = parsed(f"""func.func @main(%x: tensor<1x32xf32> {{nn.name = "x"}}) -> tensor<1x4xf32> {{
      %0 = nn.constant dense<{codes.tolist()}> : tensor<32x4xi8> -> tensor<32x4x{element}>
      %1 = quant.dcast %0 : tensor<32x4x{element}> to tensor<32x4xf32>
      %2 = nn.matmul %x, %1 : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
      func.return %2 : tensor<1x4xf32>
    }}""")
    model = qmlir.export_onnx(module, format="qoperator")
    assert ("MatMulNBits" in _operators(model)) == is_held
    assert np.allclose(_by_runtime(model, {"x": x}), x @ (codes * scales).astype(np.float32), rtol=1e-4, atol=1e-4)
