"""Where our integers are not ONNX Runtime's, by choice: how often, on scales that make ties, and never by more than 1.

The table in docs/arithmetic.md states the bounds. ONNX Runtime's QDQ form rounds real values to f32 before it
divides; ours multiplies one exact integer once. Its QLinearMul and QLinearAveragePool add the zero point before they
round.
"""

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType, i64

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp
from qmlir.dialects.quant.types import UniformQuantizedType
from tests.referee.onnxruntime.quantized_sheets import (
    MICROSOFT,
    Draw,
    Sheet,
    dequantized,
    needs_onnxruntime,
    quantized,
    rescale,
    twin,
    twin_parameters,
    untwin,
)
from tests.support.documents import ROOT, rows_of, table_at

pytestmark = needs_onnxruntime
SHEETS, PER_SHEET, ELEMENTS = 6, 100, 40
NO = BoolAttr.from_bool(False)

Scaled = Callable[[Draw, UniformQuantizedType, int], UniformQuantizedType]


def _ratio(draw: Draw, element: UniformQuantizedType, exponent: int) -> UniformQuantizedType:
    """`element` with a small integer times a power of two."""
    return rescale(element, int(draw.rng.choice([1, 3, 5, 7, 9, 10])) * 2.0 ** (exponent - draw.integer(1, 3)))


def _any(draw: Draw, element: UniformQuantizedType, exponent: int) -> UniformQuantizedType:
    """`element` with a scale from a continuous range."""
    return rescale(element, 2.0**exponent * draw.rng.uniform(0.3, 1.5))


def _factors(draw: Draw, scaled: Scaled, terms: int) -> tuple[UniformQuantizedType, ...]:
    bits = draw.operand_bits()
    a, b = (scaled(draw, draw.element(0, bits=bits), 0) for _ in range(2))
    return a, b, scaled(draw, draw.element(0, bits=8), draw.result_exponent(terms, a, b))


def _mul(sheet: Sheet, draw: Draw, scaled: Scaled, is_qdq: bool = True) -> None:
    a, b, y = _factors(draw, scaled, 1)
    left, right = draw.stored(a, ELEMENTS), draw.stored(b, ELEMENTS)
    if is_qdq:
        theirs = quantized(sheet, sheet.node("Mul", dequantized(sheet, left, a), dequantized(sheet, right, b)), y)
    else:
        operands = [sheet.constant(twin(left, a)), *twin_parameters(sheet, a)]
        operands += [sheet.constant(twin(right, b)), *twin_parameters(sheet, b), *twin_parameters(sheet, y)]
        theirs = sheet.node("QLinearMul", *operands, domain=MICROSOFT)
    ours = sheet.op(MulOp, [sheet.value(left, a), sheet.value(right, b)], TensorType(y, [ELEMENTS]))
    sheet.expect(ours, theirs, untwin(y))


def _qlinear_mul(sheet: Sheet, draw: Draw, scaled: Scaled) -> None:
    _mul(sheet, draw, scaled, is_qdq=False)


def _relu(sheet: Sheet, draw: Draw, scaled: Scaled) -> None:
    x, y = (scaled(draw, draw.element(0), 0) for _ in range(2))
    data = draw.stored(x, ELEMENTS)
    ours = sheet.op(ReluOp, [sheet.value(data, x)], TensorType(y, [ELEMENTS]))
    sheet.expect(ours, quantized(sheet, sheet.node("Relu", dequantized(sheet, data, x)), y), untwin(y))


def _add(sheet: Sheet, draw: Draw, scaled: Scaled) -> None:
    a, y = scaled(draw, draw.element(0), 0), scaled(draw, draw.element(0), 1)
    b = rescale(draw.element(0), a.scale)
    left, right = draw.stored(a, ELEMENTS), draw.stored(b, ELEMENTS)
    theirs = quantized(sheet, sheet.node("Add", dequantized(sheet, left, a), dequantized(sheet, right, b)), y)
    ours = sheet.op(AddOp, [sheet.value(left, a), sheet.value(right, b)], TensorType(y, [ELEMENTS]))
    sheet.expect(ours, theirs, untwin(y))


def _matmul(sheet: Sheet, draw: Draw, scaled: Scaled) -> None:
    terms = draw.integer(1, 40)
    x, w, y = _factors(draw, scaled, terms)
    data, weight = draw.stored(x, 4, terms), draw.stored(w, terms, 10)
    theirs = quantized(sheet, sheet.node("MatMul", dequantized(sheet, data, x), dequantized(sheet, weight, w)), y)
    ours = sheet.op(MatMulOp, [sheet.value(data, x), sheet.value(weight, w)], TensorType(y, [4, 10]), transpose_b=NO)
    sheet.expect(ours, theirs, untwin(y))


def _average_pool(sheet: Sheet, draw: Draw, scaled: Scaled, is_qdq: bool = True) -> None:
    x, y = (scaled(draw, draw.element(0), 0) for _ in range(2))
    data, kernel = draw.stored(x, 1, 3, 6, 6), [draw.integer(1, 3), draw.integer(1, 3)]
    if is_qdq:
        theirs = quantized(sheet, sheet.node("AveragePool", dequantized(sheet, data, x), kernel_shape=kernel), y)
    else:
        operands = [sheet.constant(twin(data, x)), *twin_parameters(sheet, x), *twin_parameters(sheet, y)]
        theirs = sheet.node("QLinearAveragePool", *operands, domain=MICROSOFT, kernel_shape=kernel)
    shape = [1, 3, *(7 - taps for taps in kernel)]
    attributes = {"kernel": DenseArrayBase.from_list(i64, kernel), "ceil_mode": NO, "count_include_pad": NO}
    ours = sheet.op(AveragePoolOp, [sheet.value(data, x)], TensorType(y, shape), **attributes)
    sheet.expect(ours, theirs, untwin(y))


def _qlinear_average_pool(sheet: Sheet, draw: Draw, scaled: Scaled) -> None:
    _average_pool(sheet, draw, scaled, is_qdq=False)


FAMILIES = {
    ("matmul", "QDQ form"): _matmul,
    ("mul", "QDQ form"): _mul,
    ("relu to another scale", "QDQ form"): _relu,
    ("add of one scale", "QDQ form"): _add,
    ("average pool", "QDQ form"): _average_pool,
    ("mul", "QLinearMul"): _qlinear_mul,
    ("average pool", "QLinearAveragePool"): _qlinear_average_pool,
}
"""The rows of the table in docs/arithmetic.md that state a percentage."""

BOUNDS = {
    (ours, theirs.partition(",")[0]): float(percentage.removesuffix("%")) / 100
    for ours, theirs, percentage in rows_of(table_at("differences", ROOT / "docs" / "arithmetic.md"))
    if percentage != "none"
}


def _differences(family: Callable[[Sheet, Draw, Scaled], None], scaled: Scaled) -> np.ndarray:
    found: list[np.ndarray] = []
    for number in range(SHEETS):
        sheet, draw = Sheet(), Draw(number)
        for _ in range(PER_SHEET):
            family(sheet, draw, scaled)
        found += [np.abs(actual.astype(int) - expected).ravel() for _, actual, expected in sheet.pairs()]
    return np.concatenate(found)


def test_every_percentage_is_measured() -> None:
    assert FAMILIES.keys() == BOUNDS.keys()


@pytest.mark.parametrize("row", FAMILIES, ids=" ".join)
def test_differences(row: tuple[str, str]) -> None:
    differences = _differences(FAMILIES[row], _ratio)
    assert differences.max() <= 1
    assert (differences > 0).mean() <= BOUNDS[row]
    assert not _differences(FAMILIES[row], _any).any()
