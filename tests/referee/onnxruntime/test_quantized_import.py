"""Random quantized models, imported and interpreted, against ONNX Runtime: every integer is equal.

ONNX Runtime runs without optimizations, on the unsigned twin of the model (`unsigned_twins.py`).

In a QDQ model what stands between a DequantizeLinear and a QuantizeLinear runs in f32, on both sides: sums are the same
only where no order rounds them. So the scales there are small odd multiples of powers of two and the weights small:
every sum is exact, and many quotients are ties. Scales of integer operators are any numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from tests.support.nets import Net
from tests.support.sampled import of_families
from tests.support.unsigned_twins import as_unsigned, run_twin

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = pytest.mark.referee

LIMITS: dict[Any, tuple[int, int]] = {np.int8: (-128, 127), np.uint8: (0, 255), np.int16: (-32768, 32767)}
LARGEST_WEIGHT = 8


@dataclass
class Value:
    """A tensor of the model: its name, its shape, and the parameters of its integers."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    scale: Any
    zero_point: Any


@dataclass
class Draw:
    """A random model under construction; the tensors that are compared."""

    rng: np.random.Generator
    net: Net = field(default_factory=Net)
    outputs: list[str] = field(default_factory=list)

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        """True as often as `probability` says."""
        return bool(self.rng.random() < probability)

    def kind(self) -> Any:
        """An 8-bit type."""
        return np.uint8 if self.chance(0.5) else np.int8

    def tied_scale(self, low: int, high: int, count: int | None = None) -> np.ndarray:
        """Small odd multiples of powers of two, which make ties."""
        shape = () if count is None else (count,)
        return np.float32(self.rng.choice([1, 3, 5], shape) * 2.0 ** self.rng.integers(low, high + 1, shape))

    def any_scale(self, exponent: int, count: int | None = None) -> np.ndarray:
        """A scale of about `2^exponent`."""
        if self.chance(0.5):
            return self.tied_scale(exponent - 1, exponent, count)
        return np.float32(2.0**exponent * self.rng.uniform(0.5, 2.0, () if count is None else (count,)))

    def zero_point(self, dtype: Any, margin: int = 0) -> Any:
        """A zero point that leaves `margin` on either side."""
        low, high = LIMITS[dtype]
        return dtype(self.integer(low + margin, high - margin))

    def integers(self, dtype: Any, *shape: int) -> np.ndarray:
        """Values of the whole range."""
        low, high = LIMITS[dtype]
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def parameters(self, scale: Any, zero_point: Any) -> tuple[str, str]:
        """Scale and zero point as tensors of the model, as a rule constants; ONNX Runtime takes no inputs of 4 bits."""
        is_constant = self.chance(0.75) or "int4" in zero_point.dtype.name
        return self.net.tensor(scale, is_constant=is_constant), self.net.tensor(zero_point, is_constant=is_constant)

    def small_weights(self, dtype: Any, *shape: int, zero_point: Any) -> np.ndarray:
        """Weights near their zero point."""
        centered = self.rng.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT, shape)
        return (centered + np.int64(zero_point)).astype(dtype)

    # QDQ

    def quantized(self, name: str, shape: tuple[int, ...], exponent: int) -> Value:
        """A QuantizeLinear of a float tensor; its integers are compared."""
        dtype = np.int16 if self.chance(0.1) else self.kind()
        scale, zero_point = self.tied_scale(exponent - 1, exponent), self.zero_point(dtype)
        q = self.net.node("QuantizeLinear", name, *self.parameters(scale, zero_point))
        self.outputs.append(q)
        return Value(q, shape, dtype, scale, zero_point)

    def real(self, value: Value) -> str:
        """Its DequantizeLinear."""
        return self.net.node("DequantizeLinear", value.name, *self.parameters(value.scale, value.zero_point))

    def weights(self, count: int, *shape: int, axis: int = 0) -> tuple[str, np.ndarray]:
        """Float weights out of integer constants, with one scale or with one for each index of `axis`; and scales."""
        dtype = self.kind()
        scale = self.tied_scale(-3, -2, count if self.chance(0.5) else None)
        low, high = LIMITS[dtype]
        margin = LARGEST_WEIGHT
        zero_point = self.rng.integers(low + margin, high - margin, scale.shape).astype(dtype)
        layout = [count if position == axis else 1 for position in range(len(shape))] if scale.ndim else []
        stored = self.small_weights(dtype, *shape, zero_point=zero_point.reshape(layout))
        parameters = self.parameters(scale, zero_point)
        return self.net.node("DequantizeLinear", self.net.constant(stored), *parameters, axis=axis), scale

    def bias(self, count: int, x: Value, w: np.ndarray) -> str:
        """A float bias out of int32 constants of scale `s_x * s_w`."""
        scale = np.asarray(np.float32(x.scale) * w, np.float32)
        stored = self.net.constant(self.rng.integers(-300, 301, count).astype(np.int32))
        return self.net.node(
            "DequantizeLinear", stored, *self.parameters(scale, np.zeros(scale.shape, np.int32)), axis=0
        )


def _step(draw: Draw, value: Value) -> Value:
    """One float operator of four axes between a DequantizeLinear and a QuantizeLinear."""
    net, x, (batch, channels, *sizes) = draw.net, draw.real(value), value.shape
    exponent = int(np.log2(value.scale))
    kinds = ["Conv", "Relu", "Add", "MaxPool", "AveragePool"]
    match kinds[draw.integer(0, len(kinds) - 1)]:
        case "Conv" if value.dtype is not np.int16:
            groups = draw.integer(1, 2) if channels % 2 == 0 else 1
            outputs = groups * draw.integer(1, 3)
            kernel = (draw.integer(1, min(2, sizes[0])), draw.integer(1, min(3, sizes[1])))
            w, scale = draw.weights(outputs, outputs, channels // groups, *kernel)
            bias = [draw.bias(outputs, value, scale)] if draw.chance(0.5) else []
            pads, strides = [draw.integer(0, 1) for _ in range(4)], [draw.integer(1, 2), 1]
            y = net.node("Conv", x, w, *bias, group=groups, pads=pads, strides=strides)
            counts = [
                (size + pads[position] + pads[position + 2] - kernel[position]) // strides[position] + 1
                for position, size in enumerate(sizes)
            ]
            return draw.quantized(y, (batch, outputs, *counts), exponent + draw.integer(0, 3))
        case "Add":
            other = draw.quantized(
                net.input(np.float32(draw.rng.integers(-99, 99, value.shape) / 4)), value.shape, exponent
            )
            y = net.node("Add", x, draw.real(other) if draw.chance(0.8) else x)
            return draw.quantized(y, value.shape, exponent + 1)
        case "MaxPool" if min(sizes) >= 2:
            y = net.node("MaxPool", x, kernel_shape=[2, 2])
            return draw.quantized(y, (batch, channels, *(size - 1 for size in sizes)), exponent)
        case "AveragePool" if min(sizes) >= 2:
            # Windows of two and four: a division that rounds could be a product with a rounded reciprocal.
            kernel = [draw.integer(1, 2), 2]
            y = net.node("AveragePool", x, kernel_shape=kernel)
            counts = [size - taps + 1 for size, taps in zip(sizes, kernel, strict=True)]
            return draw.quantized(y, (batch, channels, *counts), exponent - 1)
        case _:
            return draw.quantized(net.node("Relu", x), value.shape, exponent)


def _classifier(draw: Draw, value: Value) -> None:
    """A matrix product at the end."""
    rows, columns = value.shape[0], draw.integer(1, 4)
    terms = int(np.prod(value.shape[1:]))
    if value.dtype is np.int16 or terms > 64:
        return
    flat = draw.net.node("Flatten", draw.real(value))
    is_transposed = draw.chance(0.5)
    shape, axis = ((columns, terms), 0) if is_transposed else ((terms, columns), 1)
    w, scale = draw.weights(columns, *shape, axis=axis)
    if draw.chance(0.5):
        bias = [draw.bias(columns, value, scale)] if draw.chance(0.5) else []
        y = draw.net.node("Gemm", flat, w, *bias, transB=int(is_transposed))
    else:
        y = draw.net.node("MatMul", flat, draw.net.node("Transpose", w) if is_transposed else w)
    draw.quantized(y, (rows, columns), int(np.log2(value.scale)) + draw.integer(0, 3))


def qdq(draw: Draw) -> None:
    """Float operators between DequantizeLinear and QuantizeLinear."""
    shape = (draw.integer(1, 2), draw.integer(1, 4), draw.integer(2, 5), draw.integer(2, 5))
    value = draw.quantized(draw.net.input(np.float32(draw.rng.integers(-400, 401, shape) / 8)), shape, -1)
    for _ in range(draw.integer(1, 4)):
        value = _step(draw, value)
    _classifier(draw, value)


def _result(draw: Draw, exponent: int) -> tuple[Any, Any, Any]:
    dtype = draw.kind()
    return dtype, draw.any_scale(exponent), draw.zero_point(dtype)


def _qlinear_conv(draw: Draw, x: Value) -> Value:
    batch, channels, *sizes = x.shape
    groups = 2 if channels % 2 == 0 and draw.chance(0.4) else 1
    outputs = groups * draw.integer(1, 4)
    kernel = [draw.integer(1, min(3, size)) for size in sizes]
    pads = [draw.integer(0, 1) for _ in range(4)]
    dtype = draw.kind()
    w_scale = draw.any_scale(-6, outputs if draw.chance(0.5) else None)
    # ONNX Runtime takes one zero point for all channels.
    w_zero_point = np.full(w_scale.shape, draw.zero_point(dtype), dtype)
    y_dtype, y_scale, y_zero_point = _result(draw, int(np.log2(x.scale)) + draw.integer(1, 4))
    weights = draw.net.tensor(draw.integers(dtype, outputs, channels // groups, *kernel), is_constant=draw.chance(0.75))
    bias = [draw.net.constant(draw.rng.integers(-9999, 10000, outputs).astype(np.int32))] if draw.chance(0.5) else []
    y = draw.net.node(
        "QLinearConv",
        x.name, *draw.parameters(x.scale, x.zero_point), weights, *draw.parameters(w_scale, w_zero_point),
        *draw.parameters(y_scale, y_zero_point), *bias, group=groups, pads=pads,
    )  # fmt: skip
    draw.outputs.append(y)
    counts = [size + pads[position] + pads[position + 2] - kernel[position] + 1 for position, size in enumerate(sizes)]
    return Value(y, (batch, outputs, *counts), y_dtype, y_scale, y_zero_point)


def _qlinear_matmul(draw: Draw, a: Value) -> Value:
    *rows, terms = a.shape
    columns, dtype = draw.integer(1, 5), draw.kind()
    by_column = draw.chance(0.5)
    b_scale = draw.any_scale(-6, columns if by_column else None)
    low, high = LIMITS[dtype]
    b_zero_point = draw.rng.integers(low, high + 1, b_scale.shape).astype(dtype)
    y_dtype, y_scale, y_zero_point = _result(draw, int(np.log2(a.scale)) + draw.integer(1, 4))
    b = draw.net.tensor(draw.integers(dtype, terms, columns), is_constant=draw.chance(0.75))
    y = draw.net.node(
        "QLinearMatMul",
        a.name, *draw.parameters(a.scale, a.zero_point), b, *draw.parameters(b_scale, b_zero_point),
        *draw.parameters(y_scale, y_zero_point),
    )  # fmt: skip
    draw.outputs.append(y)
    return Value(y, (*rows, columns), y_dtype, y_scale, y_zero_point)


def qlinear(draw: Draw) -> None:
    """Operators on quantized integers, with movement between them."""
    shape = (draw.integer(1, 2), draw.integer(1, 4), draw.integer(2, 5), draw.integer(2, 5))
    dtype = draw.kind()
    stored = draw.net.input(draw.integers(dtype, *shape))
    value = Value(stored, shape, dtype, draw.any_scale(-4), draw.zero_point(dtype))
    for _ in range(draw.integer(1, 3)):
        value = _qlinear_conv(draw, value)
        if min(value.shape[2:]) >= 2 and draw.chance(0.4):
            pooled = draw.net.node("MaxPool", value.name, kernel_shape=[2, 2])
            shape = (*value.shape[:2], value.shape[2] - 1, value.shape[3] - 1)
            value = Value(pooled, shape, value.dtype, value.scale, value.zero_point)
    if draw.chance(0.5):
        order = [0, 2, 3, 1]
        moved = draw.net.node("Transpose", value.name, perm=order)
        value = Value(moved, tuple(value.shape[axis] for axis in order), value.dtype, value.scale, value.zero_point)
    for _ in range(draw.integer(1, 2)):
        value = _qlinear_matmul(draw, value)
    y = draw.net.node("DequantizeLinear", value.name, *draw.parameters(value.scale, value.zero_point))
    draw.outputs.append(y)


def products(draw: Draw) -> None:
    """MatMulInteger and ConvInteger of integers, of what DynamicQuantizeLinear gives, and of quantized values."""
    net, is_conv = draw.net, draw.chance(0.5)
    shape = (2, 2, 4, 5) if is_conv else (draw.integer(1, 3), draw.integer(1, 6))
    x = np.float32(draw.rng.normal(draw.rng.uniform(-2, 2), 1.0, shape))
    match draw.integer(0, 2):
        case 0:
            data, scale, zero_point = net.nodes_of("DynamicQuantizeLinear", net.input(x), outputs=3)
            draw.outputs += [data, scale, zero_point]
        case 1:
            dtype = draw.kind()
            data = net.input(draw.integers(dtype, *shape))
            zero_point = net.tensor(draw.zero_point(dtype), is_constant=draw.chance(0.5))
        case _:
            dtype = draw.kind()
            scale, zero = draw.any_scale(-5), draw.zero_point(dtype)
            data = net.node("QuantizeLinear", net.input(x), *draw.parameters(scale, zero))
            zero_point = net.constant(zero)
    dtype = draw.kind()
    low, high = LIMITS[dtype]
    if is_conv:
        outputs = draw.integer(1, 3)
        weights = net.constant(draw.integers(dtype, outputs, 2, draw.integer(1, 3), draw.integer(1, 3)))
        w_zero_point = net.constant(draw.zero_point(dtype))
        y = net.node("ConvInteger", data, weights, zero_point, w_zero_point, pads=[draw.integer(0, 2) for _ in "1234"])
    else:
        columns = draw.integer(1, 4)
        weights = net.constant(draw.integers(dtype, shape[1], columns))
        count = (columns,) if draw.chance(0.5) else ()
        b_zero_point = net.constant(draw.rng.integers(low, high + 1, count).astype(dtype))
        y = net.node("MatMulInteger", data, weights, zero_point, b_zero_point)
    draw.outputs += [y, net.node("Mul", net.node("Cast", y, to=TensorProto.FLOAT), net.constant(np.float32(0.3)))]


def granular(draw: Draw) -> None:
    """QuantizeLinear and DequantizeLinear of every type that ONNX Runtime has, with scales of every granularity."""
    draw.net.opset = 21
    dtype = [np.int8, np.uint8, np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4][draw.integer(0, 5)]
    information = ml_dtypes.iinfo(dtype)
    shape, axis = tuple(draw.integer(1, 6) for _ in range(3)), draw.integer(-3, 2)
    block, attributes = 0, {"axis": axis}
    match draw.integer(0, 2):
        case 0:
            counts: tuple[int, ...] = ()
        case 1:
            counts = (shape[axis],)
        case _:
            block = draw.integer(1, shape[axis])
            counts = tuple(-(-size // block) if position == axis % 3 else size for position, size in enumerate(shape))
            attributes["block_size"] = block
    scale = draw.rng.choice([1, 3, 5, 0.7], counts) * 2.0 ** draw.rng.integers(-3, 1, counts)
    real = np.float16 if draw.chance(0.3) else np.float32
    zero_point = draw.rng.integers(information.min, information.max + 1, counts).astype(dtype)
    x = (draw.rng.integers(-60, 61, shape) / 4).astype(real)
    parameters = draw.parameters(scale.astype(real), zero_point)
    q = draw.net.node("QuantizeLinear", draw.net.input(x), *parameters, **attributes)
    y = draw.net.node("DequantizeLinear", q, *parameters, **attributes)
    draw.outputs += [y] if "int4" in np.dtype(dtype).name else [q, y]


FAMILIES: dict[Callable[[Draw], None], int] = {qdq: 100, qlinear: 60, products: 40, granular: 60}


@pytest.mark.parametrize(("family", "number"), of_families(FAMILIES))
def test_random_model(family: Callable[[Draw], None], number: int) -> None:
    draw = Draw(np.random.default_rng(number))
    family(draw)
    ours, theirs = draw.net.run(*draw.outputs), run_twin(draw.net.model(*draw.outputs), draw.net.feeds)
    for name, found, expected in zip(draw.outputs, ours, theirs, strict=True):
        np.testing.assert_array_equal(as_unsigned(found), expected, err_msg=name, strict=True)


def test_results_vary() -> None:
    """The integers that are compared are neither all equal nor saturated throughout."""
    draw = Draw(np.random.default_rng(1))
    for family in FAMILIES:
        family(draw)
    inside = [
        np.mean((found > LIMITS[found.dtype.type][0]) & (found < LIMITS[found.dtype.type][1]))
        for found in draw.net.run(*draw.outputs)
        if found.dtype.type in LIMITS
    ]
    assert np.mean(inside) > 0.5
