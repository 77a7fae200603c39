"""`quant.qcast` and `quant.dcast` against ONNX Runtime's QuantizeLinear and DequantizeLinear: every bit the same."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32

from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from tests.referee.onnxruntime.quantized_sheets import Draw, Sheet, check, needs_onnxruntime
from tests.support.sampled import of_families

pytestmark = needs_onnxruntime
PER_SHEET = 100

STORAGE = {
    (8, True): TensorProto.INT8,
    (8, False): TensorProto.UINT8,
    (16, True): TensorProto.INT16,
    (16, False): TensorProto.UINT16,
    (4, True): TensorProto.INT4,
    (4, False): TensorProto.UINT4,
}


def _element(draw: Draw, shape: tuple[int, ...]) -> tuple[UniformQuantizedType, int, dict[str, int]]:
    """A type for a tensor of `shape`: per tensor, per axis or per block; its ONNX storage type and attributes."""
    (bits, is_signed), dtype = list(STORAGE.items())[draw.integer(0, len(STORAGE) - 1)]
    storage = IntegerType(bits, Signedness.SIGNLESS if is_signed else Signedness.UNSIGNED)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    axis, exponent = draw.integer(0, len(shape) - 1), draw.integer(-8, 2)

    def zero_points(scales: np.ndarray) -> np.ndarray:
        return draw.rng.integers(low, high + 1, scales.shape)

    # ONNX Runtime takes a scale of one element for one per tensor, which has no blocks.
    match draw.integer(0, 2 if max(shape) > 1 and len(shape) > 1 else 1):
        case 0:
            scale = draw.scales(None, exponent)
            return UniformQuantizedType.per_tensor(storage, f32, float(scale), int(zero_points(scale))), dtype, {}
        case 1:
            scales = draw.scales(shape[axis], exponent)
            element = UniformQuantizedType.per_axis(storage, f32, axis, scales, zero_points(scales))
            return element, dtype, {"axis": axis}
        case _:
            # ONNX has blocks along one axis, and a parameter for every index of the others.
            blocks = [size for size in range(1, shape[axis] + 1) if shape[axis] % size == 0]
            block = (
                1
                if all(size == 1 for position, size in enumerate(shape) if position != axis)
                else draw.rng.choice(blocks)
            )
            counts = tuple(size // block if position == axis else size for position, size in enumerate(shape))
            scales = draw.scales(int(np.prod(counts)), exponent).reshape(counts)
            sizes = {position: int(block) if position == axis else 1 for position in range(len(shape))}
            element = UniformQuantizedType.per_block(storage, f32, sizes, scales, zero_points(scales))
            return element, dtype, {"axis": axis, "block_size": int(block)}


def _reals(draw: Draw, element: UniformQuantizedType, shape: tuple[int, ...]) -> np.ndarray:
    """Values in and around the range, on half-way points between stored integers in half of the cases."""
    span = element.storage_max - element.storage_min
    steps = draw.rng.uniform(-0.7 * span, 0.7 * span, shape)
    if draw.chance(0.5):
        steps = np.floor(steps) + 0.5
    values = np.float32(steps) * np.float32(element.scales.flat[0])
    # From 2^31 steps up ONNX Runtime's quantizers to 4 bits and in blocks saturate at the wrong end.
    if element.bits > 4 and element.granularity is not Granularity.BLOCK and draw.chance(0.1):
        values.flat[0] = draw.rng.choice(np.float32([np.inf, -np.inf, 3e38, -0.0, 1e-45]))
    return values


def _quantize(sheet: Sheet, draw: Draw) -> None:
    shape = tuple(draw.integer(1, 6) for _ in range(draw.integer(1, 3)))
    element, dtype, attributes = _element(draw, shape)
    values = _reals(draw, element, shape)
    scale = sheet.constant(element.scales.astype(np.float32))
    stored = sheet.node(
        "QuantizeLinear",
        sheet.constant(values),
        scale,
        sheet.constant(element.zero_points, dtype),
        **attributes,
    )
    # NumPy has no type for 4 bits: ONNX Runtime widens them.
    theirs = sheet.node("Cast", stored, to=TensorProto.INT32)
    ours = sheet.op(QuantizeCastOp, [sheet.value(values)], TensorType(element, shape))
    sheet.expect(ours, theirs, element=element, values=values, **attributes)


def _dequantize(sheet: Sheet, draw: Draw) -> None:
    shape = tuple(draw.integer(1, 6) for _ in range(draw.integer(1, 3)))
    element, dtype, attributes = _element(draw, shape)
    stored = draw.stored(element, *shape)
    theirs = sheet.node(
        "DequantizeLinear",
        sheet.constant(stored, dtype),
        sheet.constant(element.scales.astype(np.float32)),
        sheet.constant(element.zero_points, dtype),
        **attributes,
    )
    ours = sheet.op(DequantizeCastOp, [sheet.value(stored, element)], TensorType(f32, shape))
    sheet.expect(ours, theirs, element=element, stored=stored, **attributes)


@pytest.mark.parametrize(("family", "number"), of_families({_quantize: 15, _dequantize: 15}))
def test_cast(family: Any, number: int) -> None:
    sheet, draw = Sheet(), Draw(number)
    for _ in range(PER_SHEET):
        family(sheet, draw)
    check(sheet)
