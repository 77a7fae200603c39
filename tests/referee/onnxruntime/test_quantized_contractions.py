"""Quantized contractions against ONNX Runtime: the same integers, ties and odd zero points included."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, IntegerType, TensorType, f32, i32, i64

from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.quant.types import UniformQuantizedType
from tests.referee.onnxruntime.quantized_sheets import (
    Draw,
    Sheet,
    check,
    needs_onnxruntime,
    twin,
    twin_parameters,
    untwin,
)
from tests.support.sampled import of_families

pytestmark = needs_onnxruntime
PER_SHEET = 100


def _numbers(values: Any) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def _bias_type(x: UniformQuantizedType, w: UniformQuantizedType) -> UniformQuantizedType:
    scales = np.float32(x.scales) * np.float32(w.scales)
    if scales.ndim:
        return UniformQuantizedType.per_axis(i32, f32, 0, scales)
    return UniformQuantizedType.per_tensor(i32, f32, float(scales))


def _convolution(sheet: Sheet, draw: Draw) -> None:
    rank = draw.integer(1, 3) if draw.chance(0.2) else 2
    groups, inputs, outputs = draw.integer(1, 3), draw.integer(1, 4), draw.integer(1, 4)
    if draw.chance(0.2):
        groups, inputs, outputs = draw.integer(2, 8), 1, draw.integer(1, 2)
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    strides, dilations = ([draw.integer(1, 2) for _ in range(rank)] for _ in range(2))
    pads = [draw.integer(0, 2) for _ in range(2 * rank)]
    sizes = [draw.integer(1, 4) + (taps - 1) * step for taps, step in zip(kernel, dilations, strict=True)]
    channels = outputs * groups
    bits = draw.operand_bits()
    x = draw.element(0, bits=bits)
    w = draw.element(0, *((0, channels) if draw.chance(0.6) else (None, None)), one_zero_point=True, bits=bits)
    y = draw.element(draw.result_exponent(inputs * int(np.prod(kernel)), x, w), bits=8 if draw.chance(0.7) else None)
    data = draw.stored(x, draw.integer(1, 2), inputs * groups, *sizes)
    weight = draw.stored(w, channels, inputs, *kernel)
    bias = draw.rng.integers(-5000, 5000, channels) if draw.chance(0.5) else None
    windows = {"strides": strides, "dilations": dilations, "pads": pads}
    if w.zero_points.ndim and draw.chance(0.5):
        weight_parameters = sheet.constant(np.float32(w.scales)), sheet.constant(twin(w.zero_points, w))
    else:
        weight_parameters = sheet.constant(np.float32(w.scales)), sheet.constant(twin(w.zero_points.flat[0], w))
    theirs = sheet.node(
        "QLinearConv",
        sheet.constant(twin(data, x)),
        *twin_parameters(sheet, x),
        sheet.constant(twin(weight, w)),
        *weight_parameters,
        *twin_parameters(sheet, y),
        *([] if bias is None else [sheet.constant(bias.astype(np.int32))]),
        group=groups,
        kernel_shape=kernel,
        **windows,
    )
    counts = [
        (size + before + after - (taps - 1) * dilation - 1) // stride + 1
        for size, before, after, taps, dilation, stride in zip(
            sizes, pads[:rank], pads[rank:], kernel, dilations, strides, strict=True
        )
    ]
    ours = sheet.op(
        ConvOp,
        [
            sheet.value(data, x),
            sheet.value(weight, w),
            None if bias is None else sheet.value(bias, _bias_type(x, w)),
        ],
        TensorType(y, [data.shape[0], channels, *counts]),
        groups=IntegerAttr(groups, i64),
        **{name: _numbers(values) for name, values in windows.items()},
    )
    sheet.expect(ours, theirs, untwin(y), x=x, w=w, y=y, data=data, weight=weight, bias=bias, groups=groups, **windows)


def _product(sheet: Sheet, draw: Draw) -> None:
    rows, terms, columns = draw.integer(1, 4), draw.integer(1, 40), draw.integer(1, 6)
    batch = [draw.integer(1, 2) for _ in range(draw.integer(0, 2))]
    is_fully_connected = not batch and draw.chance(0.4)
    bits = draw.operand_bits()
    x = draw.element(0, bits=bits)
    w = draw.element(0, *((1, columns) if draw.chance(0.6) and not batch else (None, None)), bits=bits)
    y = draw.element(draw.result_exponent(terms, x, w), bits=8 if draw.chance(0.7) else None)
    data, weight = draw.stored(x, *batch, rows, terms), draw.stored(w, *batch, terms, columns)
    theirs = sheet.node(
        "QLinearMatMul",
        sheet.constant(twin(data, x)),
        *twin_parameters(sheet, x),
        sheet.constant(twin(weight, w)),
        *twin_parameters(sheet, w),
        *twin_parameters(sheet, y),
    )
    result = TensorType(y, [*batch, rows, columns])
    if is_fully_connected or draw.chance(0.3):
        if w.axes:
            w = UniformQuantizedType.per_axis(
                w.storage, f32, 0, w.scales, w.zero_points, (w.storage_min, w.storage_max)
            )
        turned = sheet.value(weight.swapaxes(-1, -2), w)
        if is_fully_connected:
            ours = sheet.op(FullyConnectedOp, [sheet.value(data, x), turned], result)
        else:
            ours = sheet.op(MatMulOp, [sheet.value(data, x), turned], result, transpose_b=BoolAttr.from_bool(True))
    else:
        ours = sheet.op(
            MatMulOp,
            [sheet.value(data, x), sheet.value(weight, w)],
            result,
            transpose_b=BoolAttr.from_bool(False),
        )
    sheet.expect(ours, theirs, untwin(y), x=x, w=w, y=y, data=data, weight=weight)


def _accumulator_type(x: UniformQuantizedType, w: UniformQuantizedType, axis: int) -> UniformQuantizedType:
    scales = np.float32(x.scales) * np.float32(w.scales)
    if scales.ndim:
        return UniformQuantizedType.per_axis(IntegerType(32), f32, axis, scales)
    return UniformQuantizedType.per_tensor(IntegerType(32), f32, float(scales))


def _integer_product(sheet: Sheet, draw: Draw) -> None:
    rows, terms, columns = draw.integer(1, 5), draw.integer(1, 50), draw.integer(1, 6)
    x, w = draw.element(0), draw.element(0, *((1, columns) if draw.chance(0.5) else (None, None)))
    data, weight = draw.stored(x, rows, terms), draw.stored(w, terms, columns)
    theirs = sheet.node(
        "MatMulInteger",
        *(sheet.constant(twin(stored, element)) for stored, element in ((data, x), (weight, w))),
        *(sheet.constant(twin(element.zero_points, element)) for element in (x, w)),
    )
    ours = sheet.op(
        MatMulOp,
        [sheet.value(data, x), sheet.value(weight, w)],
        TensorType(_accumulator_type(x, w, 1), [rows, columns]),
        transpose_b=BoolAttr.from_bool(False),
    )
    sheet.expect(ours, theirs, x=x, w=w, data=data, weight=weight)


def _integer_convolution(sheet: Sheet, draw: Draw) -> None:
    groups, inputs, outputs, size = draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3), draw.integer(3, 6)
    kernel, pads = [draw.integer(1, 3), draw.integer(1, 3)], [draw.integer(0, 2) for _ in range(4)]
    x, w = draw.element(0), draw.element(0)
    data, weight = draw.stored(x, 1, groups * inputs, size, size), draw.stored(w, groups * outputs, inputs, *kernel)
    theirs = sheet.node(
        "ConvInteger",
        *(sheet.constant(twin(stored, element)) for stored, element in ((data, x), (weight, w))),
        *(sheet.constant(twin(element.zero_points, element)) for element in (x, w)),
        group=groups,
        pads=pads,
    )
    counts = [size + pads[axis] + pads[axis + 2] - kernel[axis] + 1 for axis in range(2)]
    ours = sheet.op(
        ConvOp,
        [sheet.value(data, x), sheet.value(weight, w)],
        TensorType(_accumulator_type(x, w, 1), [1, groups * outputs, *counts]),
        groups=IntegerAttr(groups, i64),
        pads=_numbers(pads),
    )
    sheet.expect(ours, theirs, x=x, w=w, data=data, weight=weight, groups=groups, pads=pads)


FAMILIES = {
    _convolution: 24,
    _product: 30,
    _integer_product: 8,
    _integer_convolution: 8,
}


@pytest.mark.parametrize(("family", "number"), of_families(FAMILIES))
def test_contraction(family: Any, number: int) -> None:
    sheet, draw = Sheet(), Draw(number)
    for _ in range(PER_SHEET):
        family(sheet, draw)
    check(sheet)
