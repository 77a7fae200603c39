"""If, Loop and Scan as `scf`: what ONNX Runtime computes, interpreted and compiled; what has no form is an island."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, parser
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.calibrators import calibrator_names
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from tests.support.sampled import sampled

RNG = np.random.default_rng(3)


def _model(text: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')


def _random(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def _with_constants(model: ModelProto, **arrays: Any) -> ModelProto:
    for name, array in arrays.items():
        model.graph.initializer.append(
            helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.tobytes(), True)
        )
    return model


def scan_cell(directions: str = "0, 0", axes: str = "0, 0") -> ModelProto:
    """A recurrent cell whose weights are around it, and its states walked a second time by a running sum."""
    model = _model(f"""
        net (float[6, 2, 4] x, float[2, 3] h0, float[2, 3] s0) => (float[2, 3] hn, float[2, 3] sn, hs, ss) {{
          ["scan"] hn, sn, hs, ss = Scan <num_scan_inputs = 2, scan_input_directions = [{directions}],
            scan_output_directions = [0, 1], scan_output_axes = [{axes}],
            body = cell (float[2, 3] h, float[2, 3] s, float[2, 4] one, float[2, 4] two) => (ha, sa, ho, so) {{
              a = MatMul (one, w)
              b = MatMul (h, r)
              c = Add (a, b)
              d = Add (c, bias)
              ha = Tanh (d)
              ho = Identity (ha)
              e = MatMul (two, w)
              sa = Add (s, e)
              so = Mul (sa, ha)
            }}> (h0, s0, x, x)
        }}""")
    return _with_constants(model, w=_random(4, 3), r=_random(3, 3), bias=_random(3))


LOOP = """
    net (float[2, 3] x) => (float[2, 3] y, float[5, 2, 3] all) <int64 five = {5}, bool yes = {1}> {
      ["loop"] y, all = Loop (five, yes, x) <
        body = step (int64 i, bool go, float[2, 3] v) => (bool goes, va, out) {
          goes = Identity (go)
          f = Cast <to = 1> (i)
          a = Mul (v, f)
          va = Sub (a, x)
          out = Abs (va)
        }>
    }"""

CHOICE = """
    net (float[2, 3] x, bool c) => (float[2, 3] y) {
      ["choice"] y = If (c) <
        then_branch = yes () => (t) { t = Exp (x) },
        else_branch = no () => (e) { a = Neg (x) e = Mul (a, a) }>
      }"""

UNTIL = """
    net (float[3] x, int64 most) => (float[3] y, int64 steps) <bool yes = {1}, int64 none = {0}, float limit = {20}> {
      ["until"] y, steps = Loop (most, yes, x, none) <
        body = step (int64 i, bool go, float[3] v, int64 n) => (bool goes, float[3] va, int64 na) <int64 one = {1}> {
          va = Add (v, v)
          s = ReduceSum <keepdims = 0> (va)
          goes = Less (s, limit)
          na = Add (n, one)
        }>
    }"""

COUNTED = """
    net (float[3] x, int64 most) => (float[3] y) <bool yes = {1}> {
      y = Loop (most, yes, x) <
        body = step (int64 i, bool go, float[3] v) => (bool goes, float[3] va) {
          goes = Identity (go)
          a = Add (v, v)
          va = Sub (a, x)
        }>
    }"""

BOTH = """
    net (float[1] x) => (float[1] y) <float limit = {20}, float[1] first = {3}> {
      all = ReduceSum <keepdims = 0> (x)
      begins = Less (all, limit)
      ["both"] y = Loop ("", begins, x) <
        body = step (int64 i, bool go, float[1] v) => (goes, float[1] va) {
          va = Add (v, v)
          s = ReduceSum <keepdims = 0> (va)
          low = Less (s, limit)
          high = Less (first, va)
          goes = If (low) <
            then_branch = yes () => (t) { t = Identity (high) },
            else_branch = no () => (e) { e = Identity (low) }>
        }>
    }"""

NESTED = """
    net (float[6, 2, 3] x, float[2, 3] h0) => (float[2, 3] y) <float zero = {0}> {
      ["nested"] y = Scan <num_scan_inputs = 1,
        body = cell (float[2, 3] h, float[2, 3] one) => (ha) {
          s = ReduceSum <keepdims = 0> (h)
          c = Less (s, zero)
          a = MatMul (one, w)
          b = If (c) <
            then_branch = yes () => (t) { m = MatMul (h, r) t = Add (a, m) },
            else_branch = no () => (e) { n = MatMul (h, r) e = Sub (a, n) }>
          ha = Tanh (b)
        }> (h0, x)
    }"""

MODELS: Mapping[str, tuple[ModelProto, Mapping[str, Any]]] = {
    "scan": (scan_cell(), {"x": _random(6, 2, 4), "h0": _random(2, 3), "s0": _random(2, 3)}),
    "scan_reversed": (scan_cell("0, 1", "1, -1"), {"x": _random(6, 2, 4), "h0": _random(2, 3), "s0": _random(2, 3)}),
    "loop": (_model(LOOP), {"x": _random(2, 3)}),
    "then": (_model(CHOICE), {"x": _random(2, 3), "c": np.array(True)}),
    "else": (_model(CHOICE), {"x": _random(2, 3), "c": np.array(False)}),
    "both": (_model(BOTH), {"x": np.float32([2])}),
    "nested": (
        _with_constants(_model(NESTED), w=_random(3, 3), r=_random(3, 3)),
        {"x": _random(6, 2, 3), "h0": 0.1 * _random(2, 3)},
    ),
    "counted": (_model(COUNTED), {"x": _random(3), "most": np.array(4)}),
    "until": (_model(UNTIL), {"x": np.float32([1, 2, 1]), "most": np.array(9)}),
    "until_most": (_model(UNTIL), {"x": np.float32([1, 2, 1]), "most": np.array(2)}),
    "until_none": (_model(UNTIL), {"x": np.float32([1, 2, 1]), "most": np.array(0)}),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_onnx_runtime_computes(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, inputs = MODELS[name]
    module = qmlir.load(model, fallback=False)
    assert not any(isinstance(op, OnnxIslandOp) for op in module.walk())
    found = qmlir.interpret(module, inputs)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for output, expected in zip(session.get_outputs(), session.run(None, inputs), strict=True):
        assert found[output.name].shape == expected.shape
        np.testing.assert_allclose(found[output.name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["scan_reversed", "loop", "then", "else", "counted", "until", "until_none"])
def test_compiled_bits_are_those_of_the_interpreter(name: str) -> None:
    model, inputs = MODELS[name]
    module = qmlir.load(model)
    program = qmlir.compile(module, codegen="llvm")
    for output, expected in qmlir.interpret(module, inputs).items():
        np.testing.assert_array_equal(program(inputs)[output], expected)


def _quantized(name: str, samples: int = 16, **settings: Any) -> tuple[ModuleOp, ModuleOp]:
    """The model and its quantized form, profiled on its inputs with noise."""
    model, inputs = MODELS[name]
    module = qmlir.load(model)
    noise = [1 + 0.1 * RNG.standard_normal() for _ in range(samples)]
    given = [
        {
            key: (value * scale).astype(value.dtype) if value.dtype == np.float32 else value
            for key, value in inputs.items()
        }
        for scale in noise
    ]
    return module, qmlir.quantize(module, given, **settings).module


@pytest.mark.parametrize("name", ["scan", "nested", "else"])
def test_quantized_inside(name: str) -> None:
    """Products have weights of 8 bits, a loop casts nothing, and compiled bits are those of the interpreter."""
    module, quantized = _quantized(name)
    inside = [
        op for op in quantized.walk() if op.parent_op() is not None and op.parent_op().name in ("scf.for", "scf.if")
    ]
    casts = [op for op in inside if isinstance(op, QuantizeCastOp | DequantizeCastOp)]
    assert name == "else" or not casts
    products = [op for op in inside if op.name == "nn.matmul"]
    assert all("!quant.uniform<i8<" in str(op.operands[1].type) for op in products)
    inputs = MODELS[name][1]
    found, program = qmlir.interpret(quantized, inputs), qmlir.compile(quantized, codegen="llvm")
    for output, expected in qmlir.interpret(module, inputs).items():
        np.testing.assert_array_equal(program(inputs)[output], found[output])
        error, signal = np.square(found[output] - expected).sum(), np.square(expected).sum()
        assert error < 0.01 * signal, (output, 10 * np.log10(signal / error))


SETTINGS: list[Mapping[str, Any]] = [
    *({"calibrator": name} for name in calibrator_names()),
    *({"effort": effort} for effort in (1, 2, 3)),
]


@pytest.mark.parametrize(("name", "setting"), sampled(["scan", "then", "both", "counted"], SETTINGS, strength=1))
def test_every_calibrator_and_effort(name: str, setting: Mapping[str, Any]) -> None:
    """A branch that no sample takes and a loop that begins with a constant have parameters too."""
    quantized, inputs = _quantized(name, 6, validate=False, **setting)[1], MODELS[name][1]
    assert not any("calib." in str(op.attributes) for op in quantized.walk())
    program = qmlir.compile(quantized, codegen="llvm")
    for output, expected in qmlir.interpret(quantized, inputs).items():
        np.testing.assert_array_equal(program(inputs)[output], expected)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "scan",
            marks=pytest.mark.skipif("vnni" not in host_isa(), reason="its tanh of floats is another one there"),
        ),
        "else",
        "until",
    ],
)
def test_exported_quantized(name: str) -> None:
    """What is written as If and Loop gives ONNX Runtime the same integers, and is imported as regions again."""
    pytest.importorskip("onnxruntime")
    quantized, inputs = _quantized(name)[1], MODELS[name][1]
    written = qmlir.export_onnx(quantized)
    theirs = OrtSession(written.SerializeToString(), OrtOptions(optimization="none"))(inputs)
    found, again = qmlir.interpret(quantized, inputs), qmlir.load(written)
    assert not any(isinstance(op, OnnxIslandOp) for op in again.walk())
    repeated = qmlir.interpret(again, inputs)
    for output, expected in theirs.items():
        np.testing.assert_array_equal(found[output], expected)
        np.testing.assert_array_equal(repeated[output], expected)


def test_statistics_are_of_all_steps() -> None:
    """A value inside of a loop is seen once in each step of each run."""
    model, inputs = MODELS["loop"]
    profile = qmlir.profile(qmlir.load(model), [inputs, inputs])
    assert profile.values["loop/a"].count == 2 * 5 * inputs["x"].size
    value, highest = inputs["x"], -np.inf
    for step in range(5):
        highest = max(highest, (value * step).max())
        value = value * step - inputs["x"]
    assert profile.values["loop/a"].maximum == pytest.approx(highest)


def test_what_has_no_form_says_why() -> None:
    """A state that grows stays an island, which is an error where none may be."""
    model = _model("""
        net (float[1, 3] x) => (float[n, 3] y) <int64 two = {2}, bool yes = {1}> {
          ["grows"] y = Loop (two, yes, x) <
            body = step (int64 i, bool go, v) => (bool goes, va) { goes = Identity (go) va = Concat <axis = 0> (v, v) }>
        }""")
    (island,) = (op for op in qmlir.load(model).walk() if isinstance(op, OnnxIslandOp))
    reason = (
        "Loop 'v' must keep its type across iterations, but changes from tensor<1x3xf32> to tensor<2x3xf32>: "
        "it runs as an ONNX island"
    )
    assert island.reason.data == reason
    with pytest.raises(
        DiagnosticError, match=r"'grows': 'v' must keep its type across iterations, .* the operator is unsupported"
    ):
        qmlir.load(model, fallback=False)


BRANCH = """
    net (float[2, 3] x, float[3, 2, 2] z, int64[2] reps, bool c) => (float[2, 3] y) <float three = {3}> {
      w = Mul (x, three)
      ["choice"] v = If (c) <
        then_branch = yes () => (t) { p = MatMul (w, m) t = Tanh (p) },
        else_branch = no () => (e) <int64[2] row = {1, 3}> {
          d = Det (z) r = Reshape (d, row) e = Tile (r, reps) }>
      y = Mul (v, v)
    }"""


def _branch() -> tuple[ModelProto, dict[str, Any]]:
    model = _with_constants(_model(BRANCH), m=_random(3, 3))
    return model, {"x": _random(2, 3), "z": _random(3, 2, 2), "reps": np.array([2, 1])}


@pytest.mark.parametrize("is_then", [True, False])
def test_a_branch_that_cannot_be_formed_is_an_island(is_then: bool, tmp_path: Path) -> None:
    """The other one is quantized and compiled; what comes out is what ONNX Runtime computes, the island's exactly."""
    runtime = pytest.importorskip("onnxruntime")
    model, inputs = _branch()
    inputs["c"] = np.array(is_then)
    module = qmlir.load(model)
    (island,) = (op for op in module.walk() if isinstance(op, OnnxIslandOp))
    assert isinstance(island.parent_op(), scf.IfOp)
    assert island.cause.startswith("If cannot form its else branch: ")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, inputs)
    np.testing.assert_allclose(qmlir.interpret(module, inputs)["y"], expected, rtol=1e-6)
    samples = [{**inputs, "c": np.array(each)} for each in (True, False)]
    quantized = qmlir.quantize(module, samples).module
    (product,) = (op for op in quantized.walk() if op.name == "nn.matmul")
    assert "!quant.uniform<i8" in str(product.operands[0].type)
    found, program = qmlir.interpret(quantized, inputs)["y"], qmlir.compile(quantized, codegen="llvm")
    error, signal = np.square(found - expected).sum(), np.square(expected).sum()
    assert error < 0.01 * signal
    targets = {step.target for step in program.steps}
    assert targets == {"cpu", "interpreter"}
    np.testing.assert_array_equal(program(inputs)["y"], found)
    program.save(tmp_path / "saved")
    np.testing.assert_array_equal(qmlir.load_program(tmp_path / "saved")(inputs)["y"], found)
    written = qmlir.export_onnx(quantized)
    exported = runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(exported.run(None, inputs)[0], found)
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(written), inputs)["y"], found)


def test_an_island_of_a_branch_has_the_types_of_the_other_branch() -> None:
    """A run that gives others is an error; where they are open, the whole If is an island."""
    model, inputs = _branch()
    program = qmlir.compile(qmlir.load(model), codegen="llvm")
    inputs |= {"c": np.array(False), "reps": np.array([1, 1])}
    with pytest.raises(DiagnosticError, match=r"tensor<2x3xf32> must have shape \[2, 3\], but got \[1, 3\]"):
        program(inputs)
    opened = qmlir.load(_with_constants(_model(BRANCH.replace("2, 3", "n, 3")), m=_random(3, 3)))
    (island,) = (op for op in opened.walk() if isinstance(op, OnnxIslandOp))
    assert not isinstance(island.parent_op(), scf.IfOp)
