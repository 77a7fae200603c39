"""Imported modules: their interface, their layout, and results by formulas that are written by hand."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from tests.support.litert_models import LiteCall, LiteValue, lite_model

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(0)


def _load(
    tmp_path: Path, values: Sequence[LiteValue], calls: Sequence[LiteCall], outputs: Sequence[int], **options: Any
) -> ModuleOp:
    path = tmp_path / "model.tflite"
    path.write_bytes(lite_model(values, calls, [0], outputs))
    return qmlir.load(path, **options)


def _run(module: ModuleOp, *inputs: Array) -> list[Array]:
    return list(qmlir.interpret(module, list(inputs)).values())


def _count(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())


_CONV = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
_POOL = {"padding": 1, "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}


def network(quantized: bool) -> tuple[list[LiteValue], list[LiteCall]]:
    """Two convolutions with a residual addition, padding, a pool, and a layer after the flattened image."""
    scale = 0.05 if quantized else None
    dtype, bias = ("int8", "int32") if quantized else ("float32", "float32")

    def image(*shape: int) -> LiteValue:
        return LiteValue(shape, dtype, scale, 3 if quantized else 0)

    def weight(*shape: int, axis: int = 0) -> LiteValue:
        data = RNG.integers(-9, 10, shape)
        scales = [0.01] * shape[axis] if quantized else None
        return LiteValue(shape, dtype, scales, 0, data, axis)

    def vector(size: int) -> LiteValue:
        return LiteValue((size,), bias, [0.0005] * size if quantized else None, 0, RNG.integers(-99, 99, size))

    values = [
        image(1, 8, 8, 3), weight(4, 3, 3, 3), vector(4), image(1, 8, 8, 4), weight(1, 3, 3, 4, axis=3), vector(4),
        image(1, 8, 8, 4), image(1, 8, 8, 4), LiteValue((4, 2), "int32", data=np.array([0, 0, 1, 1, 0, 0, 0, 0])),
        image(1, 10, 8, 4), image(1, 5, 4, 4), LiteValue((2,), "int32", data=np.array([1, 80])), image(1, 80),
        weight(2, 80), vector(2), image(1, 2),
    ]  # fmt: skip
    calls = [
        LiteCall("CONV_2D", [0, 1, 2], [3], "Conv2DOptions", {**_CONV, "fused_activation_function": 1}),
        LiteCall("DEPTHWISE_CONV_2D", [3, 4, 5], [6], "DepthwiseConv2DOptions", {**_CONV, "depth_multiplier": 1}),
        LiteCall("ADD", [3, 6], [7], "AddOptions", {}),
        LiteCall("PAD", [7, 8], [9], "PadOptions", {}),
        LiteCall("MAX_POOL_2D", [9], [10], "Pool2DOptions", _POOL),
        LiteCall("RESHAPE", [10, 11], [12], "ReshapeOptions", {}),
        LiteCall("FULLY_CONNECTED", [12, 13, 14], [15], "FullyConnectedOptions", {}),
    ]
    return values, calls


@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
def test_images_are_transposed_at_the_input_and_where_they_are_flattened(tmp_path: Path, quantized: bool) -> None:
    values, calls = network(quantized)
    module = _load(tmp_path, values, calls, [15])
    assert _count(module)["nn.transpose"] == 2
    function = function_of(module, "main")
    assert [port.name for port in (*inputs_of(function), *outputs_of(function))] == ["t0", "t15"]
    element = "!quant.uniform<i8:f32, 0.05000000074505806:3>" if quantized else "f32"
    assert str(inputs_of(function)[0].type) == f"tensor<1x8x8x3x{element}>"


def _by_hand(values: Sequence[LiteValue], x: Array) -> Array:
    """The float network of `network`, channels last."""

    def windows(image: Array) -> Array:
        padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
        return np.stack([padded[i : i + 8, j : j + 8] for i in range(3) for j in range(3)], 2)

    data = [np.asarray(value.data, np.float64) if value.data is not None else np.zeros(0) for value in values]
    first = np.maximum(np.einsum("hwkc,okc->hwo", windows(x[0]), data[1].reshape(4, 9, 3)) + data[2], 0)
    second = np.einsum("hwkc,kc->hwc", windows(first), data[4].reshape(9, 4)) + data[5]
    padded = np.pad(first + second, ((1, 1), (0, 0), (0, 0)))
    pooled = padded.reshape(5, 2, 4, 2, 4).max((1, 3))
    return pooled.reshape(1, 80) @ data[13].T + data[14]


def test_a_float_network_is_that_of_the_file(tmp_path: Path) -> None:
    values, calls = network(False)
    x = RNG.integers(-5, 6, (1, 8, 8, 3)).astype(np.float32)  # sums are exact in f32
    (found,) = _run(_load(tmp_path, values, calls, [15]), x)
    assert np.array_equal(found, _by_hand(values, x))


def test_operations_name_their_operator_and_its_output(tmp_path: Path) -> None:
    values, calls = network(True)
    values[3].name = "features/Relu"
    module = _load(tmp_path, values, calls, [15])
    found = {(origin.name, origin.op_type) for op in module.walk() for origin in origins_of(op) if origin.op_type}
    assert found >= {("features/Relu", "CONV_2D"), ("t7", "ADD"), ("t15", "FULLY_CONNECTED")}


@pytest.mark.parametrize("kernels", ["litert-reference", "litert-xnnpack"])
def test_quantized_operations_name_their_arithmetic(tmp_path: Path, kernels: str) -> None:
    values, calls = network(True)
    module = _load(tmp_path, values, calls, [15], requantize=kernels)
    wanted = f"#kernel.requantize<{kernels.replace('-', '_')}>"
    found = {op.name: str(op.properties.get("requantize")) for op in module.walk() if op.name.startswith("nn.")}
    computed = ("nn.conv", "nn.relu", "nn.add", "nn.fully_connected")
    assert {found[name] for name in computed} == {wanted}


def _fixed(value: int, ratio: float) -> int:
    """`MultiplyByQuantizedMultiplier` for a ratio below 1: rounded twice, half up and then away from zero."""
    fraction, exponent = math.frexp(ratio)
    high = (value * math.floor(fraction * 2**31 + 0.5) + 2**30) >> 31
    size = abs(high) + (1 << -exponent >> 1)
    return int(math.copysign(size >> -exponent, high)) if exponent < 0 else high


SCALES, BIASES = (2.0**-6, 2.0**-7, 2.0**-8), (5, -3, 0)


def test_a_convolution_rounds_like_the_reference_kernel(tmp_path: Path) -> None:
    """Scales are powers of two, so that many sums are ties."""
    weight = RNG.integers(-127, 128, (3, 1, 1, 2))
    values = [
        LiteValue((1, 16, 16, 2), "int8", 0.5, 7), LiteValue(weight.shape, "int8", SCALES, 0, weight),
        LiteValue((3,), "int32", [1.0, 1.0, 1.0], 0, np.array(BIASES)), LiteValue((1, 16, 16, 3), "int8", 0.25, -9),
    ]  # fmt: skip
    options = {**_CONV, "fused_activation_function": 3}
    module = _load(tmp_path, values, [LiteCall("CONV_2D", [0, 1, 2], [3], "Conv2DOptions", options)], [3])
    x = RNG.integers(-128, 128, (1, 16, 16, 2)).astype(np.int8)
    (found,) = _run(module, x)
    wanted = np.zeros((16, 16, 3), np.int64)
    for channel, (scale, bias) in enumerate(zip(SCALES, BIASES, strict=True)):
        sums = (x[0].astype(np.int64) - 7) @ weight[channel, 0, 0] + bias
        rounded = [_fixed(int(each), 0.5 * scale / 0.25) - 9 for each in sums.reshape(-1)]
        wanted[..., channel] = np.clip(rounded, -9, -9 + 24).reshape(16, 16)  # RELU6: 6 / 0.25
    assert np.array_equal(found[0], wanted)


def test_channels_without_weights_keep_a_scale(tmp_path: Path) -> None:
    """Scales near 0, whose product with the scale of the data is no f32: the channel is the bias, rounded to 0."""
    values = [
        LiteValue((1, 4), "int8", 1e-3, 0), LiteValue((2, 4), "int8", [1e-45, 0.01], 0, np.ones((2, 4))),
        LiteValue((2,), "int32", [1e-45, 1e-5], 0, np.array([9, 0])), LiteValue((1, 2), "int8", 1e-3, 5),
    ]  # fmt: skip
    module = _load(tmp_path, values, [LiteCall("FULLY_CONNECTED", [0, 1, 2], [3], "FullyConnectedOptions")], [3])
    (found,) = _run(module, np.full((1, 4), 100, np.int8))
    assert found.tolist() == [[5, 9]]


@pytest.mark.parametrize("kernels", ["litert-reference", "litert-xnnpack"])
def test_floats_are_quantized_by_the_rule_of_the_kernels(tmp_path: Path, kernels: str) -> None:
    """The reference kernel rounds ties away from zero, XNNPACK to even."""
    values = [LiteValue((1, 6), "float32"), LiteValue((1, 6), "int8", 0.5, 1)]
    module = _load(tmp_path, values, [LiteCall("QUANTIZE", [0], [1], "QuantizeOptions")], [1], requantize=kernels)
    x = np.array([[0.25, -0.25, 0.75, -0.75, 1000, -1000]], np.float32)
    ties = [1, -1, 2, -2] if kernels == "litert-reference" else [0, 0, 2, -2]
    assert _run(module, x)[0].tolist() == [[*(tie + 1 for tie in ties), 127, -128]]


def test_a_comparison_names_the_kernels_of_each_side(tmp_path: Path) -> None:
    """The reference kernel rounds 0.5 and 2.5 to 1 and 3, XNNPACK to 0 and 2; both round 1.5 to 2."""
    values = [LiteValue((1, 3), "float32"), LiteValue((1, 3), "int8", 1.0, 0)]
    path = tmp_path / "model.tflite"
    path.write_bytes(lite_model(values, [LiteCall("QUANTIZE", [0], [1], "QuantizeOptions")], [0], [1]))
    data = np.array([[0.5, 1.5, 2.5]], np.float32)
    (output,) = qmlir.compare(f"litert-reference:{path}", f"litert-xnnpack:{path}", data).outputs
    assert (output.max_error, output.mean_error) == (1.0, pytest.approx(2 / 3))


def test_float_data_are_quantized_by_row_for_integer_weights(tmp_path: Path) -> None:
    weight, scales = RNG.integers(-127, 128, (5, 12)), [0.01, 0.02, 0.03, 0.04, 0.05]
    values = [
        LiteValue((3, 12), "float32"), LiteValue((5, 12), "int8", scales, 0, weight), LiteValue((3, 5), "float32"),
    ]  # fmt: skip
    module = _load(tmp_path, values, [LiteCall("FULLY_CONNECTED", [0, 1, -1], [2], "FullyConnectedOptions")], [2])
    x = RNG.normal(0, 2, (3, 12)).astype(np.float32)
    x[1] = 0
    (found,) = _run(module, x)
    for row, result in zip(x, found, strict=True):
        most = np.abs(row).max()
        if most == 0:
            assert not result.any()
            continue
        scaled = row * (np.float32(127) / most)
        integers = np.trunc(scaled + np.copysign(0.5, scaled))
        factors = (most / np.float32(127)) * np.asarray(scales, np.float32)
        assert np.array_equal(result, (weight @ integers).astype(np.float32) * factors)


def test_integer_weights_become_floats_on_request(tmp_path: Path) -> None:
    weight = RNG.integers(-127, 128, (5, 12))
    values = [LiteValue((3, 12), "float32"), LiteValue((5, 12), "int8", 0.5, 0, weight), LiteValue((3, 5), "float32")]
    calls = [LiteCall("FULLY_CONNECTED", [0, 1, -1], [2], "FullyConnectedOptions")]
    x = RNG.integers(-9, 10, (3, 12)).astype(np.float32)
    assert np.array_equal(_run(_load(tmp_path, values, calls, [2], requantize="float"), x)[0], x @ weight.T / 2)


def test_maxima_compare_stored_integers(tmp_path: Path) -> None:
    values = [
        LiteValue((2,), "int8", 0.5, 3), LiteValue((2,), "int8", 0.25, 0, np.array([10, -10])),
        LiteValue((2,), "int8", 2.0, 1),
    ]  # fmt: skip
    module = _load(tmp_path, values, [LiteCall("MAXIMUM", [0, 1], [2], "MaximumMinimumOptions")], [2])
    assert _run(module, np.array([4, -4], np.int8))[0].tolist() == [10, -4]


def test_half_floats_become_weights(tmp_path: Path) -> None:
    weight = np.arange(12).reshape(3, 4)
    values = [
        LiteValue((2, 4), "float32"), LiteValue((3, 4), "float16", data=weight), LiteValue((3, 4), "float32"),
        LiteValue((2, 3), "float32"),
    ]  # fmt: skip
    calls = [
        LiteCall("DEQUANTIZE", [1], [2], "DequantizeOptions"),
        LiteCall("FULLY_CONNECTED", [0, 2, -1], [3], "FullyConnectedOptions"),
    ]
    module = _load(tmp_path, values, calls, [3])
    assert _count(module)["nn.fully_connected"] == 1
    assert _count(module)["nn.cast"] == 0
    x = RNG.integers(-5, 6, (2, 4)).astype(np.float32)
    assert np.array_equal(_run(module, x)[0], x @ weight.T)


def test_inputs_may_have_other_shapes(tmp_path: Path) -> None:
    values = [LiteValue((1, 4, 4, 2), "float32"), LiteValue((1, 2, 2, 2), "float32")]
    module = _load(
        tmp_path, values, [LiteCall("AVERAGE_POOL_2D", [0], [1], "Pool2DOptions", _POOL)], [1],
        shapes={"t0": [3, 8, 8, 2]},
    )  # fmt: skip
    x = RNG.integers(0, 9, (3, 8, 8, 2)).astype(np.float32)
    assert np.array_equal(_run(module, x)[0], x.reshape(3, 4, 2, 4, 2, 2).mean((2, 4)))
