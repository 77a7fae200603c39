"""Quantized elementwise operations and pools against ONNX Runtime.

Its QDQ form (dequantize, float operation, quantize) gives our integers where ours goes through floats, and where scales
are powers of two, so that every float step is exact. Its own quantized operators add the zero point before they round:
their integers are ours where that zero point is even.
"""

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, FloatAttr, TensorType, f32, i64

from qmlir.dialects.nn.activations.ops import LeakyReluOp, ReluOp, SigmoidOp, TanhOp
from qmlir.dialects.nn.elementwise.ops import AbsOp, AddOp, ClipOp, DivOp, MulOp, NegOp, SubOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp, GlobalAveragePoolOp, MaxPoolOp
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp, ReduceSumOp
from qmlir.dialects.quant.types import UniformQuantizedType
from tests.referee.onnxruntime.quantized_sheets import (
    MICROSOFT,
    Draw,
    Sheet,
    check,
    dequantized,
    needs_onnxruntime,
    quantized,
    rescale,
    twin,
    twin_parameters,
    untwin,
)
from tests.support.sampled import of_families

pytestmark = needs_onnxruntime
PER_SHEET = 100


def power_of_two(draw: Draw, element: UniformQuantizedType) -> UniformQuantizedType:
    """`element` with a scale that is a power of two about 1."""
    return rescale(element, 2.0 ** draw.integer(-2, 2))


UNARY = {"Relu": ReluOp, "Abs": AbsOp, "Neg": NegOp}
BINARY = {"Add": AddOp, "Sub": SubOp}


def _one_scale(sheet: Sheet, draw: Draw) -> None:
    """Integers of one scale; scales are powers of two."""
    shape = [draw.integer(1, 20)]
    x, y = (power_of_two(draw, draw.element(0)) for _ in range(2))
    data = draw.stored(x, *shape)
    if draw.chance(0.5):
        op_type = draw.rng.choice(list(UNARY))
        theirs = sheet.node(op_type, dequantized(sheet, data, x))
        ours = sheet.op(UNARY[op_type], [sheet.value(data, x)], TensorType(y, shape))
        sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), op=op_type, x=x, y=y, data=data)
        return
    op_type = draw.rng.choice(list(BINARY))
    other = rescale(draw.element(0), x.scale)
    added = draw.stored(other, *shape)
    theirs = sheet.node(op_type, dequantized(sheet, data, x), dequantized(sheet, added, other))
    ours = sheet.op(BINARY[op_type], [sheet.value(data, x), sheet.value(added, other)], TensorType(y, shape))
    sheet.expect(
        ours, quantized(sheet, theirs, y), untwin(y), op=op_type, x=x, other=other, y=y, data=data, added=added
    )


def _clip(sheet: Sheet, draw: Draw) -> None:
    shape = [draw.integer(1, 20)]
    x, y = (power_of_two(draw, draw.element(0)) for _ in range(2))
    data = draw.stored(x, *shape)
    low, high = np.sort(np.float32(draw.rng.uniform(-60, 60, 2)))
    theirs = sheet.node("Clip", dequantized(sheet, data, x), sheet.constant(low), sheet.constant(high))
    ours = sheet.op(
        ClipOp,
        [sheet.value(data, x)],
        TensorType(y, shape),
        minimum=FloatAttr(float(low), f32),
        maximum=FloatAttr(float(high), f32),
    )
    sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), x=x, y=y, data=data, low=low, high=high)


THROUGH_FLOAT = {"Add": AddOp, "Sub": SubOp, "Div": DivOp}


def _through_float(sheet: Sheet, draw: Draw) -> None:
    """Operands of different scales, whatever they are."""
    shape = [draw.integer(1, 20)]
    x, y = draw.element(0), draw.element(0)
    other = draw.element(1)
    if other.scale == x.scale:
        other = rescale(other, other.scale * 3)
    data, second = draw.stored(x, *shape), draw.stored(other, *shape)
    op_type = draw.rng.choice(list(THROUGH_FLOAT))
    if op_type == "Div":  # 0 / 0 is not a number to quantize
        instead = other.storage_min if other.zero_point > other.storage_min else other.storage_max
        second[second == other.zero_point] = instead
    theirs = sheet.node(op_type, dequantized(sheet, data, x), dequantized(sheet, second, other))
    ours = sheet.op(THROUGH_FLOAT[op_type], [sheet.value(data, x), sheet.value(second, other)], TensorType(y, shape))
    sheet.expect(
        ours, quantized(sheet, theirs, y), untwin(y), op=op_type, x=x, other=other, y=y, data=data, second=second
    )


def _leaky_relu(sheet: Sheet, draw: Draw) -> None:
    shape = [draw.integer(1, 20)]
    x, y, alpha = draw.element(0), draw.element(0), float(np.float32(draw.rng.uniform(0, 1)))
    data = draw.stored(x, *shape)
    theirs = sheet.node("LeakyRelu", dequantized(sheet, data, x), alpha=alpha)
    ours = sheet.op(LeakyReluOp, [sheet.value(data, x)], TensorType(y, shape), alpha=FloatAttr(alpha, f32))
    sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), x=x, y=y, data=data, alpha=alpha)


def _product(sheet: Sheet, draw: Draw) -> None:
    """Power-of-two scales through QDQ, any scales through QLinearMul."""
    shape, bits = [draw.integer(1, 20)], draw.operand_bits()
    a, b = draw.element(0, bits=bits), draw.element(0, bits=bits)
    y = draw.element(draw.result_exponent(1, a, b))
    if is_qdq := draw.chance(0.5):
        a, b = power_of_two(draw, a), power_of_two(draw, b)
        y = rescale(y, 2.0 ** draw.result_exponent(1, a, b))
    else:
        y = rescale(y, y.scale, y.zero_point & ~1 if y.zero_point & ~1 >= y.storage_min else y.storage_min + 1)
    left, right = draw.stored(a, *shape), draw.stored(b, *shape)
    if is_qdq:
        theirs = quantized(sheet, sheet.node("Mul", dequantized(sheet, left, a), dequantized(sheet, right, b)), y)
    else:
        theirs = sheet.node(
            "QLinearMul",
            *(
                name
                for stored, element in ((left, a), (right, b))
                for name in (sheet.constant(twin(stored, element)), *twin_parameters(sheet, element))
            ),
            *twin_parameters(sheet, y),
            domain=MICROSOFT,
        )
    ours = sheet.op(MulOp, [sheet.value(left, a), sheet.value(right, b)], TensorType(y, shape))
    sheet.expect(ours, theirs, untwin(y), a=a, b=b, y=y, left=left, right=right, is_qdq=is_qdq)


def _numbers(values: Any) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def _global_average_pool(sheet: Sheet, draw: Draw) -> None:
    shape = [draw.integer(1, 2), draw.integer(1, 5), draw.integer(1, 6), draw.integer(1, 6)]
    x, y = draw.element(0, bits=draw.operand_bits()), draw.element(draw.integer(-3, 0))
    data = draw.stored(x, *shape)
    theirs = sheet.node(
        "QLinearGlobalAveragePool",
        sheet.constant(twin(data, x)),
        *twin_parameters(sheet, x),
        *twin_parameters(sheet, y),
        domain=MICROSOFT,
        channels_last=0,
    )
    result = TensorType(y, [*shape[:2], 1, 1])
    if draw.chance(0.5):
        ours = sheet.op(GlobalAveragePoolOp, [sheet.value(data, x)], result)
    else:
        ours = sheet.op(ReduceMeanOp, [sheet.value(data, x)], result, axes=_numbers([2, -1]))
    sheet.expect(ours, theirs, untwin(y), x=x, y=y, data=data)


def _windows(draw: Draw, axes: int) -> dict[str, list[int]]:
    kernel = [draw.integer(1, 3) for _ in range(axes)]
    return {
        "kernel": kernel,
        "strides": [draw.integer(1, 2) for _ in range(axes)],
        "pads": [draw.integer(0, taps - 1) for taps in kernel * 2],
    }


def _average_pool(sheet: Sheet, draw: Draw) -> None:
    """Counts that are powers of two, and such scales, make every float step exact."""
    shape = [1, draw.integer(1, 4), draw.integer(3, 7), draw.integer(3, 7)]
    x, y = (power_of_two(draw, draw.element(0)) for _ in range(2))
    data, windows = draw.stored(x, *shape), _windows(draw, 2)
    windows["kernel"] = [1 if taps == 1 else 2 for taps in windows["kernel"]]
    windows["pads"] = [min(pad, taps - 1) for pad, taps in zip(windows["pads"], windows["kernel"] * 2, strict=True)]
    counts_padding = draw.chance(0.5)
    theirs = sheet.node(
        "AveragePool",
        dequantized(sheet, data, x),
        kernel_shape=windows["kernel"],
        strides=windows["strides"],
        pads=windows["pads"],
        count_include_pad=int(counts_padding),
    )
    ours = sheet.op(
        AveragePoolOp,
        [sheet.value(data, x)],
        TensorType(y, [*shape[:2], *_pooled(shape[2:], windows)]),
        count_include_pad=BoolAttr.from_bool(counts_padding),
        ceil_mode=BoolAttr.from_bool(False),
        **{name: _numbers(values) for name, values in windows.items()},
    )
    sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), x=x, y=y, data=data, **windows)


def _pooled(sizes: list[int], windows: dict[str, list[int]]) -> list[int]:
    kernel, strides, pads = windows["kernel"], windows["strides"], windows["pads"]
    return [
        (size + pads[axis] + pads[axis + len(sizes)] - kernel[axis]) // strides[axis] + 1
        for axis, size in enumerate(sizes)
    ]


def _max_pool(sheet: Sheet, draw: Draw) -> None:
    """On the stored integers themselves, which have signed kernels too."""
    shape = [1, draw.integer(1, 4), draw.integer(3, 7), draw.integer(3, 7)]
    x = draw.element(0, bits=8)
    data, windows = draw.stored(x, *shape), _windows(draw, 2)
    theirs = sheet.node(
        "MaxPool",
        sheet.constant(data),
        kernel_shape=windows["kernel"],
        strides=windows["strides"],
        pads=windows["pads"],
    )
    ours = sheet.op(
        MaxPoolOp,
        [sheet.value(data, x)],
        TensorType(x, [*shape[:2], *_pooled(shape[2:], windows)]),
        ceil_mode=BoolAttr.from_bool(False),
        **{name: _numbers(values) for name, values in windows.items()},
    )
    sheet.expect(ours, theirs, x=x, data=data, **windows)


def _sum(sheet: Sheet, draw: Draw) -> None:
    """Sums of one scale; scales are powers of two."""
    shape = [draw.integer(1, 5), draw.integer(1, 5)]
    x, y = (power_of_two(draw, draw.element(0)) for _ in range(2))
    data = draw.stored(x, *shape)
    theirs = sheet.node("ReduceSum", dequantized(sheet, data, x), sheet.constant(np.int64([1])), keepdims=0)
    ours = sheet.op(
        ReduceSumOp,
        [sheet.value(data, x)],
        TensorType(y, shape[:1]),
        axes=_numbers([1]),
        keep_dims=BoolAttr.from_bool(False),
    )
    sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), x=x, y=y, data=data)


FAMILIES = {
    _one_scale: 8,
    _clip: 4,
    _through_float: 8,
    _leaky_relu: 3,
    _product: 8,
    _global_average_pool: 10,
    _average_pool: 4,
    _max_pool: 4,
    _sum: 3,
}


@pytest.mark.parametrize(("family", "number"), of_families(FAMILIES))
def test_operation(family: Any, number: int) -> None:
    sheet, draw = Sheet(), Draw(number)
    for _ in range(PER_SHEET):
        family(sheet, draw)
    check(sheet)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


FUNCTIONS = {"Sigmoid": (SigmoidOp, _logistic), "Tanh": (TanhOp, math.tanh)}


@pytest.mark.parametrize("op_type", FUNCTIONS)
def test_function(op_type: str) -> None:
    """Two libraries differ in the last bits of a function: there the value is half-way, as far as f32 can tell."""
    kind, function = FUNCTIONS[op_type]
    sheet, draw = Sheet(), Draw(1)
    for _ in range(5 * PER_SHEET):
        x, y = draw.element(-4), draw.element(-7)
        data = draw.stored(x, 40)
        theirs = sheet.node(op_type, dequantized(sheet, data, x))
        ours = sheet.op(kind, [sheet.value(data, x)], TensorType(y, [40]))
        sheet.expect(ours, quantized(sheet, theirs, y), untwin(y), x=x, y=y, data=data)
    different = 0
    for case, actual, expected in sheet.pairs():
        x, y = case.drawn["x"], case.drawn["y"]
        for position in np.nonzero(actual != expected)[0]:
            real = function(float(np.float32(x.scale)) * (int(case.drawn["data"][position]) - x.zero_point))
            steps = real / float(np.float32(y.scale))
            assert abs(steps - math.floor(steps) - 0.5) < 1e-4, (case.drawn, position)
            different += 1
    assert different <= 10
