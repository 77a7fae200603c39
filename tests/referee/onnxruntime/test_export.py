"""What is exported gives the same integers in ONNX Runtime, in every form: random graphs, and trained classifiers."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, Digits
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from tests.levels.generator import Case, case_of
from tests.referee.onnxruntime.exported import EXACT, FORMS, check_exported
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime
from tests.support.sampled import seeds

pytestmark = needs_onnxruntime

SESSIONS = (EXACT, OrtOptions(), OrtOptions(is_exact=True))
"""As the model says it; with all optimizations, as users run it: Q/DQ become QLinear operators; exact everywhere."""

BY_DEFAULT: dict[str, Any] = {"format": "qdq"}
"""Global means stand between casts, which a session without optimizations computes in floats, and rounds near ties."""

SETTINGS: tuple[dict[str, Any], ...] = (BY_DEFAULT, *FORMS, {"format": "integer", "functions": True})

BATCH = 10
"""Random graphs in one test."""

needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")


@cache
def graph(seed: int) -> Case:
    return case_of(seed)


@pytest.mark.parametrize("part", seeds(4, 11))
def test_random_graphs(part: int) -> None:
    """In every form and every session, but for what only optimizations make of integers."""
    for seed in range(BATCH * part, BATCH * (part + 1)):
        case = graph(seed)
        for settings in SETTINGS:
            sessions = [each for each in SESSIONS if settings != BY_DEFAULT or each != EXACT]
            check_exported(case.module, case.inputs, *sessions, **settings)


@cache
def digits(name: str) -> Digits:
    return Digits.of(name)


@cache
def quantized(name: str, granularity: str) -> ModuleOp:
    return digits(name).quantized(granularity=granularity, calibrator="min_max")


@needs_models
@pytest.mark.parametrize("granularity", ["tensor", "channel"])
@pytest.mark.parametrize("name", ["digits_mlp", "digits_cnn", "digits_lstm", "digits_gru"])
def test_digits(name: str, granularity: str) -> None:
    """All logits are equal, but a few of floats between casts that no session fuses, which are a step or two off."""
    module, model = quantized(name, granularity), digits(name)
    ours = model.run(module)
    for settings in SETTINGS:
        exported = qmlir.export_onnx(module, **settings).SerializeToString()
        for options in SESSIONS:
            theirs = OrtSession(exported, options)({"input": model.test})["logits"]
            if settings == {"format": "qdq"} and options == EXACT:
                _check_few_steps(ours, theirs)
            else:
                assert np.array_equal(theirs, ours), (settings, options)
    theirs = OrtSession(qmlir.export_onnx(module, exact=False).SerializeToString(), EXACT)({"input": model.test})
    _check_few_steps(ours, theirs["logits"])


def _check_few_steps(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of which a recurrent layer may add one to another: what its floats round otherwise comes back in its state."""
    step = np.unique(np.abs(ours[ours != theirs] - theirs[ours != theirs]))
    assert step.size == 0 or step.max() / step.min() < 2.001, step
    assert np.mean(ours != theirs) < 0.01
    assert np.mean(ours.argmax(1) != theirs.argmax(1)) < 0.005


WIDE = """
!x = !quant.uniform<i16:f32, 0.001:-700>
!w = !quant.uniform<i16:f32:0, {0.0005, 0.00025}>
!v = !quant.uniform<u16:f32:0, {0.0005:17, 0.00025:60000}>
!y = !quant.uniform<i16:f32, 0.9:5>
func.func @main(%x: tensor<1x80x5x5x!x>, %w: tensor<2x80x3x3x!w>, %v: tensor<2x80x3x3x!v>)
    -> (tensor<1x2x5x5x!y>, tensor<1x2x5x5x!y>) {
  %0 = nn.conv %x, %w {pads = [1, 1, 1, 1]} : (tensor<1x80x5x5x!x>, tensor<2x80x3x3x!w>) -> tensor<1x2x5x5x!y>
  %1 = nn.conv %x, %v {pads = [1, 1, 1, 1]} : (tensor<1x80x5x5x!x>, tensor<2x80x3x3x!v>) -> tensor<1x2x5x5x!y>
  func.return %0, %1 : tensor<1x2x5x5x!y>, tensor<1x2x5x5x!y>
}
"""


def test_convolutions_of_16_bits() -> None:
    """Of sums beyond 2^31, byte by byte, with padding and a zero point for each channel."""
    module = parse_module(default_environment().new_context(), WIDE, "module")
    random = np.random.default_rng(3)
    low, high = np.iinfo(np.int16).min, np.iinfo(np.int16).max
    inputs = {
        "input0": random.integers(low, high, (1, 80, 5, 5)).astype(np.int16),
        "input1": random.integers(low, high, (2, 80, 3, 3)).astype(np.int16),
        "input2": random.integers(0, 65536, (2, 80, 3, 3)).astype(np.uint16),
    }
    check_exported(module, inputs, *SESSIONS, format="integer")


QLINEAR_BETWEEN = """
!x = !quant.uniform<i8:f32, 0.5:1>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75:-7>
func.func @main(%x: tensor<4x3x!x>) -> tensor<4x3x!y> {
  %w = nn.constant dense<[[100, -3, 7], [5, 127, 0], [-90, 1, 2]]> : tensor<3x3xi8> -> tensor<3x3x!w>
  %0 = nn.fully_connected %x, %w : (tensor<4x3x!x>, tensor<3x3x!w>) -> tensor<4x3x!y>
  %1 = nn.fully_connected %0, %w : (tensor<4x3x!y>, tensor<3x3x!w>) -> tensor<4x3x!y>
  %2 = nn.add %0, %1 {requantize = #kernel.requantize<qlinear>} : tensor<4x3x!y>
  %3 = nn.fully_connected %2, %w : (tensor<4x3x!y>, tensor<3x3x!w>) -> tensor<4x3x!y>
  func.return %3 : tensor<4x3x!y>
}
"""


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_signed_operators_among_unsigned_ones(settings: dict[str, Any]) -> None:
    """QLinearAdd adds zero points before it rounds, so it is left the integers that it has; the weights are shared."""
    module = parse_module(default_environment().new_context(), QLINEAR_BETWEEN, "module")
    x = np.random.default_rng(4).integers(-128, 128, (4, 3)).astype(np.int8)
    check_exported(module, {"input0": x}, *SESSIONS, **settings)


TRANSPOSED = """
!a = !quant.uniform<i8:f32, 0.3:4>
!w = !quant.uniform<i8:f32:1, {0.25, 0.5, 0.125}>
!y = !quant.uniform<i8:f32, 6.3:-3>
func.func @main(%a: tensor<2x3x4x!a>, %b: tensor<2x3x4x!a>) -> (tensor<2x3x3x!y>, tensor<2x3x3x!y>) {
  %w = nn.constant dense<[[[1, 2, 3, 4], [-5, -100, 120, 3], [7, 7, 8, -128]]]> : tensor<1x3x4xi8> -> tensor<1x3x4x!w>
  %0 = nn.matmul %a, %b {transpose_b = true} : (tensor<2x3x4x!a>, tensor<2x3x4x!a>) -> tensor<2x3x3x!y>
  %1 = nn.matmul %b, %w {transpose_b = true} : (tensor<2x3x4x!a>, tensor<1x3x4x!w>) -> tensor<2x3x3x!y>
  func.return %0, %1 : tensor<2x3x3x!y>, tensor<2x3x3x!y>
}
"""


def test_a_transposed_factor_of_signed_integers() -> None:
    module = parse_module(default_environment().new_context(), TRANSPOSED, "module")
    random = np.random.default_rng(1)
    inputs = {f"input{position}": random.integers(-128, 128, (2, 3, 4)).astype(np.int8) for position in range(2)}
    check_exported(module, inputs, *SESSIONS, format="qdq")


FAKE_QUANT = """
func.func @main(%x: tensor<3x4xf32>, %t: tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %c = nn.constant dense<[0.5, -1.25, 2.0]> : tensor<3xf32>
  %0 = calib.observe %x "x" : tensor<3x4xf32>
  %1 = calib.fake_quant %0, %c {bits = 6 : i64, axis = 0 : i64} : tensor<3x4xf32>, tensor<3xf32> -> tensor<3x4xf32>
  %2 = calib.fake_quant %0, %t {signed = false} : tensor<3x4xf32>, tensor<f32> -> tensor<3x4xf32>
  %3 = calib.fake_quant %0, %t {bits = 24 : i64} : tensor<3x4xf32>, tensor<f32> -> tensor<3x4xf32>
  func.return %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
"""


def test_what_is_observed_and_learned(tmp_path: Path) -> None:
    module = parse_module(default_environment().new_context(), FAKE_QUANT, "module")
    random = np.random.default_rng(2)
    inputs = {"input0": random.normal(0, 2, (3, 4)).astype(np.float32), "input1": np.float32(1.5)}
    check_exported(module, inputs, *SESSIONS, format="qdq")
    path = tmp_path / "model.onnx"
    qmlir.export_onnx(module, path)
    assert module_text(qmlir.load(path)) == module_text(module)


RESIZE = """
func.func @main(%x: tensor<1x1x6x4xf32>) -> (tensor<1x1x4x7xf32>, tensor<1x1x3x10xf32>) {
  %0 = nn.resize %x {sizes = array<i64: 1, 1, 4, 7>, nearest_mode = "floor_up_ceil_down",
    coordinate_transformation_mode = "asymmetric"} : (tensor<1x1x6x4xf32>) -> tensor<1x1x4x7xf32>
  %1 = nn.resize %x {scales = array<f32: 1.0, 1.0, 0.5, 2.5>, nearest_mode = "floor_up_ceil_down",
    coordinate_transformation_mode = "asymmetric"} : (tensor<1x1x6x4xf32>) -> tensor<1x1x3x10xf32>
  func.return %0, %1 : tensor<1x1x4x7xf32>, tensor<1x1x3x10xf32>
}
"""


def test_the_nearest_mode_of_version_10() -> None:
    module = parse_module(default_environment().new_context(), RESIZE, "module")
    check_exported(module, {"input0": np.arange(24, dtype=np.float32).reshape(1, 1, 6, 4)})


ISLANDS = """
!x = !quant.uniform<{0}:f32, 0.5:3>
!y = !quant.uniform<{0}:f32, 0.75:5>
func.func @main(%q: tensor<2x3x4x4x!x>) -> (tensor<2x2x4x4x!y>, tensor<2x3x4x5x!y>, tensor<2x5x!y>, tensor<2x3x4x4x!y>,
    tensor<2x3x4x4x!y>, tensor<2x3x2x2x!y>, tensor<2x3x1x1x!y>, tensor<2x3x4x4x!y>, tensor<2x3x4x4x!y>) {{
  %x = quant.dcast %q : tensor<2x3x4x4x!x> to tensor<2x3x4x4xf32>
  %w = nn.constant dense<[[[[1.25]], [[-0.375]], [[2.875]]], [[[0.125]], [[-3.125]], [[0.5]]]]> : tensor<2x3x1x1xf32>
  %m = nn.constant dense<[[1.25, -0.5, 2.875, 0.125, 0.375], [-3.125, 0.5, 0.25, 1.0, 2.0],
    [0.75, 1.5, -2.25, 3.0, 0.5], [0.25, -1.75, 0.625, -0.875, 1.0]]> : tensor<4x5xf32>
  %b = nn.constant dense<[0.125, -7.25]> : tensor<2xf32>
  %0 = nn.conv %x, %w, %b : (tensor<2x3x4x4xf32>, tensor<2x3x1x1xf32>, tensor<2xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.matmul %x, %m : (tensor<2x3x4x4xf32>, tensor<4x5xf32>) -> tensor<2x3x4x5xf32>
  %rows = nn.slice %x {{starts = [0, 0, 0, 0], ends = [2, 1, 1, 4]}} : (tensor<2x3x4x4xf32>) -> tensor<2x1x1x4xf32>
  %row = nn.reshape %rows : (tensor<2x1x1x4xf32>) -> tensor<2x4xf32>
  %t = nn.transpose %m {{permutation = [1, 0]}} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %2 = nn.fully_connected %row, %t : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  %3 = nn.add %x, %x : tensor<2x3x4x4xf32>
  %4 = nn.mul %x, %x : tensor<2x3x4x4xf32>
  %5 = nn.average_pool %x {{kernel = [2, 2], strides = [2, 2]}} : (tensor<2x3x4x4xf32>) -> tensor<2x3x2x2xf32>
  %6 = nn.global_average_pool %x : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  %7 = nn.leaky_relu %x {{alpha = 0.25}} : tensor<2x3x4x4xf32>
  %8 = nn.relu %x : tensor<2x3x4x4xf32>
  %y0 = quant.qcast %0 : tensor<2x2x4x4xf32> to tensor<2x2x4x4x!y>
  %y1 = quant.qcast %1 : tensor<2x3x4x5xf32> to tensor<2x3x4x5x!y>
  %y2 = quant.qcast %2 : tensor<2x5xf32> to tensor<2x5x!y>
  %y3 = quant.qcast %3 : tensor<2x3x4x4xf32> to tensor<2x3x4x4x!y>
  %y4 = quant.qcast %4 : tensor<2x3x4x4xf32> to tensor<2x3x4x4x!y>
  %y5 = quant.qcast %5 : tensor<2x3x2x2xf32> to tensor<2x3x2x2x!y>
  %y6 = quant.qcast %6 : tensor<2x3x1x1xf32> to tensor<2x3x1x1x!y>
  %y7 = quant.qcast %7 : tensor<2x3x4x4xf32> to tensor<2x3x4x4x!y>
  %y8 = quant.qcast %8 : tensor<2x3x4x4xf32> to tensor<2x3x4x4x!y>
  func.return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8 : tensor<2x2x4x4x!y>, tensor<2x3x4x5x!y>, tensor<2x5x!y>,
    tensor<2x3x4x4x!y>, tensor<2x3x4x4x!y>, tensor<2x3x2x2x!y>, tensor<2x3x1x1x!y>, tensor<2x3x4x4x!y>,
    tensor<2x3x4x4x!y>
}}
"""


@pytest.mark.parametrize("storage", ["i8", "u8", "i16", "i8<-127:127>", "i4"])
def test_what_is_left_in_float_stays_in_float(storage: str) -> None:
    """Between casts ONNX Runtime would quantize it again; the numbers are such that sums of floats are exact."""
    module = parse_module(default_environment().new_context(), ISLANDS.format(storage), "module")
    low, high = {"u8": (0, 256), "i4": (-8, 8)}.get(storage, (-127, 128))
    dtype = {"u8": np.uint8, "i16": np.int16}.get(storage, np.int8)
    x = np.random.default_rng(5).integers(low, high, (2, 3, 4, 4)).astype(dtype)
    for settings in ({"format": "qdq"}, {"format": "qdq", "exact": False}, *FORMS):
        check_exported(module, {"input0": x}, *SESSIONS, **settings)


INTERPOLATED = """
!x = !quant.uniform<{0}:f32, 0.05:3>
func.func @main(%x: tensor<1x3x5x6x!x>) -> tensor<1x3x10x9x!x> {{
  %0 = nn.resize %x {{mode = "{1}", coordinate_transformation_mode = "{2}", scales = [1.0, 1.0, 2.0, 1.5]}}
    : (tensor<1x3x5x6x!x>) -> tensor<1x3x10x9x!x>
  func.return %0 : tensor<1x3x10x9x!x>
}}
"""


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("storage", ["i8", "u8"])
def test_what_is_interpolated(storage: str, mode: str, coordinates: str) -> None:
    """Between quarters of two integers there are many ties, and Resize decides them by an order of its own."""
    module = parse_module(
        default_environment().new_context(), INTERPOLATED.format(storage, mode, coordinates), "module"
    )
    dtype = {"u8": np.uint8}.get(storage, np.int8)
    limits = np.iinfo(dtype)
    x = np.random.default_rng(6).integers(limits.min, limits.max + 1, (1, 3, 5, 6)).astype(dtype)
    for settings in ({"format": "qdq"}, *FORMS):
        check_exported(module, {"input0": x}, *SESSIONS, **settings)


QLINEAR = """
!a = !quant.uniform<i8:f32, 0.3:4>
!b = !quant.uniform<i8:f32, 0.7:-3>
!y = !quant.uniform<i8<-100:100>:f32, 0.9:5>
!s = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%a: tensor<1x2x4x4x!a>, %b: tensor<1x2x4x4x!b>)
    -> (tensor<1x2x4x4x!y>, tensor<1x2x4x4x!y>, tensor<1x2x2x2x!y>, tensor<1x2x4x4x!s>, tensor<1x2x4x4x!s>) {
  %0 = nn.add %a, %b {requantize = #kernel.requantize<qlinear>}
    : (tensor<1x2x4x4x!a>, tensor<1x2x4x4x!b>) -> tensor<1x2x4x4x!y>
  %1 = nn.mul %a, %b {requantize = #kernel.requantize<qlinear>}
    : (tensor<1x2x4x4x!a>, tensor<1x2x4x4x!b>) -> tensor<1x2x4x4x!y>
  %2 = nn.average_pool %a {kernel = [2, 2], strides = [2, 2], requantize = #kernel.requantize<qlinear>}
    : (tensor<1x2x4x4x!a>) -> tensor<1x2x2x2x!y>
  %3 = nn.sigmoid %a {requantize = #kernel.requantize<qlinear>} : (tensor<1x2x4x4x!a>) -> tensor<1x2x4x4x!s>
  %4 = nn.softmax %a {requantize = #kernel.requantize<qlinear>} : (tensor<1x2x4x4x!a>) -> tensor<1x2x4x4x!s>
  func.return %0, %1, %2, %3, %4
    : tensor<1x2x4x4x!y>, tensor<1x2x4x4x!y>, tensor<1x2x2x2x!y>, tensor<1x2x4x4x!s>, tensor<1x2x4x4x!s>
}
"""


@pytest.mark.parametrize("form", ["qdq", "qoperator", "integer"])
def test_what_came_as_qlinear_operators_leaves_as_such(form: str) -> None:
    module = parse_module(default_environment().new_context(), QLINEAR, "module")
    random = np.random.default_rng(0)
    inputs = {f"input{position}": random.integers(-128, 128, (1, 2, 4, 4)).astype(np.int8) for position in range(2)}
    check_exported(module, inputs, format=form)


@needs_models
@pytest.mark.parametrize("source", ["QDQ", "QOperator"])
def test_one_form_in_another_out(source: str, tmp_path: Path) -> None:
    """What ONNX Runtime quantized leaves in each form, with the integers that it has here."""
    quantization: Any = import_module("onnxruntime.quantization")
    model = digits("digits_mlp")
    path = tmp_path / "quantized.onnx"
    quantization.quantize_static(
        model.path, path, _Reader(model.calibration), quant_format=quantization.QuantFormat[source],
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip
    module, environment = qmlir.load(path), default_environment()
    passes = parse_pipeline("quant-propagate-types", environment.passes)
    PassManager(environment.new_context(), passes).run(module)
    for settings in FORMS:
        exported = qmlir.export_onnx(module, **settings)
        theirs = OrtSession(exported.SerializeToString(), EXACT)({"input": model.test})["logits"]
        assert np.array_equal(theirs, model.run(module)), settings


class _Reader:
    """Calibration data as ONNX Runtime reads it."""

    def __init__(self, data: np.ndarray) -> None:
        self._rest = iter([{"input": data[:64]}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rest, None)


@pytest.mark.parametrize("opset", range(21, 27))
@pytest.mark.parametrize("settings", FORMS, ids=str)
def test_operator_sets(opset: int, settings: dict[str, Any]) -> None:
    for seed in range(4):
        case = graph(seed)
        check_exported(case.module, case.inputs, opset=opset, **settings)
