"""The arithmetic of LiteRT's kernels: multipliers, bounds, tables, and formulas of single operators.

LiteRT has two sets of kernels, which round differently: the reference kernels (`BUILTIN_REF`) and the default ones,
most of which are XNNPACK's. The formulas of both were checked against ai-edge-litert 2.3 on x86-64. Sources:
`tensorflow/lite/kernels/internal/{common.h,quantization_util.cc,reference/}` and `XNNPACK/src/{operators,configs}`.

The reference kernels multiply a 32-bit integer by a fixed-point number `q * 2^-shift` and round twice, except in fully
connected layers (`Multiplier.ROUNDED_DOUBLE`). XNNPACK multiplies in f32 and rounds ties to even.
"""

import math
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.functions import erf
from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value
from qmlir.arithmetic.requantization import Affine, Limits, Mode, f32_multiplier, fixed_point

F32 = np.float32
Reals = npt.NDArray[np.float32]
Scale = float | np.float32


class Multiplier(Enum):
    """How a reference kernel computes its multiplier from scales, and how it rounds."""

    DOUBLE = auto()
    """`f64(s_x) * f64(s_w) / f64(s_y)`, rounded twice: convolutions, conversions between types."""

    SINGLE_PRODUCT = auto()
    """`f64(f32(s_x * s_w)) / f64(s_y)`, rounded twice: products of two tensors."""

    SINGLE = auto()
    """`f32(f32(s_x * s_w) / s_y)`, rounded twice: elementwise products."""

    ACTIVATION = auto()
    """As `SINGLE`, and in XNNPACK's set too, which has no such kernel: activations that rescale."""

    SUM = auto()
    """As `DOUBLE`, and in XNNPACK's set for the sums that it doesn't compute by its own formula."""

    REDUCED = auto()
    """As `DOUBLE`, by a multiplier of 16 bits, and rounded once, ties up: convolutions of 16-bit data."""

    ROUNDED_DOUBLE = auto()
    """As `DOUBLE`, but multiplied in f64 and rounded once, ties away from zero: fully connected layers."""

    OWN = auto()
    """A formula or table of the operation."""

    MEAN = auto()
    """As `DOUBLE`, but the fixed-point number is divided by the number of elements, and truncated."""


@runtime_checkable
class HasMultiplier(Protocol):
    """An operation whose integers a kernel of LiteRT rescales."""

    def litert_multiplier(self) -> Multiplier:
        """Returns how the reference kernel computes the multiplier."""
        ...

    def litert_kernels(self) -> Mode:
        """Returns the set of kernels that computes the operation: XNNPACK has none for 16-bit data."""
        ...


def rescaling(
    multiplier: Multiplier, mode: Mode, source: npt.ArrayLike, target: npt.ArrayLike, count: npt.ArrayLike = 1
) -> tuple[Mode, list[Array]]:
    """Returns the mode in which integers of scale `source` are rescaled to `target`, and the parameters of that mode.

    For a mean, the integers are sums of `count` elements. Raises `ValueError` if the mode cannot express the ratio.
    """
    if mode is Mode.LITERT_XNNPACK and multiplier not in (Multiplier.ACTIVATION, Multiplier.SUM):
        return Mode.F32, [f32_multiplier(source, target)]
    if multiplier in (Multiplier.SINGLE, Multiplier.ACTIVATION):
        ratio = f32_multiplier(source, target).astype(np.float64)
    else:
        ratio = np.asarray(source, np.float64) / np.asarray(target, np.float32).astype(np.float64)
    if multiplier is Multiplier.ROUNDED_DOUBLE:
        return Mode.F64, [np.asarray(ratio)]
    factor, shift = fixed_point(ratio)
    if multiplier is Multiplier.REDUCED:
        short = np.where(factor < 0x7FFF0000, (factor + (1 << 15)) >> 16, 0x7FFF)
        return Mode.SINGLE_ROUND, [short, shift - 16]
    return Mode.DOUBLE_ROUND, list(_divided(factor, shift, count) if multiplier is Multiplier.MEAN else (factor, shift))


def _divided(factor: Array, shift: Array, count: npt.ArrayLike) -> tuple[Array, Array]:
    """Divides a fixed-point number by integers, after a shift to the left that keeps its bits; truncates."""
    counts = np.asarray(count, np.int64)
    bits = np.minimum(np.frexp(counts.astype(np.float64))[1] - 1, np.minimum(32, 62 - shift))
    return (factor << bits) // counts, shift + bits


def half_away(e: Steps, x: Value) -> Value:
    """Rounds floats to integers, ties away from zero."""
    whole = e.round_even(x)
    rest = x - whole  # exact; of a tie, it shows where the tie went
    return (
        whole
        + e.where((rest == 0.5) & (x > 0), e.constant(1, x), 0)
        - e.where((rest == -0.5) & (x < 0), e.constant(1, x), 0)
    )


def stored_bound(mode: Mode, bound: float, result: Affine, limits: Limits) -> int:
    """Returns the stored integer of a bound of an activation: `rha(b / s) + z`, in XNNPACK `rne(f32(b / s) + z)`."""
    steps = F32(bound) / F32(result.scale)
    if mode is Mode.LITERT_XNNPACK:
        found = np.rint(F32(steps + F32(result.zero_point)))
    else:
        found = half_away(NUMPY, np.asarray(steps)) + result.zero_point
    return int(np.clip(found.astype(np.float64), *limits))


def quantized(e: Steps, x: Value, mode: Mode, result: Affine) -> Value:
    """Quantizes f32 values, without the zero point: `rha(x / s)`, or `rne(x * (1 / s))` in XNNPACK; NaN becomes 0."""
    x = e.where(x == x, x, 0)
    if mode is Mode.LITERT_XNNPACK:
        return e.round_even(x * float(F32(1) / F32(result.scale)))
    return half_away(e, x / float(result.scale))


# --- Fixed-point numbers ----------------------------------------------------------------------------------------------
#
# The integers of formulas are 64 bits wide, and their values have 32 bits unless they are products.


def high_product(a: Value, b: Value, bits: int = 32) -> Value:
    """Returns the upper half of twice a product, rounded to nearest, ties up (`SaturatingRoundingDoublingHighMul`)."""
    return (a * b + (1 << (bits - 2))) >> (bits - 1)


def rounded_shift(e: Steps, x: Value, amount: Value) -> Value:
    """Divides by `2^amount` and rounds to nearest, ties away from zero (`RoundingDivideByPOT`); `amount` >= 0."""
    half = (e.constant(1, x) << amount) >> 1
    return (x + half - e.where((x < 0) & (half > 0), e.constant(1, x), 0)) >> amount


def multiplied(e: Steps, x: Value, ratio: float) -> Value:
    """Multiplies by a ratio and rounds twice (`MultiplyByQuantizedMultiplier`)."""
    factor, shift = (int(each) for each in fixed_point(abs(ratio)))
    left, right = max(31 - shift, 0), max(shift - 31, 0)
    moved = (x << left + 32) >> 32 if left else x  # 32 bits wrap around
    product = high_product(moved, factor)
    rounded = rounded_shift(e, product, right) if right else product
    return -rounded if ratio < 0 else rounded


# --- Formulas on stored integers, without the zero point of the result ------------------------------------------------


def leaky_relu(e: Steps, x: Value, source: Affine, result: Affine, alpha: float) -> Value:
    """Rescales `q - z` by one of two fixed-point numbers."""
    v = x - source.zero_point
    own = F32(source.scale) / F32(result.scale)
    low = F32(F32(source.scale) * F32(alpha)) / F32(result.scale)
    return e.where(v >= 0, multiplied(e, v, float(own)), multiplied(e, v, float(low)))


def prelu(e: Steps, x: Value, slope: Value, source: Affine, slopes: Affine, result: Affine) -> Value:
    """Rescales `q - z` or its product with a slope."""
    v = x - source.zero_point
    own = F32(source.scale) / F32(result.scale)
    product = F32(F32(source.scale) * F32(slopes.scale)) / F32(result.scale)
    low = multiplied(e, v * (slope - slopes.zero_point), float(product))
    return e.where(v >= 0, multiplied(e, v, float(own)), low)


def mean(e: Steps, total: Value, count: Value) -> Value:
    """Divides a sum of stored integers by their number, rounded to nearest, ties away from zero: an average pool."""
    size = (e.where(total < 0, -total, total) + (count >> 1)) // count
    return e.where(total < 0, -size, size)


def xnnpack_sum(e: Steps, x: Value, y: Value, sign: int, left: Affine, right: Affine, result: Affine) -> Value:
    """Adds two products with 20-bit numbers, and rounds ties up once: XNNPACK's sum or difference."""
    ratios = [F32(each.scale) / F32(result.scale) for each in (left, right)]
    shift = 20 - (math.frexp(float(max(ratios)))[1] - 1)
    a, b = (int(np.rint(math.ldexp(float(each), shift))) for each in ratios)
    b *= sign
    return (x * a + y * b + ((1 << (shift - 1)) - a * left.zero_point - b * right.zero_point)) >> shift


def xnnpack_rescaled(e: Steps, x: Value, source: Affine, result: Affine, alpha: float = 1.0) -> Value:
    """Rescales `q - z` by a number with 8 fraction bits, and rounds ties up; `alpha` is a slope for negative values."""
    ratio = F32(source.scale) / F32(result.scale)
    factor, low = (int(np.rint(F32(256) * each)) for each in (ratio, F32(ratio * F32(alpha))))
    v = x - source.zero_point
    scaled = v * factor if factor == low else e.where(v >= 0, v * factor, v * low)
    return (scaled + 128) >> 8


def xnnpack_mean(e: Steps, total: Value, count: int, source: Affine, result: Affine, *, is_sum: bool) -> Value:
    """Scales a sum of stored integers in f32, with one offset for all zero points; includes that of the result."""
    scale = F32(source.scale) / F32(result.scale)
    scale = scale if is_sum else F32(scale * (F32(1) / F32(count)))
    offset = F32(F32(result.zero_point) - F32(F32(count * source.zero_point) * scale))
    return e.round_even(e.narrow(e.real(total)) * float(scale) + float(offset))


def rounded_up(v: Value, source: Affine, result: Affine) -> Value:
    """Rescales `q - z` by a fixed-point number and rounds twice, ties up: LiteRT's other kernels for x86."""
    factor, shift = (int(each) for each in fixed_point(float(source.scale) / float(result.scale)))
    left, right = max(31 - shift, 0), max(shift - 31, 0)
    product = high_product((v << left + 32) >> 32 if left else v, factor)
    return (product + (1 << right - 1)) >> right if right else product


def is_delegated(source: Affine, result: Affine, alpha: float = 1.0) -> bool:
    """Returns whether XNNPACK rescales a value, and with a slope `alpha` negative values."""
    ratio = F32(source.scale) / F32(result.scale)
    low = F32(ratio * F32(alpha))
    return bool(1 / 256 <= ratio <= 128 and abs(low) >= 1 / 256 and -32767 / 256 <= low <= 128)


def is_sum_delegated(left: Affine, right: Affine, result: Affine) -> bool:
    """Returns whether XNNPACK computes a sum or difference."""
    return all(2.0**-10 <= F32(each.scale) / F32(result.scale) < 2.0**8 for each in (left, right))


# --- Resizing ---------------------------------------------------------------------------------------------------------

Positions = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The first and the second element of each sample, and the integer weight of the second."""


def reference_samples(size: int, count: int, aligned: bool, half_pixel: bool) -> Positions:
    """Returns the samples of a linear resize from `size` to `count` elements, weights with 10 fraction bits."""
    step = ((size << 10) + count // 2) // count
    if aligned and count > 1:
        step = (((size - 1) << 10) + (count - 1) // 2) // (count - 1)
    place = np.arange(count, dtype=np.int64) * step + ((step >> 1) - (1 << 9) if half_pixel else 0)
    truncated = np.where(place >= 0, place >> 10, -(-place >> 10))
    first = np.maximum(truncated, 0)
    return first, np.minimum(-(-place >> 10), size - 1), place - (first << 10)


def xnnpack_samples(size: int, count: int, aligned: bool, half_pixel: bool) -> Positions:
    """Returns the samples of a linear resize from `size` to `count` elements, weights with 11 fraction bits."""
    less = int(aligned and count != 1)
    step = F32(F32(size - less) / F32(count - less))
    place = np.arange(count).astype(F32) * step
    if half_pixel and not aligned:
        place = np.maximum(place + F32(F32(0.5) * step - F32(0.5)), F32(0))
    place = np.minimum(place, F32(size - 1))
    first = place.astype(np.int64)
    return first, np.minimum(first + 1, size - 1), np.rint((place - first.astype(F32)) * F32(2048)).astype(np.int64)


def interpolated(e: Steps, mode: Mode, corners: Sequence[Value], down: Value, right: Value) -> Value:
    """Interpolates between four elements in row-major order, by the weights of the lower and of the right ones."""
    top_left, top_right, low_left, low_right = corners
    if mode is Mode.LITERT_XNNPACK:  # rounded ties up
        top = (top_left << 11) + (top_right - top_left) * right
        low = (low_left << 11) + (low_right - low_left) * right
        return ((top << 11) + (low - top) * down + (1 << 21)) >> 22
    up, left = 1024 - down, 1024 - right
    total = (top_left * left + top_right * right) * up + (low_left * left + low_right * right) * down
    size = (e.where(total < 0, -total, total) + (1 << 19)) >> 20  # ties away from zero
    return e.where(total < 0, -size, size)


# --- Softmax ----------------------------------------------------------------------------------------------------------

_EXPONENTS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""`e^-(2^i)` for `i` from -2 to 4, in 31 fraction bits."""

_ONE = (1 << 31) - 1

REAL_BITS = 26
"""The number of fraction bits of the differences whose powers a softmax adds."""


def _shifted_left(x: Array, bits: int) -> Array:
    return np.clip(x << bits, -(1 << 31), _ONE)


def _power_of_fraction(x: Array) -> Array:
    """Returns `e^x` for `x` in `[-1/4, 0)`, in 31 fraction bits: a Taylor polynomial around -1/8."""
    moved = x + (1 << 28)
    square = high_product(moved, moved)
    cube, fourth = high_product(square, moved), high_product(square, square)
    terms = rounded_shift(NUMPY, high_product(rounded_shift(NUMPY, fourth, 2) + cube, 715827883) + square, 1)
    return np.clip(1895147668 + high_product(1895147668, moved + terms), -(1 << 31), _ONE)


def powers(x: Array) -> Array:
    """Returns `e^x` for `x <= 0` with 26 fraction bits, in 31 fraction bits (gemmlowp's `exp_on_negative_values`)."""
    quarter = 1 << 24
    fraction = (x & (quarter - 1)) - quarter
    found, rest = _power_of_fraction(_shifted_left(fraction, 5)), fraction - x
    for position, factor in enumerate(_EXPONENTS):
        found = np.where(rest & (1 << (24 + position)), high_product(found, factor), found)
    return np.where(x == 0, _ONE, found)


def softmax_powers(scale: Scale) -> npt.NDArray[np.int32]:
    """Returns a table of `e^(-d s)` in 31 fraction bits for differences `d` from 0 to 255; 0 if it is negligible."""
    factor, shift = (int(each) for each in fixed_point(min(float(F32(scale)) * (1 << REAL_BITS), 2.0**31 - 1)))
    left = 31 - shift
    differences = -np.arange(256, dtype=np.int64)
    is_used = differences >= -math.floor(31.0 * (1 << REAL_BITS) / math.ldexp(1.0, left))
    kept = np.where(is_used, differences, 0)
    moved = (kept << left) if left >= 0 else kept
    found = powers(high_product((moved << 32) >> 32, factor))
    return np.where(is_used, found, 0).astype(np.int32)


def softmax_reals(scale: Scale) -> Reals:
    """Returns XNNPACK's table of `e^(-d s)` in f32 for differences `d` from 0 to 255."""
    return exponential(-F32(scale) * np.arange(256).astype(F32))


def softmax_term(e: Steps, power: Value) -> Value:
    """Returns a power with 12 bits fewer, of which 2^12 may be added."""
    return rounded_shift(e, power, 12)


def softmax_share(e: Steps, power: Value, total: Value, bits: int) -> Value:
    """Returns `power` over the `total` of `softmax_term`, in steps of `2^-bits`; the zero point is not added."""
    # The number of bits of the total, from the exponent of the float.
    length = (e.bits(e.real(total)) >> 52) - 1022
    headroom = 32 - length
    inverse = _reciprocal(e, (total << headroom) - (1 << 31))
    return rounded_shift(e, high_product(inverse, power), 12 - headroom + 31 - bits)


def _reciprocal(e: Steps, x: Value) -> Value:
    """Returns `1 / (1 + x)` for `x` in `[0, 1)`, in 31 fraction bits, saturated: three steps of Newton's method."""
    half = (x + _ONE + 1) >> 1  # the sum isn't negative
    found = high_product(half, -1010580540) + 1515870810
    for _ in range(3):
        found = found + (high_product(found, (1 << 29) - high_product(half, found)) << 2)
    return e.where(found >= 1 << 30, _ONE, found << 1)


# --- Tables: functions of one stored integer --------------------------------------------------------------------------


def exponential(x: Reals) -> Reals:
    """Returns the f32 nearest to `e^x`."""
    with np.errstate(over="ignore"):
        return np.exp(x.astype(np.float64)).astype(F32)


def _sigmoid(x: Reals) -> Reals:
    return F32(1) / (F32(1) + exponential(-x))


def _xnnpack_sigmoid(x: Reals) -> Reals:
    power = np.exp(np.clip(x.astype(np.float64), -100, 100))
    return np.where(x > 100, 1, np.where(x < -100, 0, power / (1 + power))).astype(F32)


def _tanh(x: Reals) -> Reals:
    return np.tanh(x.astype(np.float64)).astype(F32)


def _gelu(x: Reals) -> Reals:
    curve = erf(x * F32(math.sqrt(0.5)))
    return F32(0.5) * x * (F32(1) + curve)


def _elu(x: Reals) -> Reals:
    return np.where(x < 0, np.expm1(x.astype(np.float64)), x).astype(F32)


FUNCTIONS: dict[str, tuple[Callable[[Reals], Reals], Callable[[Reals], Reals]]] = {
    "sigmoid": (_sigmoid, _xnnpack_sigmoid),
    "tanh": (_tanh, _tanh),
    "gelu": (_gelu, _gelu),
    "elu": (_elu, _elu),
}
"""The f32 functions that the reference kernels and XNNPACK tabulate, by the name of the function."""


def tabulated(name: str, mode: Mode, stored: Array, source: Affine, result: Affine, limits: Limits) -> Array:
    """Returns the stored results of a function of `FUNCTIONS` for stored integers: one f32 step after the other."""
    reference, xnnpack = FUNCTIONS[name]
    integers = stored.astype(np.int64) - source.zero_point
    real = integers.astype(F32) * F32(source.scale)
    inverse = F32(1) / F32(result.scale)
    with np.errstate(over="ignore"):
        if mode is Mode.LITERT_XNNPACK:
            found = np.rint(xnnpack(real) * inverse + F32(result.zero_point))
        else:
            found = half_away(NUMPY, reference(real) * inverse) + F32(result.zero_point)
    return np.clip(found, *limits).astype(np.int64)


_STEPS_16 = 512
"""The number of steps of the tables that a softmax of 16-bit data interpolates between."""


def sigmoid16(stored: Array, scale: Scale) -> Array:
    """Returns the sigmoid of 16-bit integers with 15 fraction bits: interpolated between 256 values up to 32 / 3."""
    moved = _in_24ths(stored, scale, is_tanh=False)
    found = _interpolated(np.abs(moved), 9, 0x7FFF << 10)
    return np.where(moved >= 0, found + 512, (1 << 25) - found + 511) >> 10


def tanh16(stored: Array, scale: Scale) -> Array:
    """Returns the hyperbolic tangent of 16-bit integers with 15 fraction bits: from the table of the sigmoid."""
    moved = _in_24ths(stored, scale, is_tanh=True)
    found = _interpolated(np.abs(moved), 8, 0xFFFF << 8)
    return np.where(moved >= 0, found - (1 << 23) + 128, (1 << 23) - found + 127) >> 8


def _interpolated(size: Array, bits: int, largest: int) -> Array:
    """Interpolates the table of the sigmoid at numbers with `bits` fraction bits; `largest` is the value beyond it."""
    table, place = _sigmoid_table(), np.minimum(size >> bits, 254)
    found = (table[place] << bits) + (size & ((1 << bits) - 1)) * (table[place + 1] - table[place])
    return np.where((size >> bits) >= 255, largest, found)


def _sigmoid_table() -> npt.NDArray[np.int64]:
    """Returns `65536 sigmoid(i / 24)` for `i` from 0 to 255, plus half the error of an interpolation in the middle."""

    def exact(position: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return 65536 / (1 + np.exp(-position / 24.0))

    places = np.arange(256, dtype=np.float64)
    error = exact(places + 0.5) - (exact(places) + exact(places + 1)) / 2
    table = np.floor(exact(places) + 0.5 * error + 0.5).astype(np.int64)
    table[255] = 65535
    return table


def is_gemmlowp16(scale: Scale, *, is_tanh: bool) -> bool:
    """Returns whether LiteRT's default kernels compute a function of 16-bit data in another fixed-point format."""
    exponent = math.log2(float(scale))
    is_power = abs(exponent - round(exponent)) < 1e-3
    return is_power and 12 + round(exponent) in ((0, 1) if is_tanh else (0,))


def _in_24ths(stored: Array, scale: Scale, *, is_tanh: bool) -> Array:
    """Returns 16-bit integers in steps of `1 / 12288`, rounded, ties up."""
    wide = stored.astype(np.int64)
    if is_gemmlowp16(scale, is_tanh=is_tanh):
        return wide * (3 << 12 + round(math.log2(float(scale))))
    factor, bits = float(scale) * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2 and bits <= 30:
        factor, bits = factor * 2, bits + 1
    return (wide * int(factor) + ((1 << bits - 1) if bits else 0)) >> bits


def _interpolation_table(
    function: Callable[[float], float], low: float, high: float, bottom: float, top: float
) -> npt.NDArray[np.int32]:
    """Returns the 16-bit values of a function at 513 places, each moved by half the error in the middle of its step."""
    step, inverse = (high - low) / _STEPS_16, 65536.0 / (top - bottom)

    def rounded(value: float) -> float:
        return float(half_away(NUMPY, np.asarray(value)))

    values: list[int] = []
    for place in range(_STEPS_16):
        here, middle, after = (function(low + (place + part) * step) for part in (0.0, 0.5, 1.0))
        sample = rounded(here * inverse)
        between = rounded((after * inverse + sample) / 2)
        values.append(int(sample - rounded((between - rounded(middle * inverse)) / 2)))
    return np.clip([*values, int(rounded(function(high) * inverse))], -(1 << 15), (1 << 15) - 1).astype(np.int32)


_UNIT_16 = 1.0 / 65535


def softmax16_tables() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Returns the tables of `e^x` on `[-10, 0]` and of `1 / (1 + x)` on `[0, 1]`, for softmax of 16-bit data."""
    ends = 2 * _UNIT_16 * -32768, 2 * _UNIT_16 * 32767
    powers_ = _interpolation_table(math.exp, 10 * _UNIT_16 * (-32768 - 32767), 0.0, *ends)
    return powers_, _interpolation_table(lambda x: 1 / (1 + x), 0.0, _UNIT_16 * 65535, *ends)


Look = Callable[[Value], Value]
"""A function that returns the entries of a table at integer places."""


def _between(table: Look, x: Value) -> Value:
    """Interpolates in a table of 513 entries at a 16-bit integer."""
    place = (x >> 7) + 256
    here = table(place)
    return here + (((table(place + 1) - here) * (x & 127) + 64) >> 7)


def softmax16_power(e: Steps, difference: Value, scale: Scale, table: Look) -> Value:
    """Returns the power of a difference to the largest element of the row, in 15 fraction bits."""
    moved = multiplied(e, difference, float(F32(scale)) / (10.0 / 65535.0)) + 32767
    return _between(table, e.where(moved < -(1 << 15), -(1 << 15), moved))


def softmax16_share(e: Steps, power: Value, total: Value, table: Look) -> Value:
    """Returns `power` over the `total` of the row, in 15 fraction bits."""
    length = (e.bits(e.real(total)) >> 52) - 1022
    headroom = 32 - length
    sum_ = ((total << (headroom - 1)) + (1 << 13)) >> 14
    place = sum_ - (1 << 15) - (1 << 16)
    inverse = _between(table, e.where(place < -(1 << 15), -(1 << 15), e.where(place > 0x7FFF, 0x7FFF, place)))
    amount = 31 - headroom
    one = e.constant(1, total)
    return (power * inverse + (one << (amount - 1))) >> amount


def hard_swish(stored: Array, source: Affine, result: Affine, limits: Limits) -> Array:
    """Returns `x relu6(x + 3) / 6` of stored integers, in 16-bit fixed-point numbers."""
    high = F32(F32(1 / 128) * F32(source.scale))
    (out_factor, out_shift), (factor, shift) = (
        _short(F32(high / F32(result.scale))),
        _short(F32(high / F32(F32(3) / F32(32768)))),
    )
    value = ((stored.astype(np.int64) - source.zero_point) << 7).astype(np.int16).astype(np.int64)
    scaled = high_product(value, out_factor, 16)
    gate = np.clip(value << (shift - 1), -(1 << 15), (1 << 15) - 1) if shift > 0 else value
    gate = high_product(gate, factor, 16)
    if shift > 0:
        gate = np.clip(gate << 1, -(1 << 15), (1 << 15) - 1)
    elif shift < 0:
        gate = rounded_shift(NUMPY, gate, -shift)
    gate = (gate + (1 << 15)) >> 1
    product: Array = gate * scaled
    truncated: Array = np.where(product >= 0, product >> 15, -(-product >> 15))
    return np.clip(rounded_shift(NUMPY, truncated, -out_shift) + result.zero_point, *limits)


def _short(ratio: np.float32) -> tuple[int, int]:
    """Returns a 15-bit fraction and an exponent: the fraction of `fixed_point`, rounded."""
    factor, shift = (int(each) for each in fixed_point(float(ratio)))
    return (factor + (1 << 15)) >> 16 if factor < 0x7FFF8000 else 0x7FFF, 31 - shift
