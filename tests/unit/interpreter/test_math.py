"""The functions of `math` against exact fractions, Python's integers and NumPy."""

import math as python_math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerType, TensorType, VectorType, f32, f64, i8, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from qmlir.interpreter.upstream.math import EVALUATORS, fused_multiply_add
from tests.unit.interpreter.test_arith import FLOATS, FORMATS, WIDTHS, as_signed, as_unsigned, held, of_format


def compute(kind: type[Operation], type_: Attribute, *values: Any) -> Any:
    """The result of an operation on values of one type."""
    op = kind.create(operands=[create_ssa_value(type_) for _ in values], result_types=[type_])
    with np.errstate(all="ignore"):
        (result,) = EVALUATORS[kind](op, *values)
    return result


def _bits(value: Any) -> bytes:
    return np.asarray(value).tobytes()


# Values close to each other in magnitude, so that sums cancel, fall between two floats and on ties.
_near = st.tuples(st.integers(-(2**24), 2**24), st.integers(-30, 30)).map(lambda pair: float(pair[0]) * 2.0 ** pair[1])


@st.composite
def _factors_and_addend(draw: st.DrawFn, type_: Attribute) -> tuple[float, float, float]:
    dtype = FORMATS[type_][0]

    def rounded(value: float) -> float:
        with np.errstate(all="ignore"):
            return float(dtype(value))

    number = FLOATS[type_] | _near.map(rounded).filter(np.isfinite)
    a, b = draw(number), draw(number)
    with np.errstate(all="ignore"):
        product = float(dtype(a) * dtype(b))
    near_product = st.sampled_from([-product, product, -product * 2.0**20, product * 2.0**-20]).map(rounded)
    return a, b, draw(number | near_product.filter(np.isfinite))


@pytest.mark.parametrize("type_", FORMATS, ids=str)
@given(st.data())
def test_fma_rounds_the_exact_sum_once(type_: Attribute, data: st.DataObject) -> None:
    dtype = FORMATS[type_][0]
    a, b, c = data.draw(_factors_and_addend(type_))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    expected = of_format(exact, type_)
    found = compute(math.FmaOp, type_, dtype(a), dtype(b), dtype(c))
    assert found == expected
    assert type(found) is dtype
    array = compute(math.FmaOp, VectorType(type_, [3]), *(np.full(3, value, dtype) for value in (a, b, c)))
    np.testing.assert_array_equal(array, np.full(3, expected, dtype), strict=True)


def test_fma_where_f64_would_round_twice() -> None:
    """(1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is a tie of f32; what decides it is far below the last bit of f64."""
    factor, tiny = np.float32(1 + 2**-12), np.float32(2**-60)
    for addend, expected in ((tiny, 1 + 2**-11 + 2**-23), (-tiny, 1 + 2**-11), (np.float32(0), 1 + 2**-11)):
        assert fused_multiply_add(factor, factor, addend) == np.float32(expected)


@pytest.mark.parametrize("type_", FORMATS, ids=str)
def test_fma_of_what_is_no_number(type_: Attribute) -> None:
    dtype = FORMATS[type_][0]
    largest = float(np.finfo(dtype).max) if dtype is not ml_dtypes.bfloat16 else float(ml_dtypes.finfo(dtype).max)
    inf, nan = np.inf, np.nan
    cases = [
        (inf, 2, 3, inf), (inf, -2, 3, -inf), (inf, 0, 1, nan), (inf, 1, -inf, nan), (nan, 1, 1, nan), (1, 1, nan, nan),
        (largest, largest, -inf, -inf), (largest, 2, 0, inf), (largest, -2, 0, -inf), (largest, 2, -largest, largest),
        (0, 1, 0, 0.0), (-1, 0, -0.0, -0.0), (-1, 0, 0.0, 0.0), (2, 3, -6, 0.0), (-2, 3, 6, 0.0),
    ]  # fmt: skip
    for a, b, c, expected in cases:
        found = compute(math.FmaOp, type_, dtype(a), dtype(b), dtype(c))
        np.testing.assert_array_equal(np.float64(found), np.float64(expected), err_msg=f"{a} * {b} + {c}")
        assert np.isnan(expected) or np.signbit(found) == np.signbit(expected), f"{a} * {b} + {c}"


@given(FLOATS[f32] | st.integers(-9, 9).map(lambda n: n / 2))
@example(0.49999997)
@example(-0.5)
@example(8388607.5)
def test_round(value: float) -> None:
    x = np.float32(value)
    away = python_math.copysign(python_math.floor(abs(Fraction(value)) + Fraction(1, 2)), value)
    for kind, expected in (
        (math.RoundOp, away),
        (math.RoundEvenOp, python_math.copysign(round(Fraction(value)), value)),
        (math.FloorOp, python_math.copysign(python_math.floor(value), value)),
        (math.CeilOp, python_math.copysign(python_math.ceil(value), value)),
        (math.TruncOp, python_math.copysign(python_math.trunc(value), value)),
        (math.AbsFOp, abs(value)),
    ):
        assert _bits(compute(kind, f32, x)) == _bits(np.float32(expected)), kind.name
        assert _bits(compute(kind, TensorType(f32, []), np.asarray(x))) == _bits(np.float32(expected))


AS_NUMPY = {
    math.ExpOp: np.exp,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.LogOp: np.log,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.SqrtOp: np.sqrt,
    math.CbrtOp: np.cbrt,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanOp: np.tan,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.AtanOp: np.arctan,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.TanhOp: np.tanh,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
}


@pytest.mark.parametrize("kind", AS_NUMPY, ids=lambda kind: kind.name)
@given(FLOATS[f32] | st.floats(-3, 3, width=32))
def test_functions_are_close_to_f64(kind: type[Operation], value: float) -> None:
    with np.errstate(all="ignore"):
        expected = AS_NUMPY[kind](np.float64(value)).astype(np.float32)
    found = compute(kind, f32, np.float32(value))
    assert type(found) is np.float32
    np.testing.assert_array_max_ulp(found, expected, maxulp=4)
    array = compute(kind, TensorType(f32, [9]), np.full(9, value, np.float32))
    np.testing.assert_array_equal(array, np.full(9, found), strict=True)


@given(st.floats(-5, 5, width=32))
def test_more_functions(value: float) -> None:
    x = np.float32(value)
    np.testing.assert_array_max_ulp(compute(math.ErfOp, f32, x), np.float32(python_math.erf(value)), maxulp=1)
    if value > 0:
        expected = np.float32(1 / np.sqrt(np.float64(value)))
        np.testing.assert_array_max_ulp(compute(math.RsqrtOp, f32, x), expected, maxulp=1)
    np.testing.assert_array_max_ulp(
        compute(math.Atan2Op, f32, x, np.float32(-1)), np.float32(python_math.atan2(value, -1)), maxulp=2
    )
    np.testing.assert_array_max_ulp(
        compute(math.PowFOp, f32, np.abs(x), np.float32(1.5)), np.float32(abs(value) ** 1.5), maxulp=2
    )
    assert compute(math.CopySignOp, f32, x, np.float32(-0.0)) == -abs(value)


def test_erf_by_its_table() -> None:
    x = np.array([0, 0.5, 1, 2, -1], np.float32)
    expected = np.array([0, 0.5204998778, 0.8427007929, 0.9953222650, -0.8427007929], np.float32)
    np.testing.assert_array_max_ulp(compute(math.ErfOp, TensorType(f32, [5]), x), expected, maxulp=1)


def test_short_floats() -> None:
    for type_ in FORMATS:
        dtype = FORMATS[type_][0]
        for kind, value, expected in (
            (math.ExpOp, 0, 1),
            (math.Log2Op, 8, 3),
            (math.SqrtOp, 9, 3),
            (math.CbrtOp, 27, 3),
        ):
            found = compute(kind, type_, dtype(value))
            assert type(found) is dtype
            # NumPy's cube root of 27 in f64 is one step off where the processor has no AVX-512.
            step = np.spacing(3.0) if kind is math.CbrtOp and dtype is np.float64 else 0
            assert abs(float(found) - expected) <= step


@given(WIDTHS, st.integers(0, 2**64 - 1))
def test_bits(bits: int, number: int) -> None:
    element = IntegerType(bits)
    text = f"{as_unsigned(number, bits):0{bits}b}"
    for kind, expected in (
        (math.CountLeadingZerosOp, len(text) - len(text.lstrip("0"))),
        (math.CountTrailingZerosOp, len(text) - len(text.rstrip("0"))),
        (math.CtPopOp, text.count("1")),
        (math.AbsIOp, abs(as_signed(number, bits))),
    ):
        assert compute(kind, element, held(number, bits)) == held(expected, bits), kind.name
        array = compute(kind, TensorType(element, [2]), np.full(2, held(number, bits)))
        np.testing.assert_array_equal(array, np.full(2, held(expected, bits)), strict=True)


@given(WIDTHS, st.integers(0, 2**64 - 1) | st.integers(-3, 3), st.integers(0, 2**64 - 1) | st.integers(-5, 9))
def test_ipowi(bits: int, a: int, b: int) -> None:
    element = IntegerType(bits)
    base, exponent = as_signed(a, bits), as_signed(b, bits)
    if exponent >= 0:
        expected = pow(base, exponent, 2**bits)
    elif base == 0:
        with pytest.raises(InterpretationError, match="negative power"):
            compute(math.IPowIOp, element, held(a, bits), held(b, bits))
        return
    else:
        # A power of 1 or -1 depends on its parity only, that of another number is below 1.
        expected = int(Fraction(1, base) ** (-exponent if -exponent < 9 else exponent % 2 + 8))
    assert compute(math.IPowIOp, element, held(a, bits), held(b, bits)) == held(expected, bits)


@given(st.floats(-4, 4, width=32), st.integers(-20, 20))
def test_fpowi(base: float, exponent: int) -> None:
    op = math.FPowIOp.create(operands=[create_ssa_value(f32), create_ssa_value(i32)], result_types=[f32])
    with np.errstate(all="ignore"):
        (found,) = EVALUATORS[math.FPowIOp](op, np.float32(base), np.int32(exponent))
        expected = np.float32(np.float64(base) ** exponent)
    np.testing.assert_array_max_ulp(found, expected, maxulp=1)


def test_fpowi_of_an_exponent_beyond_f64() -> None:
    op = math.FPowIOp.create(operands=[create_ssa_value(f64), create_ssa_value(IntegerType(64))], result_types=[f64])
    assert EVALUATORS[math.FPowIOp](op, np.float64(-1), np.int64(2**53 + 1)) == (-1.0,)
    op = math.FPowIOp.create(operands=[create_ssa_value(f64), create_ssa_value(i8)], result_types=[f64])
    assert EVALUATORS[math.FPowIOp](op, np.float64(-2), np.int8(-1)) == (-0.5,)
