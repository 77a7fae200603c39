"""QONNX's quantizers by the formulas of its specification, the types that they become, and the messages of faults."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

import qmlir
from qmlir.dialects.quant.types import UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.nets import Net

FLOAT = np.float32
DOMAIN = "qonnx.custom_op.general"
SIGNED = {"signed": 1, "narrow": 0}
X = (np.arange(-24, 24, dtype=FLOAT) * FLOAT(0.25)).reshape(2, 3, 8)
"""Every multiple of a quarter: with a scale of 0.5, half of them lie half-way between two integers."""

ROUNDINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "ROUND": np.rint,
    "half_even": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "ROUND_TO_ZERO": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + FLOAT(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - FLOAT(0.5)),
}


def _model(net: Net, output: str, version: int = 1, domain: str = DOMAIN) -> ModelProto:
    model = net.model(output)
    model.opset_import.append(helper.make_opsetid(domain, version))
    return model


def _run(
    op_type: str, *inputs: Any, version: int = 1, domain: str = DOMAIN, **attributes: Any
) -> tuple[Any, np.ndarray]:
    """The quantized type of a node on the input `X`, if the node has one, and its output."""
    net = Net()
    held = [net.constant(FLOAT(each)) for each in inputs]
    name = net.node(op_type, net.input(X), *held, domain=domain, **attributes)
    module = qmlir.load(_model(net, name, version, domain))
    (returned,) = next(op for op in module.walk() if op.name == "func.return").operands
    is_typed = getattr(returned.owner, "name", "") == "quant.dcast"
    return (element_of(returned.owner.operands[0]) if is_typed else None), qmlir.interpret(module, {"x0": X})[name]


def _quant(scale: Any, zero_point: Any, bits: float, mode: str = "ROUND", signed: int = 1, narrow: int = 0) -> Any:
    return _run("Quant", scale, zero_point, bits, signed=signed, narrow=narrow, rounding_mode=mode)


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("zero_point", [0.0, 3.0, 0.25])
def test_rounds_the_sum_of_quotient_and_zero_point(mode: str, zero_point: float) -> None:
    element, found = _quant(0.5, zero_point, 4, mode)
    integers = ROUNDINGS[mode](np.clip(X / FLOAT(0.5) + FLOAT(zero_point), -8, 7))
    np.testing.assert_array_equal(found, (integers - FLOAT(zero_point)) * FLOAT(0.5))
    assert (str(element) if element else None) == {
        0.0: "!quant.uniform<i4:f32, 5.000000e-01>",
        3.0: "!quant.uniform<i4:f32, 5.000000e-01:3>",
        0.25: None,
    }[zero_point]


@pytest.mark.parametrize(
    ("bits", "signed", "narrow", "low", "high", "storage"),
    [
        (8, 1, 0, -128, 127, "i8"), (8, 1, 1, -127, 127, "i8<-127:127>"), (8, 0, 0, 0, 255, "u8"),
        (3, 0, 1, 0, 6, "u3<0:6>"), (2, 1, 1, -1, 1, "i2<-1:1>"), (1, 0, 0, 0, 1, "u1"), (12, 1, 0, -2048, 2047, "i12"),
    ],
)  # fmt: skip
def test_limits_follow_from_the_bits(bits: int, signed: int, narrow: int, low: int, high: int, storage: str) -> None:
    element, found = _quant(0.125, 0.0, bits, "ROUND", signed, narrow)
    np.testing.assert_array_equal(found, np.clip(np.rint(X * 8), low, high) * FLOAT(0.125))
    assert str(element) == f"!quant.uniform<{storage}:f32, 1.250000e-01>"


def test_one_signed_bit_is_the_sign() -> None:
    element, found = _quant(0.5, 0.0, 1)
    np.testing.assert_array_equal(found, np.where(X >= 0, FLOAT(0.5), FLOAT(-0.5)))
    assert str(element) == "!quant.uniform<i2<-1:1>:f32, 5.000000e-01>"
    assert str(_run("BipolarQuant", 0.5)[0]) == str(element)
    np.testing.assert_array_equal(_run("BipolarQuant", 0.5)[1], found)


def test_scales_of_an_axis_become_a_type_per_axis() -> None:
    scales = FLOAT([0.25, 0.5, 1.0]).reshape(3, 1)
    element, found = _quant(scales, 0.0, 4)
    np.testing.assert_array_equal(found, np.clip(np.rint(X / scales), -8, 7) * scales)
    assert isinstance(element, UniformQuantizedType)
    assert (element.axis, list(element.scales)) == (1, [0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    ("scale", "zero_point", "bits"),
    [
        (np.full((1, 1, 1, 1), 0.5), 0.0, 4),
        (np.full((2, 1, 1, 1), 0.5), 0.0, 4),
        (np.full((3, 8), 0.5), 0.0, 4),
        (-0.5, 0.0, 4),
        (0.5, 99.0, 4),
        (0.5, 0.0, 3.5),
    ],
)
def test_parameters_without_a_type_stay_float_arithmetic(scale: Any, zero_point: float, bits: float) -> None:
    element, found = _quant(scale, zero_point, bits)
    low, high = -(FLOAT(2) ** FLOAT(bits - 1)), FLOAT(2) ** FLOAT(bits - 1) - FLOAT(1)
    integers = np.rint(np.clip(X / FLOAT(scale) + FLOAT(zero_point), low, high))
    np.testing.assert_array_equal(found, (integers - FLOAT(zero_point)) * FLOAT(scale))
    assert element is None


@pytest.mark.parametrize(("signed", "bits"), [(0, 128), (1, 128), (1, 33)])
def test_wide_integers_stay_float_arithmetic(signed: int, bits: int) -> None:
    element, found = _quant(0.5, 0.0, bits, signed=signed)
    np.testing.assert_array_equal(found, np.maximum(np.rint(X / FLOAT(0.5)), -np.inf if signed else 0) * FLOAT(0.5))
    assert element is None


@pytest.mark.parametrize("domain", ["qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"])
def test_a_quantized_layer_computes_on_integers(domain: str) -> None:
    """Powers of two as scales: the float model is exact, so each integer must be its."""
    net, rng = Net(), np.random.default_rng(0)
    weights = rng.uniform(-1, 1, (8, 4)).astype(FLOAT)
    zero, step = net.constant(FLOAT(0)), net.constant(FLOAT(0.25))
    steps = FLOAT([0.25, 0.125, 0.0625, 0.25]).reshape(1, 4)

    def quant(name: str, scale: str, bits: int, signed: int, narrow: int) -> str:
        inputs = name, scale, zero, net.constant(FLOAT(bits))
        return net.node("Quant", *inputs, domain=domain, signed=signed, narrow=narrow, rounding_mode="ROUND")

    data = quant(net.input(X), step, 5, 1, 0)
    product = net.node("MatMul", data, quant(net.constant(weights), net.constant(steps), 4, 1, 1))
    name = quant(net.node("Relu", product), step, 3, 0, 0)
    module = qmlir.load(_model(net, name, domain=domain))
    (found,) = (op for op in module.walk() if op.name == "nn.matmul")
    assert [str(element_of(value)).partition(",")[0] for value in (*found.operands, found.results[0])] == [
        "!quant.uniform<i5:f32", "!quant.uniform<i4<-7:7>:f32:1", "!quant.uniform<u3:f32",
    ]  # fmt: skip
    assert [op.attributes["origin"].data for op in module.walk() if op.name == "nn.constant"] == ["c3"]
    real = (np.clip(np.rint(X * 4), -16, 15) / 4) @ (np.clip(np.rint(weights / steps), -7, 7) * steps)
    expected = np.clip(np.rint(real * 4), 0, 7) / 4
    np.testing.assert_array_equal(qmlir.interpret(module, {"x0": X})[name], expected)
    np.testing.assert_array_equal(qmlir.compile(module)({"x0": X})[name], expected)


def test_trunc_drops_low_bits() -> None:
    mode = {"rounding_mode": "FLOOR"}
    found = _run("Trunc", 0.25, 0.0, 8, 6, **mode)[1]
    np.testing.assert_array_equal(found, np.floor(X * 4 / 4) * FLOAT(0.25))
    element, found = _run("Trunc", 0.25, 8.0, 8, 1.0, 3, version=2, **mode)
    np.testing.assert_array_equal(found, np.floor(np.clip((X * 4 + 8) / 4, -4, 3)) - 2)
    assert str(element) == "!quant.uniform<i3:f32, 1.000000e+00:2>"


@pytest.mark.parametrize("layout", ["", "NWC", "NCW"])
@pytest.mark.parametrize(
    ("scale", "bias", "type_"), [(1.0, 0.0, "u2:f32, 1.0"), (0.5, -1.0, "u2:f32, 5.000000e-01:2"), (0.3, 0.1, "")]
)
def test_multi_threshold_counts(layout: str, scale: float, bias: float, type_: str) -> None:
    axis = 1 if layout == "NCW" else 2
    thresholds = np.sort(np.random.default_rng(1).integers(-8, 8, (X.shape[axis], 3)), axis=1) * FLOAT(0.5)
    attributes = {"out_dtype": "FLOAT32", "out_scale": scale, "out_bias": bias}
    element, found = _run("MultiThreshold", thresholds, data_layout=layout, **attributes)
    rows = thresholds[:, None, :] if axis == 1 else thresholds[None, :, :]
    counts = (X[..., None] >= rows).sum(-1).astype(FLOAT)
    np.testing.assert_array_equal(found, FLOAT(scale) * counts + FLOAT(bias))
    assert str(element or "").startswith(f"!quant.uniform<{type_}" if type_ else "")
    assert bool(element) == bool(type_)


def test_float_quant_becomes_a_float_type() -> None:
    flags = {"has_inf": 0, "has_nan": 0, "has_subnormal": 1, "saturation": 1, "rounding_mode": "ROUND"}
    element, found = _run("FloatQuant", 0.5, 2, 1, 1, 6, **flags)
    grid = FLOAT([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    grid = np.concatenate([-grid[:0:-1], grid])
    assert np.isin(found / FLOAT(0.5), grid).all()
    distance = np.abs(X[..., None] / FLOAT(0.5) - grid).min(-1)
    np.testing.assert_array_equal(np.abs(found / FLOAT(0.5) - X / FLOAT(0.5)), distance)
    assert isinstance(element, UniformFloatType)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("Quant", (0.5, 0.0, 4), {"narrow": 0}, "requires the attribute 'signed'"),
        ("Quant", (0.5, 0.0, 0), {"signed": 1, "narrow": 0}, "bit width must be at least 1, but got 0.0"),
        ("Quant", (0.5, 0.0, [4, 5]), {"signed": 1, "narrow": 0}, "requires one bit width, but input 3 has shape [2]"),
        ("Quant", (0.5, 0.0, 4), {"signed": 1, "narrow": 0, "rounding_mode": "ODD"}, "one of ROUND, HALF_EVEN, CEIL"),
        ("MultiThreshold", ([[1], [2]],), {}, "thresholds must have shape 8xN or 1xN, but got 2x1"),
        ("FloatQuant", (1, 4, 4, 7, 480), {}, "no float type has 4 exponent bits, 4 mantissa bits, the bias 7"),
        ("FloatQuant", (1, 4, 3, 7, 448), {"saturation": 0}, "overflows to infinity or NaN"),
        ("Quant", (0.5, 0.0, 2000), SIGNED, "bit width must be at most 128, but got 2000.0"),
        ("Quant", (0.5, 0.0, np.nan), SIGNED, "bit width must be at least 1, but got nan"),
        ("Quant", (0.5, 0.0, 4), {**SIGNED, "rounding_mode": 3}, "'rounding_mode' must be a string, but got 3"),
        ("Quant", (0.5, 0.0, 4), {**SIGNED, "signed": "yes"}, "'signed' must be an integer, but got 'yes'"),
        ("Quant", (0.5, 0.0, 4), {**SIGNED, "narrow": 2}, "'narrow' must be 0 or 1, but got 2"),
        ("Trunc", (0.5, 0.0, 2000, 4), {}, "bit width must be at most 128"),
        ("Trunc", (0.5, 0.0, 8, 2000), {}, "bit width must be at most 128"),
        ("Trunc", (0.5, 0.0, 8, 4), {"rounding_mode": 3}, "'rounding_mode' must be a string, but got 3"),
        ("Trunc", (0.5, 0.0, 8, 1.0, 2000), {"version": 2}, "bit width must be at most 128"),
        ("FloatQuant", (1, 2000, 3, 7, 448), {}, "exponent width must be in [0, 8], but got 2000"),
        ("FloatQuant", (1, 4, np.nan, 7, 448), {}, "mantissa width must be in [0, 8], but got nan"),
        ("FloatQuant", (1, 4, 3, -2000, 448), {}, "exponent bias must be in [-256, 256], but got -2000"),
        ("FloatQuant", (1, 4, 3, 7, 448), {"saturation": "x"}, "'saturation' must be an integer, but got 'x'"),
        ("MultiThreshold", ([[1]],), {"out_scale": "x"}, "'out_scale' must be a float, but got 'x'"),
        ("MultiThreshold", ([[1]],), {"data_layout": 3}, "'data_layout' must be a string, but got 3"),
        ("Trunc", (0.5, 0, 8, -1.0, 4), {"version": 2}, "must be a positive multiple of the scale, but got -2.0"),
    ],
)
def test_rejects_by_name(op_type: str, inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        _run(op_type, *inputs, **attributes)
    assert message in str(raised.value)
    assert op_type in str(raised.value)


@pytest.mark.parametrize("is_optional", [False, True])
def test_a_rule_cannot_retype_a_value_that_the_model_quantizes(tmp_path: Path, is_optional: bool) -> None:
    net = Net()
    held = [net.constant(FLOAT(each)) for each in (0.5, 0.0, 4)]
    data = net.node("Quant", net.input(X), *held, domain=DOMAIN, signed=1, narrow=0, rounding_mode="ROUND")
    model = _model(net, net.node("MatMul", data, net.constant(np.eye(8, 4, dtype=FLOAT))))
    path = tmp_path / "given.toml"
    path.write_text(f'[[rule]]\nvalues = ["{data}"]\nscale = 0.25\noptional = {str(is_optional).lower()}\n')
    if not is_optional:
        with pytest.raises(
            DiagnosticError, match=r"Quant0.*is quantized by the model, but .*rule 1.* gives it parameters"
        ):
            qmlir.quantize(model, X, recipe=path, validate=False)
        return
    module = qmlir.quantize(model, X, recipe=path, validate=False).module
    (layer,) = (op for op in module.walk() if op.name == "nn.matmul")
    assert str(element_of(layer.operands[0])) == "!quant.uniform<i4:f32, 5.000000e-01>"
