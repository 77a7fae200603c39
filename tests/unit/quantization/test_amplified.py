"""What depthwise convolutions amplify has 16 bits, and where they do, biases are corrected without being asked to."""

import math

import numpy as np
import pytest
from onnx import ModelProto, parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import qmlir
from qmlir.dialects.nn.activations.ops import LeakyReluOp
from qmlir.dialects.nn.contraction.ops import ConvOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.quantization.predicates import amplified_results, amplifying
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.text.printing import module_text
from qmlir.workflows.quantizing import quantize

_SIZE = 6


def _model(large: float, groups: int = 2) -> ModelProto:
    """Two channels, the second one `large` times the first, which a convolution makes alike."""
    weights = f"{large}, 1" if groups == 2 else f"{large}, 0, 0, 1"
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 2, {_SIZE}, {_SIZE}] x) => (float[1, 2, {_SIZE}, {_SIZE}] y)
        <float[2, 2, 1, 1] e = {{1, 0, 0, {large}}}, float[2] b = {{0.25, -0.5}},
         float[2, {2 // groups}, 1, 1] w = {{{weights}}}> {{
            p = Conv (x, e)
            t = LeakyRelu <alpha = 0.5> (p)
            y = Conv <group = {groups}> (t, w, b)
        }}""")


def _samples(count: int, seed: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    return [{"x": random.uniform(-1, 1, (1, 2, _SIZE, _SIZE)).astype(np.float32)} for _ in range(count)]


def _profiled(large: float, groups: int = 2) -> ModuleOp:
    return quantize(qmlir.load(_model(large, groups)), _samples(64, 0), validate=False).profiled


# The data is from -`large` / 2 to `large`, and the weights make its rounding `large` times larger in one of two
# channels: noise of `(1.5 large / 255)^2 / 12 * (large^2 + 1) / 2`. Half of the numbers of both channels of the result
# are uniform from 0 to `large`, half from -`large` / 2 to 0: mean `large` / 8, mean square `large^2 (1/6 + 1/24)`.
def _ratio(large: float) -> float:
    noise = (1.5 * large / 255) ** 2 / 12 * (large**2 + 1) / 2
    return 10 * math.log10(large**2 * (1 / 6 + 1 / 24 - 1 / 64) / noise)


@pytest.mark.parametrize("large", [8.0, 10.5, 12.5, 32.0])
def test_a_result_below_30_db_over_the_rounding_of_its_data_is_found(large: float) -> None:
    function = function_of(_profiled(large), "main")
    assert bool(amplifying(function)) is (_ratio(large) < 30)
    found = amplified_results(function)
    assert {op.name for op in found} == ({"nn.leaky_relu", "nn.conv"} if _ratio(large) < 30 else set())


def test_a_product_of_all_channels_is_none() -> None:
    assert not amplifying(function_of(_profiled(32.0, groups=1), "main"))


def _bits(op: Operation) -> int:
    element = quantized_type(op.results[0])
    assert element is not None
    return element.bits


@pytest.mark.parametrize(("large", "bits"), [(8.0, 8), (32.0, 16)])
def test_its_data_has_16_bits_from_the_product_on(large: float, bits: int) -> None:
    module = quantize(qmlir.load(_model(large)), _samples(64, 0), validate=False).module
    assert [_bits(op) for op in module.walk() if isinstance(op, LeakyReluOp)] == [bits]
    first, last = (quantized_type(op.results[0]) for op in module.walk() if isinstance(op, ConvOp))
    assert first is not None
    assert first.bits == bits
    assert last is not None
    assert last.bits == 8
    for feeds in _samples(8, 1):
        data = large * feeds["x"].astype(np.float64)  # of both channels, the first one after the second weights
        expected = np.where(data < 0, data / 2, data) + np.array([0.25, -0.5]).reshape(2, 1, 1)
        found = qmlir.interpret(module, feeds)["y"]
        rounding = 1.5 * large / 255 * large if bits == 8 else 0.0  # of the data, times the weight
        assert np.abs(found - expected).max() < large / 255 + last.scale + rounding  # of the input, and of the result


@pytest.mark.parametrize("large", [8.0, 32.0])
def test_biases_are_corrected_by_samples_that_all_calibrate(large: float) -> None:
    made = quantize(qmlir.load(_model(large)), _samples(64, 0), validate=False)
    assert made.repair is not None
    assert made.repair.passes == "quant-correct-bias"
    assert made.repair.source == "that the correction has not used"
    assert made.repair.samples == 16
    assert made.profile.samples == 64


@pytest.mark.parametrize(("groups", "count", "effort"), [(1, 64, None), (2, 64, 0), (2, 3, None)])
def test_nothing_is_corrected_elsewhere(groups: int, count: int, effort: int | None) -> None:
    model, data = qmlir.load(_model(32.0, groups)), _samples(count, 0)
    assert quantize(model, data, validate=False, effort=effort).repair is None


# Nothing is quantized; the depthwise convolution is not; no convolution is; and nothing is narrow.
@pytest.mark.parametrize(
    "settings",
    [
        {"exclude": "*"},
        {"exclude": "y"},
        {"exclude": "Conv"},
        {"weights": "i16", "activations": "i16"},
    ],
)
def test_nothing_is_corrected_where_settings_leave_nothing_to_correct(settings: QuantizeSettings) -> None:
    model, data = qmlir.load(_model(32.0)), _samples(16, 0)
    made = quantize(model, data, validate=False, **settings)
    assert made.repair is None
    assert module_text(made.module) == module_text(quantize(model, data, validate=False, effort=0, **settings).module)


def test_the_rounding_of_narrow_data_is_corrected_beside_wide_weights() -> None:
    assert quantize(qmlir.load(_model(32.0)), _samples(16, 0), validate=False, weights="i16").repair is not None
