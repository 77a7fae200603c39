"""The integers and floats of `arith` against Python's exact integers and fractions, for every kind of width."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from qmlir.interpreter.upstream.arith import EVALUATORS

WIDTHS = st.sampled_from([1, 2, 3, 4, 7, 8, 12, 16, 24, 31, 32, 33, 48, 63, 64])
BF16, F16 = BFloat16Type(), Float16Type()


def compute(kind: type[Operation], types: list[Attribute], results: list[Attribute], *values: Any, **properties: Any):
    """The results of an operation, made without a module around it."""
    op = kind.create(operands=[create_ssa_value(type_) for type_ in types], result_types=results, properties=properties)
    with np.errstate(all="ignore"):
        return EVALUATORS[kind](op, *values)


def held(number: int, bits: int) -> np.signedinteger[Any]:
    """A number modulo 2^bits as the interpreter holds it."""
    number &= (1 << bits) - 1
    size = next(size for size in (8, 16, 32, 64) if bits <= size)
    if bits > 1 and number >> (bits - 1):
        number -= 1 << bits
    return np.dtype(f"i{size // 8}").type(number)


def as_signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def as_unsigned(number: int, bits: int) -> int:
    return number & ((1 << bits) - 1)


def toward_zero(a: int, b: int) -> int:
    return int(Fraction(a, b))


def ceiling(a: int, b: int) -> int:
    return -(-a // b)


OperandAccess = Callable[[int, int], int]
Binary = Callable[[int, int, int], int | None]
"""From two numbers and a width to the number, `None` where upstream leaves it undefined."""


def quotient(divide: Callable[[int, int], int], is_signed: bool) -> Binary:
    def divided(a: int, b: int, bits: int) -> int | None:
        if b == 0:
            return None
        result = divide(a, b)
        return None if is_signed and result == 1 << (bits - 1) else result

    return divided


EXPECTED: dict[type[Operation], tuple[OperandAccess, Binary]] = {
    arith.AddiOp: (as_signed, lambda a, b, n: a + b),
    arith.SubiOp: (as_signed, lambda a, b, n: a - b),
    arith.MuliOp: (as_signed, lambda a, b, n: a * b),
    arith.DivSIOp: (as_signed, quotient(toward_zero, True)),
    arith.FloorDivSIOp: (as_signed, quotient(lambda a, b: a // b, True)),
    arith.CeilDivSIOp: (as_signed, quotient(ceiling, True)),
    arith.DivUIOp: (as_unsigned, quotient(lambda a, b: a // b, False)),
    arith.CeilDivUIOp: (as_unsigned, quotient(ceiling, False)),
    arith.RemSIOp: (as_signed, lambda a, b, n: None if b == 0 else a - b * toward_zero(a, b)),
    arith.RemUIOp: (as_unsigned, lambda a, b, n: None if b == 0 else a % b),
    arith.MinSIOp: (as_signed, lambda a, b, n: a if a < b else b),
    arith.MaxSIOp: (as_signed, lambda a, b, n: a if a > b else b),
    arith.MinUIOp: (as_unsigned, lambda a, b, n: a if a < b else b),
    arith.MaxUIOp: (as_unsigned, lambda a, b, n: a if a > b else b),
    arith.AndIOp: (as_unsigned, lambda a, b, n: a & b),
    arith.OrIOp: (as_unsigned, lambda a, b, n: a | b),
    arith.XOrIOp: (as_unsigned, lambda a, b, n: a ^ b),
    arith.ShLIOp: (as_unsigned, lambda a, b, n: a * 2**b if b < n else None),
    arith.ShRUIOp: (as_unsigned, lambda a, b, n: a // 2**b if b < n else None),
    arith.ShRSIOp: (
        as_unsigned,
        lambda a, b, n: as_signed(a, n) // 2**b if b < n else None,
    ),
}


@st.composite
def _numbers(draw: st.DrawFn) -> tuple[int, int, int]:
    bits = draw(WIDTHS)
    number = st.integers(0, 2**bits - 1) | st.sampled_from([0, 1, 2**bits - 1, 2 ** (bits - 1)]) | st.integers(0, 9)
    return bits, as_unsigned(draw(number), bits), as_unsigned(draw(number), bits)


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.name)
@given(_numbers())
def test_integers(kind: type[Operation], numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    reading, function = EXPECTED[kind]
    expected = function(reading(a, bits), reading(b, bits), bits)
    element = IntegerType(bits)
    x, y = held(a, bits), held(b, bits)
    for shape in ((), (1,), (2, 3)):
        type_ = TensorType(element, shape)
        arrays = np.full(shape, x), np.full(shape, y)
        if expected is None:
            with pytest.raises(InterpretationError, match=f"i{bits}"):
                compute(kind, [type_] * 2, [type_], *arrays)
            continue
        (array,) = compute(kind, [type_] * 2, [type_], *arrays)
        np.testing.assert_array_equal(array, np.full(shape, held(expected, bits)), strict=True)
    if expected is None:
        with pytest.raises(InterpretationError, match=f"i{bits}"):
            compute(kind, [element] * 2, [element], x, y)
    else:
        (scalar,) = compute(kind, [element] * 2, [element], x, y)
        assert scalar == held(expected, bits)
        assert type(scalar) is type(held(0, bits))


@given(_numbers())
def test_extended(numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    element = IntegerType(bits)
    type_ = TensorType(element, [2])
    x, y = held(a, bits), held(b, bits)
    for kind, reading in ((arith.MulSIExtendedOp, as_signed), (arith.MulUIExtendedOp, as_unsigned)):
        product = reading(a, bits) * reading(b, bits)
        expected = held(product, bits), held(product >> bits, bits)
        assert compute(kind, [element] * 2, [element] * 2, x, y) == expected
        arrays = compute(kind, [type_] * 2, [type_] * 2, np.full(2, x), np.full(2, y))
        np.testing.assert_array_equal(np.stack(arrays), np.array(expected).repeat(2).reshape(2, 2), strict=True)
    total, carry = compute(arith.AddUIExtendedOp, [element] * 2, [element, IntegerType(1)], x, y)
    assert (total, carry) == (held(a + b, bits), np.int8((a + b) >> bits))
    total, carry = compute(
        arith.AddUIExtendedOp, [type_] * 2, [type_, TensorType(IntegerType(1), [2])], np.full(2, x), np.full(2, y)
    )
    np.testing.assert_array_equal(total, np.full(2, held(a + b, bits)), strict=True)
    np.testing.assert_array_equal(carry, np.full(2, (a + b) >> bits, np.int8), strict=True)


PREDICATES: dict[str, tuple[OperandAccess, Callable[[int, int], bool]]] = {
    "eq": (as_signed, lambda a, b: a == b),
    "ne": (as_signed, lambda a, b: a != b),
    "slt": (as_signed, lambda a, b: a < b),
    "sle": (as_signed, lambda a, b: a <= b),
    "sgt": (as_signed, lambda a, b: a > b),
    "sge": (as_signed, lambda a, b: a >= b),
    "ult": (as_unsigned, lambda a, b: a < b),
    "ule": (as_unsigned, lambda a, b: a <= b),
    "ugt": (as_unsigned, lambda a, b: a > b),
    "uge": (as_unsigned, lambda a, b: a >= b),
}


@given(_numbers())
def test_cmpi(numbers: tuple[int, int, int]) -> None:
    bits, a, b = numbers
    for number, predicate in enumerate(arith.CMPI_COMPARISON_OPERATIONS):
        reading, compare = PREDICATES[predicate]
        (found,) = compute(
            arith.CmpiOp, [IntegerType(bits)] * 2, [IntegerType(1)], held(a, bits), held(b, bits),
            predicate=IntegerAttr(number, i64),
        )  # fmt: skip
        assert found == np.int8(compare(reading(a, bits), reading(b, bits)))
        assert found.dtype == np.int8


@given(st.sampled_from([(1, 8), (4, 8), (7, 24), (8, 32), (24, 64), (31, 33), (32, 64)]), st.integers(0, 2**64 - 1))
def test_resize(widths: tuple[int, int], number: int) -> None:
    short, long = widths
    narrow, wide = IntegerType(short), IntegerType(long)
    x, y = held(number, short), held(number, long)
    assert compute(arith.ExtSIOp, [narrow], [wide], x) == (held(as_signed(number, short), long),)
    assert compute(arith.ExtUIOp, [narrow], [wide], x) == (held(as_unsigned(number, short), long),)
    assert compute(arith.TruncIOp, [wide], [narrow], y) == (held(number, short),)
    (index,) = compute(arith.IndexCastOp, [narrow], [IndexType()], x)
    assert (index, type(index)) == (as_signed(number, short), int)
    assert compute(arith.IndexCastOp, [IndexType()], [narrow], as_signed(number, 64)) == (held(number, short),)


def test_unsigned_types() -> None:
    """Their operations are those on the bits; only how the bits are held differs."""
    u8, u16, i32 = (IntegerType(8, Signedness.UNSIGNED), IntegerType(16, Signedness.UNSIGNED), IntegerType(32))
    (total,) = compute(arith.AddiOp, [u8, u8], [u8], np.uint8(200), np.uint8(100))
    assert (total, type(total)) == (44, np.uint8)
    assert compute(arith.ExtSIOp, [u8], [i32], np.uint8(200)) == (-56,)
    assert compute(arith.ExtUIOp, [u8], [u16], np.uint8(200)) == (200,)
    type_ = TensorType(u8, [2])
    (array,) = compute(arith.MulSIExtendedOp, [type_] * 2, [type_] * 2, *[np.array([200, 3], np.uint8)] * 2)[1:]
    np.testing.assert_array_equal(array, np.array([12, 0], np.uint8), strict=True)  # 56 * 56 = 12 * 256 + 64


# --- Floats -----------------------------------------------------------------------------------------------------------


def nearest(value: Fraction, precision: int, smallest: int, largest: int) -> float:
    """The float nearest to `value`, ties to even: `precision` bits, exponents of the last bit from `smallest` on."""
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - precision + 1, smallest)
    rounded = round(magnitude / unit) * unit  # Python rounds ties to even
    result = float("inf") if rounded >= Fraction(2) ** (largest + 1) else float(rounded)
    return -result if value < 0 else result


FORMATS: dict[Attribute, tuple[Any, int, int, int]] = {
    F16: (np.float16, 11, -24, 15),
    BF16: (ml_dtypes.bfloat16, 8, -133, 127),
    f32: (np.float32, 24, -149, 127),
    f64: (np.float64, 53, -1074, 1023),
}
"""For each type: NumPy's, the bits of precision, the exponent of the smallest subnormal and of the largest value."""


def of_format(value: Fraction, type_: Attribute) -> Any:
    dtype, *limits = FORMATS[type_]
    return dtype(nearest(value, *limits))


BF16_BITS = np.concatenate([np.arange(0x7F80), 0x8000 + np.arange(0x7F80)]).astype(np.uint16)  # the finite ones
FLOATS = {
    F16: st.floats(width=16, allow_nan=False, allow_infinity=False),
    BF16: st.sampled_from([float(value) for value in BF16_BITS.view(ml_dtypes.bfloat16)]),
    f32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    f64: st.floats(allow_nan=False, allow_infinity=False),
}  # fmt: skip

EXACT: dict[type[Operation], Callable[[Fraction, Fraction], Fraction]] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
    arith.DivfOp: lambda a, b: a / b,
}


@pytest.mark.parametrize("type_", FORMATS, ids=str)
@given(st.data())
def test_float_arithmetic_rounds_once(type_: Attribute, data: st.DataObject) -> None:
    dtype = FORMATS[type_][0]
    a, b = data.draw(FLOATS[type_]), data.draw(FLOATS[type_])
    for kind, function in EXACT.items():
        if kind is arith.DivfOp and b == 0:
            continue
        expected = of_format(function(Fraction(a), Fraction(b)), type_)
        (found,) = compute(kind, [type_] * 2, [type_], dtype(a), dtype(b))
        assert found == expected
        assert type(found) is dtype
        (array,) = compute(kind, [VectorType(type_, [5])] * 2, [VectorType(type_, [5])], np.full(5, a, dtype),
                           np.full(5, b, dtype))  # fmt: skip
        np.testing.assert_array_equal(array, np.full(5, expected, dtype), strict=True)


@given(FLOATS[f64])
def test_truncf(value: float) -> None:
    for target in (F16, BF16, f32):
        (found,) = compute(arith.TruncFOp, [f64], [target], np.float64(value))
        assert found == of_format(Fraction(value), target)
        assert compute(arith.ExtFOp, [target], [f64], found) == (np.float64(found),)


@given(FLOATS[f32])
def test_truncf_of_f32(value: float) -> None:
    for target in (F16, BF16):
        assert compute(arith.TruncFOp, [f32], [target], np.float32(value)) == (of_format(Fraction(value), target),)


def test_truncf_rounds_once() -> None:
    """1 + 2^-8 is a tie of bf16; what f32 would lose breaks it."""
    tie = 1 + 2.0**-8
    for value, expected in ((tie, 1.0), (tie + 2.0**-40, 1 + 2.0**-7), (tie - 2.0**-40, 1.0)):
        (found,) = compute(arith.TruncFOp, [f64], [BF16], np.float64(value))
        assert float(found) == expected
    (array,) = compute(
        arith.TruncFOp, [TensorType(f64, [3])], [TensorType(BF16, [3])], np.array([np.nan, np.inf, -1e39])
    )
    np.testing.assert_array_equal(array.astype(np.float32), np.array([np.nan, np.inf, -np.inf], np.float32))


@given(WIDTHS, st.integers(0, 2**64 - 1))
def test_integer_to_float(bits: int, number: int) -> None:
    element = IntegerType(bits)
    for target in (F16, BF16, f32, f64):
        for kind, reading in ((arith.SIToFPOp, as_signed), (arith.UIToFPOp, as_unsigned)):
            expected = of_format(Fraction(reading(number, bits)), target)
            assert compute(kind, [element], [target], held(number, bits)) == (expected,)


@pytest.mark.parametrize("exponent", [24, 40, 55])
def test_integer_to_float_rounds_once(exponent: int) -> None:
    """2^n + 2^(n-8) is a tie of bf16; a last bit that f32 or f64 would lose breaks it."""
    tie = 2**exponent + 2 ** (exponent - 8)
    for number, expected in ((tie, 2**exponent), (tie + 1, 2**exponent + 2 ** (exponent - 7)), (tie - 1, 2**exponent)):
        for sign in (1, -1):
            (found,) = compute(arith.SIToFPOp, [i64], [BF16], np.int64(sign * number))
            assert int(found) == sign * expected


@given(WIDTHS, FLOATS[f64] | FLOATS[f32] | st.integers(-300, 300).map(lambda n: n / 4))
def test_float_to_integer(bits: int, value: float) -> None:
    element = IntegerType(bits)
    whole = int(value)
    for kind, low, high in (
        (arith.FPToSIOp, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
        (arith.FPToUIOp, 0, 2**bits - 1),
    ):
        if low <= whole <= high:
            assert compute(kind, [f64], [element], np.float64(value)) == (held(whole, bits),)
        else:
            with pytest.raises(
                InterpretationError, match=rf"of type f64 cannot be represented as an? \w+ value of type i{bits}"
            ):
                compute(kind, [f64], [element], np.float64(value))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_number_to_integer(value: float) -> None:
    with pytest.raises(InterpretationError, match="cannot be represented as a signed value of type i8"):
        compute(arith.FPToSIOp, [f32], [IntegerType(8)], np.float32(value))


SPECIAL = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("type_", FORMATS, ids=str)
def test_minimum_and_maximum(type_: Attribute) -> None:
    dtype = FORMATS[type_][0]

    def bits(value: Any) -> tuple[float, bool] | str:
        return "nan" if np.isnan(value) else (float(value), bool(np.signbit(value)))

    def order(value: float) -> tuple[float, bool]:
        return value, not np.signbit(value)

    for a in SPECIAL:
        for b in SPECIAL:
            has_nan = np.isnan([a, b]).any()
            others = [value for value in (a, b) if not np.isnan(value)] or [np.nan]
            for kind, choose, propagates in (
                (arith.MinimumfOp, min, True),
                (arith.MaximumfOp, max, True),
                (arith.MinnumfOp, min, False),
                (arith.MaxnumfOp, max, False),
            ):
                expected = np.nan if has_nan and propagates else choose(others, key=order)
                (found,) = compute(kind, [type_] * 2, [type_], dtype(a), dtype(b))
                assert bits(found) == bits(expected), (kind.name, a, b)
                assert type(found) is dtype
                vector = VectorType(type_, [2])
                (array,) = compute(kind, [vector] * 2, [vector], np.full(2, a, dtype), np.full(2, b, dtype))
                assert [bits(value) for value in array] == [bits(expected)] * 2


ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: a < b or a > b,
}


def test_cmpf() -> None:
    for a in SPECIAL:
        for b in SPECIAL:
            unordered = bool(np.isnan([a, b]).any())
            expected = {"false": False, "true": True, "ord": not unordered, "uno": unordered}
            for name, compare in ORDERED.items():
                expected[f"o{name}"] = not unordered and compare(a, b)
                expected[f"u{name}"] = unordered or compare(a, b)
            for number, predicate in enumerate(arith.CMPF_COMPARISON_OPERATIONS):
                (found,) = compute(
                    arith.CmpfOp, [f32] * 2, [IntegerType(1)], np.float32(a), np.float32(b),
                    predicate=IntegerAttr(number, i64),
                )  # fmt: skip
                assert found == np.int8(expected[predicate]), (predicate, a, b)
                assert found.dtype == np.int8


@given(st.integers(0, 2**32 - 1))
def test_bitcast(bits: int) -> None:
    (value,) = compute(arith.BitcastOp, [IntegerType(32)], [f32], held(bits, 32))
    assert value.view(np.uint32) == bits
    assert compute(arith.BitcastOp, [f32], [IntegerType(32)], value) == (held(bits, 32),)
