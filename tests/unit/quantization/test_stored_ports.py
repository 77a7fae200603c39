"""Models that take and return stored integers: the same numbers as with floats, in every engine and in ONNX Runtime."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, differing_bits, run_c
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.pipelines import QuantizeOptions
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.workflows.calibrated import Calibrated, stages_of
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.validating import References
from tests.support.commands import run_command

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(0)
SAMPLES = RANDOM.uniform(-1, 3, (24, 2, 6, 6)).astype(np.float32)
SAMPLES[0].flat[:2] = -1, 3
"""The range is exactly that of 255 steps of 4 / 255, whose zero point is 63.75 from the lowest."""


def _model(batch: str = "1") -> ModelProto:
    model = parser.parse_model(f"""
    <ir_version: 8, opset_import: ["": 17]>
    net (float[{batch},2,6,6] x) => (float[{batch},5] y) {{
      a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w0, b0)
      b = Relu(a)
      c = Flatten(b)
      y = Gemm<transB = 1>(c, w1, b1)
    }}""")
    for name, shape in (("w0", (4, 2, 3, 3)), ("b0", (4,)), ("w1", (5, 36)), ("b1", (5,))):
        values = np.random.default_rng(len(name + str(shape))).normal(0, 1, shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


def _quantized(**settings: Any) -> Quantized:
    return qmlir.quantize(_model(), SAMPLES, validate=False, **settings)


def _port(quantized: Quantized, name: str) -> dict[str, Any]:
    return next(each for each in quantized.summary().to_dict()["ports"] if each["name"] == name)


def _dtype(type_: str) -> np.dtype[Any]:
    return np.dtype(type_.replace("u", "uint") if type_[0] == "u" else type_.replace("i", "int"))


def _stored(values: Array, port: dict[str, Any]) -> Array:
    """The documented rounding, by NumPy: true division in f32, ties to even, then the zero point, saturated."""
    dtype = _dtype(port["type"])
    ends = np.iinfo(dtype)
    quotients = np.rint(values / np.float32(port["scale"])).astype(np.float64)
    return np.clip(quotients + port["zero_point"], ends.min, ends.max).astype(dtype)


def test_types_of_the_summary() -> None:
    """Scale and zero point of 8 and 16 bits by hand, for a range from -1 to 3."""
    quantized = _quantized(inputs_as="u8")
    assert _port(quantized, "x") == {
        "side": "input", "name": "x", "type": "u8", "scale": float(np.float32(4 / 255)), "zero_point": 64,
    }  # fmt: skip
    wide = _quantized(inputs_as="i16")
    assert _port(wide, "x")["scale"] == float(np.float32(4 / 65535))
    assert _port(wide, "x")["zero_point"] == -32768 + 16384
    assert "input x: u8, scale 0.0156862754, zero point 64\n" in str(quantized)


def _with_casts(quantized: Quantized) -> ModuleOp:
    """The same decisions with float ports: the stage `store`, which removes the casts at both ends, is left out."""
    source, options = quantized.source, QuantizeOptions.of(quantized.settings, quantized.source)
    lowered = source.clone()
    stages_of(options, source)(lowered, "target", "lower")
    return Calibrated(source, lowered, quantized.profile, References(source)).attempt(options).module


PAIRS = [("i8", "i8"), ("u8", "u8"), ("u8", "i16"), ("i16", "f32"), ("f32", "i8"), ("u16", "u16")]


@pytest.mark.parametrize(("takes", "gives"), PAIRS)
def test_integers_are_those_between_casts(takes: str, gives: str) -> None:
    quantized = _quantized(inputs_as=takes, outputs_as=gives)
    x = RANDOM.uniform(-1.5, 3.5, (1, 2, 6, 6)).astype(np.float32)
    given = x if takes == "f32" else _stored(x, _port(quantized, "x"))
    found, wanted = qmlir.interpret(quantized, [given])["y"], qmlir.interpret(_with_casts(quantized), [x])["y"]
    assert wanted.dtype == np.float32
    if gives == "f32":
        assert np.array_equal(found, wanted)
        return
    port = _port(quantized, "y")
    assert found.dtype == _dtype(gives)
    real = np.float32(port["scale"]) * (found.astype(np.int64) - port["zero_point"]).astype(np.float32)
    assert np.array_equal(real, wanted)


@pytest.fixture(scope="module")
def bytes_to_bytes() -> Quantized:
    return _quantized(inputs_as="u8", outputs_as="i8")


def _pixels(count: int = 1) -> list[Array]:
    return [RANDOM.integers(0, 256, (1, 2, 6, 6), dtype=np.uint8) for _ in range(count)]


def test_every_engine(bytes_to_bytes: Quantized, tmp_path: Path) -> None:
    (x,) = _pixels()
    wanted = qmlir.interpret(bytes_to_bytes, {"x": x})
    assert wanted["y"].dtype == np.int8
    assert len(np.unique(wanted["y"])) > 3
    for codegen in ("numba", "llvm"):
        program = qmlir.compile(bytes_to_bytes, codegen=codegen)
        assert np.array_equal(program({"x": x})["y"], wanted["y"])
    build = next(each for each in BUILDS if each.name == "gcc -O2")
    if build.is_installed():
        ended, found = run_c(qmlir.emit(bytes_to_bytes), build, {"x": x}, wanted, tmp_path)
        assert ended == 0
        assert differing_bits(wanted, found) == 0


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
@pytest.mark.parametrize("format", ["qdq", "qoperator", "integer"])
def test_onnx_runtime_takes_and_gives_the_integers(bytes_to_bytes: Quantized, format: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    qmlir.export_onnx(bytes_to_bytes, path, format=format)
    model = onnx.load(path)
    (takes,), (gives,) = model.graph.input, model.graph.output
    assert (takes.type.tensor_type.elem_type, gives.type.tensor_type.elem_type) == (TensorProto.UINT8, TensorProto.INT8)
    first = next(node for node in model.graph.node if "x" in node.input)
    assert format != "qdq" or first.op_type == "DequantizeLinear"
    session = OrtSession(model.SerializeToString(), OrtOptions())
    for x in _pixels(4):
        assert np.array_equal(session({"x": x})["y"], qmlir.interpret(bytes_to_bytes, {"x": x})["y"])


def test_a_program_says_how_to_quantize_floats(bytes_to_bytes: Quantized) -> None:
    """The expression of the message, evaluated, gives the integers of the formula."""
    x = RANDOM.uniform(-2, 4, (1, 2, 6, 6)).astype(np.float32)
    program = qmlir.compile(bytes_to_bytes, codegen="llvm")
    with pytest.raises(ValueError, match=r"'x' must be uint8, but got float32; help: pass np\.clip") as caught:
        program({"x": x})
    expression = str(caught.value).partition("help: pass ")[2].partition(" (scale 0.0156862754, zero point 64)")[0]
    made = eval(expression, {"np": np, "x": x})
    assert made.dtype == np.uint8
    assert np.array_equal(made, _stored(x, _port(bytes_to_bytes, "x")))
    with pytest.raises(
        DiagnosticError, match=r"must be uint8, but got float32; .* \(scale 0.0156862754, zero point 64\)"
    ):
        qmlir.interpret(bytes_to_bytes, {"x": x})
    assert "takes x: 1x2x6x6 ui8, scale 0.0156862754, zero point 64" in repr(program)


def test_the_header_and_the_manifest(bytes_to_bytes: Quantized) -> None:
    emitted = qmlir.emit(bytes_to_bytes, name="net")
    header, y = str(emitted.files["net.h"]), _port(bytes_to_bytes, "y")
    assert "#define NET_X_SCALE (0.0156862754f)\n#define NET_X_ZERO_POINT (64)\n" in header
    assert f"#define NET_Y_SCALE ({y['scale']:.9g}f)\n#define NET_Y_ZERO_POINT ({y['zero_point']})\n" in header
    manifest = json.loads(str(emitted.files["net.json"]))
    assert (manifest["inputs"][0]["scale"], manifest["inputs"][0]["zero_point"]) == (float(np.float32(4 / 255)), 64)
    assert manifest["outputs"][0]["scale"] == y["scale"]
    floats = json.loads(str(qmlir.emit(_quantized(), name="net").files["net.json"]))
    assert "scale" not in floats["inputs"][0]


def _saved(tmp_path: Path) -> tuple[Path, Path]:
    onnx.save(_model("N"), tmp_path / "net.onnx")
    np.savez(tmp_path / "samples.npz", x=SAMPLES)
    return tmp_path / "net.onnx", tmp_path / "samples.npz"


def _command(*words: str | Path) -> str:
    done = run_command(["qmlir", *map(str, words)], "")
    assert done.code == 0, done.stderr
    return done.stdout


def test_commands_convert_floats(tmp_path: Path) -> None:
    """`run` gives floats for floats and integers for integers; `compare` reads the floats that calibrate."""
    model, data = _saved(tmp_path)
    out, program = tmp_path / "out", tmp_path / "program"
    said = _command("quantize", model, "--data", data, "--inputs-as", "x=u8", "--outputs-as", "i8", "-o", out)
    assert "input x: u8, scale 0.0156862754, zero point 64\n" in said
    assert "# --inputs-as x=u8\n# --outputs-as i8\n" in (out / "recipe.toml").read_text()
    port = {each["name"]: each for each in json.loads((out / "summary.json").read_text())["ports"]}
    x = SAMPLES[:1]
    np.savez(tmp_path / "floats.npz", x=x)
    np.savez(tmp_path / "integers.npz", x=_stored(x, port["x"]))
    _command("compile", out, "--shape", "x=1x2x6x6", "--codegen", "llvm", "-o", program)
    for of in (out, program):
        for given in ("floats", "integers"):
            _command("run", of, "--input", tmp_path / f"{given}.npz", "-o", tmp_path / f"{given}_out.npz")
        floats, integers = (np.load(tmp_path / f"{given}_out.npz")["y"] for given in ("floats", "integers"))
        assert integers.dtype == np.int8
        assert floats.dtype == np.float32
        real = np.float32(port["y"]["scale"]) * (integers.astype(np.int32) - port["y"]["zero_point"]).astype(np.float32)
        assert np.array_equal(floats, real)
        figures = json.loads(_command("compare", model, of, "--data", data, "--samples", "8", "--json"))
        assert figures["outputs"][0]["sqnr_db"] > 25
    assert "output y: inf dB" in _command("compare", out, program, "--data", data, "--samples", "8")
    found = qmlir.compare(qmlir.load(out), qmlir.compile(qmlir.load(out), codegen="llvm"), SAMPLES, samples=2)
    assert found.outputs[0].max_error == 0
    assert "output y: inf dB" in _command("compare", out, f"compiled:{out}", "--data", data, "--samples", "2")
    assert "u8" in _command("explain", out, "x")


def test_states_with_a_chosen_type() -> None:
    """A type of all inputs leaves states as they are; by its name, a state and the output that feeds it get a type."""
    cell = """<ir_version: 10, opset_import: ["": 21]>
    cell (float[1,2] x, float[1,2] h) => (float[1,2] next) { a = Add(x, h) next = Mul(a, h) }"""
    samples = [{"x": np.array([[0, 2]], np.float32), "h": np.array([[0, 2]], np.float32)}]
    for inputs, wanted in (("u8", ["u8", "i16", "i16"]), ({"h": "u16"}, ["u16", "u16"])):
        quantized = qmlir.quantize(
            parser.parse_model(cell), samples, states={"h": "next"}, inputs_as=inputs, validate=False
        )
        assert [each["type"] for each in quantized.summary().to_dict()["ports"]] == wanted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"inputs_as": "i4"},
            "inputs_as must be one of u8, i8, i16, u16, f32, or NAME=TYPE with one of them, but got 'i4'",
        ),
        ({"inputs_as": 8}, "inputs_as must be a type, or types by the names of inputs, but got 8"),
        ({"inputs_as": {"z": "u8"}}, "no input 'z' (available: x)"),
        ({"outputs_as": "y=i8", "exclude": ["Gemm"]}, "(a rule of the recipe excludes it); help: keep it in float"),
    ],
)
def test_messages(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        _quantized(**settings)
    assert message in str(caught.value)


def _normalizing(mean: float | None, deviation: float | None) -> ModelProto:
    """A convolution, after a normalization of pixels if a mean and a deviation are given."""
    start = "u = Div(x, byte)\n n = Sub(u, mean)\n a = Div(n, deviation)" if mean is not None else "a = Identity(x)"
    model = parser.parse_model(f"""
    <ir_version: 8, opset_import: ["": 17]>
    net (float[1,1,16,16] x) => (float[1,3,14,14] y) {{
      {start}
      y = Conv(a, w)
    }}""")
    values = {"byte": 255, "mean": mean, "deviation": deviation} if mean is not None else {}
    for name, value in values.items():
        model.graph.initializer.append(numpy_helper.from_array(np.float32(value), name))
    weights = np.random.default_rng(0).normal(0, 1, (3, 1, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


PIXELS = np.stack([np.random.default_rng(seed).permutation(256).reshape(1, 16, 16) for seed in range(16)])


@pytest.mark.parametrize(("mean", "deviation"), [(0.485, 0.229), (0.5, 0.5), (0.1307, 0.3081), (0.0, 1.0)])
def test_pixels_are_stored_integers_of_normalized_images(mean: float, deviation: float) -> None:
    """Each stands for its normalized value with an error of at most half a step, as quantized floats do."""
    samples = ((PIXELS / np.float32(255) - np.float32(mean)) / np.float32(deviation)).astype(np.float32)
    port = _port(qmlir.quantize(_normalizing(None, None), samples, inputs_as="u8", validate=False), "x")
    assert port["scale"] == pytest.approx(1 / (255 * deviation), rel=1e-6)
    real = port["scale"] * (PIXELS - port["zero_point"])
    assert np.abs(real - samples).max() <= port["scale"] * 0.50001  # samples are rounded to f32
    if (255 * mean) % 1 != 0.5:  # no value is a tie
        assert port["zero_point"] == round(255 * mean)
        assert np.array_equal(_stored(samples, port), PIXELS)


def test_a_normalization_in_the_model() -> None:
    """It computes on integers: pixels are stored as they are, and its three operations lose less than a step in all."""
    samples, model = PIXELS.astype(np.float32), _normalizing(0.485, 0.229)
    quantized = qmlir.quantize(model, samples, inputs_as="u8", validate=False)
    port = _port(quantized, "x")
    assert (port["type"], port["scale"], port["zero_point"]) == ("u8", 1.0, 0)
    assert quantized.coverage.quantized_operations == quantized.coverage.operations
    found = qmlir.interpret(quantized, {"x": PIXELS[:1].astype(np.uint8)})["y"]
    wanted = qmlir.interpret(qmlir.load(model), {"x": samples[:1]})["y"]
    assert 10 * np.log10(np.square(wanted).sum() / np.square(wanted - found).sum()) > 30


def test_samples_that_do_not_reach_every_pixel() -> None:
    diagnostics = list[Diagnostic]()
    with diagnostic_handler(diagnostics.append):
        quantized = qmlir.quantize(
            _normalizing(None, None), PIXELS.clip(0, 250).astype(np.float32), inputs_as="u8", validate=False
        )
    assert _port(quantized, "x")["scale"] == float(np.float32(250 / 255))
    said = "input 'x' reaches 250 in the calibration samples, so its scale is 0.9804, and pixels from 0 to 255"
    assert any(each.severity is Severity.REMARK and said in each.message for each in diagnostics)


def test_parameters_of_a_rule_have_the_storage_of_the_port() -> None:
    quantized = _quantized(inputs_as="u8", recipe={"rule": [{"values": ["x"], "range": [-2.0, 2.0]}]})
    x = _port(quantized, "x")
    assert (x["type"], x["scale"], x["zero_point"]) == ("u8", float(np.float32(4 / 255)), 128)


@pytest.mark.parametrize("zero_point", [0, 200])
def test_parameters_of_a_rule_without_samples_have_the_storage_of_the_port(zero_point: int) -> None:
    """`i8`, the default storage, does not hold 200; and its range with zero point 0 is another one."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[1,4] x) => (float[1,4] y) { y = Relu(x) }""")
    rules = [{"values": ["x"], "scale": 0.5, "zero_point": zero_point}, {"values": ["y"], "range": [0.0, 20.0]}]
    diagnostics = list[Diagnostic]()
    with diagnostic_handler(diagnostics.append):
        quantized = qmlir.quantize(model, validate=False, inputs_as="u8", recipe={"rule": rules})
    x = _port(quantized, "x")
    assert (x["type"], x["scale"], x["zero_point"]) == ("u8", 0.5, zero_point)
    assert not [each.message for each in diagnostics if each.severity is Severity.WARNING]


@pytest.mark.parametrize(("entries", "subject"), [(["u8", "i8"], "all inputs"), (["x=u8", "x=i8"], "input 'x'")])
def test_several_types_of_a_port_are_an_error(entries: list[str], subject: str) -> None:
    with pytest.raises(DiagnosticError, match=f"inputs_as names several types for {subject}; help: pass one type"):
        _quantized(inputs_as=entries)
