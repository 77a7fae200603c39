"""Requantization of exact integers to stored integers with another scale, in each mode; and bias quantization."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array, fused_f32, magnitude
from qmlir.arithmetic.schemes import F64, LARGEST_SCALE, SMALLEST_SCALE, Bools, RangeError, power_of_two_ceiling

# Requantization: exact integers of one scale are rescaled to stored integers of another, in a named mode.
#
# Accumulators are integers, int64 or Python integers if 64 bits are too few. Multipliers and zero points may have any
# shape that broadcasts to them, which covers per-channel parameters. The results are stored values inside the limits of
# the storage type, as int64. These formulas are the contract of the project: every other implementation must produce
# the same integers.

Limits = tuple[int, int]

FRACTION_BITS = 31
"""The width of the multiplier in the integer modes, in bits; it represents a fraction in [1/2, 1)."""

SHIFTS = (2, 62)
"""The smallest and largest shift in the integer modes (TOSA RESCALE)."""

_EXACT_IN_F32 = 1 << 24
"""f32 represents every integer up to this magnitude."""

MULTIPLIED = (-(1 << 31), (1 << 31) - 1)
"""The input range of the modes with a multiplier: 32-bit integers."""


class Mode(StrEnum):
    """The arithmetic that rescales an accumulator."""

    F32 = "f32"
    """`rne(f32(acc) * f32(f32(s_in) / f32(s_out)))`, the product rounded to f32: ONNX Runtime's arithmetic."""

    SINGLE_ROUND = "single_round"
    """`(acc * q + 2^(shift - 1)) >> shift`: TOSA RESCALE."""

    DOUBLE_ROUND = "double_round"
    """Like `single_round`, but rounded twice if `shift > 31`: TOSA RESCALE with double rounding, TFLite's reference."""

    SHIFT = "shift"
    """`acc * 2^-shift`, rounded, for scales whose ratio is a power of two."""

    QLINEAR = "qlinear"
    """The arithmetic of ONNX Runtime's QLinear operators that differs from `f32`; this module defines the formulas
    below.

    An accumulator is rescaled by `rne(f32(f32(f32(acc) * f32(f32(s_in) / f32(s_out))) + f32(zero_point)))`.
    """

    F64 = "f64"
    """`rha(f64(acc) * f64(s_in / s_out))`, ties away from zero: LiteRT's reference kernel of fully connected layers."""

    LITERT_REFERENCE = "litert_reference"
    """The arithmetic of LiteRT's reference kernels, which depends on the operation (`qmlir.arithmetic.litert`)."""

    LITERT_XNNPACK = "litert_xnnpack"
    """The arithmetic of LiteRT's default kernels, those of XNNPACK, which depends on the operation."""

    @property
    def is_litert(self) -> bool:
        """Whether the mode names a set of LiteRT's kernels, so that the operation decides about the arithmetic."""
        return self in (Mode.LITERT_REFERENCE, Mode.LITERT_XNNPACK)

    @property
    def uses_floats(self) -> bool:
        """Whether accumulators are rescaled by a float product."""
        return self in (Mode.F32, Mode.QLINEAR, Mode.F64, Mode.LITERT_XNNPACK)


class Ties(StrEnum):
    """How a right shift rounds ties."""

    EVEN = "even"
    UP = "up"
    """Rounds ties towards positive infinity."""

    AWAY = "away"
    """Rounds ties away from zero."""


def widened(values: Array, largest: int) -> Array:
    """Returns `values` as int64 if integers up to `largest` fit in int64, otherwise as Python integers."""
    return values.astype(np.int64 if largest < 2**63 else np.object_)


def _int_to_f32(value: int) -> np.float32:
    # Rounding to 62 bits and then to 24 could differ from rounding once if the first result is a tie. So truncation
    # to 62 bits sets the last one if it drops anything (a sticky bit), which the rounding to 24 bits then sees.
    excess = max(abs(value).bit_length() - 62, 0)
    kept = abs(value) >> excess
    sticky = kept | int(kept << excess != abs(value))
    return np.float32(math.copysign(math.ldexp(float(np.float32(np.int64(sticky))), excess), value))


def to_f32(integers: Array) -> npt.NDArray[np.float32]:
    """Rounds each integer once to f32, ties to even."""
    if integers.dtype != np.object_:
        return integers.astype(np.float32)
    return np.array([_int_to_f32(int(value)) for value in integers.flat], np.float32).reshape(integers.shape)


def accumulator_scale(*scales: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Returns the scale of a product, `f32(f32(s_a) * f32(s_b))`."""
    product = np.ones((), np.float32)
    for scale in scales:
        product = product * np.asarray(scale).astype(np.float32)
    return np.asarray(product, np.float32)


def f32_multiplier(input_scale: npt.ArrayLike, output_scale: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Returns `f32(f32(s_in) / f32(s_out))`, which is 1 if and only if both scales are equal.

    Raises `ValueError` if the quotient overflows.
    """
    with np.errstate(over="ignore"):
        ratio = np.asarray(input_scale).astype(np.float32) / np.asarray(output_scale).astype(np.float32)
    if not np.isfinite(ratio).all():
        scales = f"{np.asarray(input_scale)} and {np.asarray(output_scale)}"
        raise ValueError(f"the ratio of the scales {scales} is beyond the range of f32")
    return np.asarray(ratio, np.float32)


def saturator(zero_point: npt.ArrayLike, limits: Limits) -> Callable[[Array], npt.NDArray[np.int64]]:
    """Returns the function `saturate` for one zero point, or an array of them, and limits."""
    # Clamping before the addition of the zero point keeps the sum small: it is exact in any type.
    offset = np.asarray(zero_point, np.int64)
    low, high = (np.asarray(limit - offset) for limit in limits)
    wide = max(magnitude(low), magnitude(high)) > _EXACT_IN_F32
    low_f32, high_f32 = (each.astype(np.float64 if wide else np.float32) for each in (low, high))

    def saturated(values: Array) -> npt.NDArray[np.int64]:
        least, most = (low_f32, high_f32) if values.dtype == np.float32 else (low, high)
        return np.asarray(np.asarray(np.clip(values, least, most)).astype(np.int64) + offset)

    return saturated


def saturate(values: Array, zero_point: npt.ArrayLike, limits: Limits) -> npt.NDArray[np.int64]:
    """Returns `values + zero_point` clamped to `limits`; `values` are integers or integral floats, including
    infinities."""
    return saturator(zero_point, limits)(values)


def f32_requantizer(
    multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> Callable[[Array], npt.NDArray[np.int64]]:
    """Returns the function `requantize_f32` for one multiplier, or an array of them, zero points and limits."""
    # Why f32(acc) * m equals ONNX Runtime's result: it converts the i32 accumulator to f32 (one rounding), multiplies
    # in f32 (a second) and rounds to nearest even (a third). For |acc| < 2^24 the first is exact. For results of at
    # most 16 bits the third decides among |r| <= 2^16, where f32 has at least 7 fraction bits, and clamps beyond.
    factor, clamped = np.asarray(multiplier, np.float32), saturator(zero_point, limits)
    is_kept = factor == 1
    if is_kept.all():
        return clamped

    def rescaled(accumulator: Array) -> npt.NDArray[np.int64]:
        with np.errstate(over="ignore"):  # a product beyond the float range saturates
            result = clamped(np.rint(to_f32(accumulator) * factor))
        return np.where(is_kept, clamped(accumulator), result) if is_kept.any() else result

    return rescaled


def requantize_f32(
    accumulator: Array, multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `saturate(rne(f32(acc) * multiplier) + zero_point)`; a multiplier of 1 leaves the integer unchanged.

    The exception for 1 matters for magnitudes above 2^24, where f32 skips integers. ONNX Runtime lacks the exception,
    but it would make no difference there, because its results have at most 16 bits.
    """
    return f32_requantizer(multiplier, zero_point, limits)(accumulator)


def requantize_qlinear(
    accumulator: Array, multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `saturate(rne(f32(f32(f32(acc) * multiplier) + f32(zero_point))))`.

    Unlike in mode `f32`, the zero point is added before rounding."""
    with np.errstate(over="ignore"):  # a product beyond the float range saturates
        scaled = to_f32(accumulator) * np.asarray(multiplier, np.float32)
        moved = scaled + np.asarray(zero_point).astype(np.float32)
    return saturate(np.rint(moved), 0, limits)


def fixed_point(multiplier: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the 31-bit fraction `q` and the shift for the integer modes: `multiplier` is about `q * 2^-shift`.

    The decomposition is that of TFLite: `q, e = frexp(m)`, then `q` is rounded half up to 31 bits, and halved if it
    becomes 2^31. If a multiplier is too small for the largest shift, it becomes 0, which has the same effect on 32-bit
    integers. Raises `ValueError` if the multiplier is 2^29 or more.
    """
    # frexp returns 1/2 <= fraction < 1, so 2^30 <= q <= 2^31: q = 2^31 needs 32 bits and is halved, which is exact. q
    # is off by at most 1/2 of at least 2^30: a relative error of 2^-31. The modes may differ by this error, so each has
    # its own name.
    fraction, exponent = np.frexp(np.asarray(multiplier, np.float64))
    scaled = np.floor(np.ldexp(fraction, FRACTION_BITS) + 0.5).astype(np.int64)
    is_full = scaled == 1 << FRACTION_BITS
    scaled, exponent = np.where(is_full, scaled >> 1, scaled), exponent + is_full
    shift = (FRACTION_BITS - exponent).astype(np.int64)
    lowest, highest = SHIFTS
    if (shift < lowest).any():
        raise ValueError(f"multiplier must be below 2^{31 - lowest}, but got {np.max(multiplier)}")
    return np.where(shift > highest, 0, scaled), np.minimum(shift, highest)


def _together(accumulator: Array, largest: int, *parameters: Array) -> tuple[tuple[int, ...], list[Array]]:
    """Broadcasts all arrays to one shape as vectors of an integer type wide enough for `largest`; also returns the
    shape.

    Vectors are needed because NumPy turns operations on 0-d arrays into Python numbers, whose type depends on their
    size.
    """
    arrays = np.broadcast_arrays(accumulator, *parameters)
    return arrays[0].shape, [widened(array.reshape(-1), largest) for array in arrays]


def _multiplied(accumulator: Array, multiplier: Array, nudge: Array, shift: Array) -> Array:
    largest = magnitude(accumulator) * max(magnitude(multiplier), 1) + magnitude(nudge)
    shape, (values, factors, nudges, shifts) = _together(accumulator, largest, multiplier, nudge, shift)
    return ((values * factors + nudges) >> shifts).reshape(shape)


def requantize_single_round(
    accumulator: Array, multiplier: npt.ArrayLike, shift: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `saturate(((acc * multiplier + 2^(shift - 1)) >> shift) + zero_point)`, which rounds ties up."""
    # floor((n + 2^(s-1)) / 2^s) is round-half-up of n / 2^s; `>>` of a two's complement integer is that floor.
    shifts = np.asarray(shift, np.int64)
    nudge = np.asarray(np.int64(1) << (shifts - 1))
    return saturate(_multiplied(accumulator, np.asarray(multiplier, np.int64), nudge, shifts), zero_point, limits)


def requantize_double_round(
    accumulator: Array, multiplier: npt.ArrayLike, shift: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `requantize_single_round`, but adds 2^30 (-2^30 if `acc` is negative) before a shift of more than 31."""
    shifts = np.asarray(shift, np.int64)
    second = np.where(accumulator >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
    nudge = (np.int64(1) << (shifts - 1)) + np.where(shifts > FRACTION_BITS, second, 0)
    return saturate(_multiplied(accumulator, np.asarray(multiplier, np.int64), nudge, shifts), zero_point, limits)


def requantize_shift(
    accumulator: Array, shift: npt.ArrayLike, ties: Ties, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `saturate(round(acc * 2^-shift) + zero_point)`; a negative `shift` multiplies by a power of two."""
    shifts = np.asarray(shift, np.int64)
    left, right = np.maximum(-shifts, 0), np.maximum(shifts, 0)
    # With q = floor(v / 2^r) and the remainder t = v - q * 2^r, 0 <= t < 2^r, the value lies above the middle if
    # 2t > 2^r and on it if 2t = 2^r; only then the rule for ties decides. No float is involved, so any width is exact.
    # Twice the remainder is compared with 2^r.
    largest = (magnitude(accumulator) << (magnitude(left) + 1)) + (1 << magnitude(right))
    shape, (values, lefts, rights) = _together(accumulator, largest, left, right)
    values = values << lefts
    quotient = values >> rights
    twice_the_rest = (values - (quotient << rights)) << 1
    whole = np.ones_like(values) << rights
    match ties:
        case Ties.EVEN:
            goes_up = (quotient & 1) == 1
        case Ties.AWAY:
            goes_up = values >= 0
        case Ties.UP:
            goes_up = np.ones(values.shape, bool)
    # If nothing is shifted out, the remainder is 0 and never half of 2^r.
    is_more = (twice_the_rest > whole) | ((twice_the_rest == whole) & goes_up)
    return saturate((quotient + is_more).reshape(shape), zero_point, limits)


def requantize_f64(
    accumulator: Array, multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """Computes `saturate(rha(f64(acc) * multiplier) + zero_point)`, ties away from zero."""
    product = np.asarray(accumulator).astype(np.float64) * np.asarray(multiplier, np.float64)
    whole = np.rint(product)
    # The differences are exact; a tie that went towards zero moves on.
    rest = product - whole
    whole = whole + np.where((rest == 0.5) & (product > 0), 1, 0) - np.where((rest == -0.5) & (product < 0), 1, 0)
    return saturate(whole, zero_point, limits)


def requantize_by(
    mode: Mode,
    accumulator: Array,
    parameters: Sequence[npt.ArrayLike],
    zero_point: npt.ArrayLike,
    limits: Limits,
    ties: Ties = Ties.EVEN,
) -> npt.NDArray[np.int64]:
    """Rescales `accumulator` by the parameters of a mode: a multiplier, a fixed-point number and its shift, or a shift.

    A multiplier of 1 is no exception here: mode `f32` rounds integers to f32. The modes of LiteRT have no parameters.
    """
    match mode:
        case Mode.F32:
            product = accumulator.astype(np.float32) * np.asarray(parameters[0], np.float32)
            return saturate(np.rint(product).astype(np.float64), zero_point, limits)
        case Mode.F64:
            return requantize_f64(accumulator, parameters[0], zero_point, limits)
        case Mode.QLINEAR:
            return requantize_qlinear(accumulator, parameters[0], zero_point, limits)
        case Mode.SINGLE_ROUND:
            return requantize_single_round(accumulator, parameters[0], parameters[1], zero_point, limits)
        case Mode.DOUBLE_ROUND:
            return requantize_double_round(accumulator, parameters[0], parameters[1], zero_point, limits)
        case Mode.SHIFT:
            return requantize_shift(accumulator, parameters[0], ties, zero_point, limits)
        case Mode.LITERT_REFERENCE | Mode.LITERT_XNNPACK:
            raise ValueError(f"mode '{mode}' has no parameters: the operation decides")


def power_of_two_shift(multiplier: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Returns the right shift equal to multiplying by `multiplier`. Raises `ValueError` unless it is a power of two."""
    ratios = np.asarray(multiplier, np.float64)
    fraction, exponent = np.frexp(ratios)
    if len(others := ratios[fraction != 0.5]):
        raise ValueError(f"a shift requires a power of two as the ratio of scales, but got {others[0]:g}")
    return (1 - exponent).astype(np.int64)


def requantizer(
    input_scale: npt.ArrayLike,
    output_scale: npt.ArrayLike,
    zero_point: npt.ArrayLike,
    limits: Limits,
    mode: Mode = Mode.F32,
    ties: Ties = Ties.EVEN,
) -> Callable[[Array], npt.NDArray[np.int64]]:
    """Returns the function that rescales accumulators of `input_scale` to stored values of `output_scale`.

    The integer modes compute the ratio of the two f32 scales in f64. The modes with a multiplier take 32-bit integers;
    larger accumulators saturate first. `ties` applies only to the mode `shift`. Raises `ValueError` if the mode cannot
    express the ratio.
    """
    if mode.uses_floats:
        multiplier = f32_multiplier(input_scale, output_scale)
        if mode is Mode.F32:
            return f32_requantizer(multiplier, zero_point, limits)
        return lambda accumulator: requantize_qlinear(accumulator, multiplier, zero_point, limits)
    source, target = (np.asarray(each).astype(np.float32).astype(np.float64) for each in (input_scale, output_scale))
    ratio = source / target
    if mode is Mode.SHIFT:
        shift = power_of_two_shift(ratio)
        return lambda accumulator: requantize_shift(accumulator, shift, ties, zero_point, limits)
    multiply = requantize_single_round if mode is Mode.SINGLE_ROUND else requantize_double_round
    factors = fixed_point(ratio)
    return lambda accumulator: multiply(saturate(accumulator, 0, MULTIPLIED), *factors, zero_point, limits)


def requantize(
    accumulator: Array,
    input_scale: npt.ArrayLike,
    output_scale: npt.ArrayLike,
    zero_point: npt.ArrayLike,
    limits: Limits,
    mode: Mode = Mode.F32,
    ties: Ties = Ties.EVEN,
) -> npt.NDArray[np.int64]:
    """Rescales `accumulator` from `input_scale` to stored values of `output_scale` and `zero_point` (`requantizer`)."""
    return requantizer(input_scale, output_scale, zero_point, limits, mode, ties)(accumulator)


# The arithmetic of ONNX Runtime's QLinear operators, step by step in f32, for those that differ from the default.
#
# The steps are those of its CPU kernels on x86-64 with AVX2 and FMA; each is rounded once, and `fma` rounds a product
# plus a sum once. Sources: onnxruntime/core/mlas/lib/{qladd,qlmul}.cpp, intrinsics/avx2/qladd_avx2.cpp and
# x86_64/LogisticKernelFma3.S, and onnxruntime/contrib_ops/cpu/quantization/{qlinear_pool,qlinear_softmax}.cc.
# Without FMA its sums round each product, and its sigmoid each step; on ARM its sums use fixed-point integers.
#
# - **Sum**: `rne(fma(q_a, r_a, fma(q_b, r_b, c)))`, `r = s / s_y`, `c = z_y - fma(r_a, z_a, r_b * z_b)`; the
#   operands are swapped if the first one is broadcast along the innermost axis.
# - **Product**: `rne((q_a - z_a)(q_b - z_b) * m + z_y)`, `m = (s_a * s_b) / s_y`.
# - **Average pool**: `rne(t / count / s_y + z_y)`; `t` sums `s_x * (q - z_x)` in f32 over the kernel, row-major.
# - **Sigmoid**: a quotient of polynomials, quantized like any real value.
# - **Softmax**: `rne(e * floor(1 / s_y) / t) + z_y`; `e` is a table of powers, `t` sums them in f32 along the axis.
#
# Results saturate. The zero point is added before or after rounding as shown, which matters for ties.

Reals = npt.NDArray[np.float32]

MOST = float(1 << 31)
"""The smallest magnitude that overflows 32-bit integers; beyond it, ONNX Runtime's results depend on the machine."""


class Affine(NamedTuple):
    """The quantization parameters of a tensor, whose elements are `scale * (q - zero_point)`."""

    scale: np.float32
    zero_point: int


def rounded(value: Array, limits: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Rounds a float that includes the zero point to the nearest integer, ties to even, and clamps it."""
    return np.asarray(np.clip(np.rint(value.astype(np.float64)), *limits), np.int64)


# --- Sums -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """The formula `fma(left, left_ratio, fma(right, right_ratio, offset))` for a sum of two quantized operands."""

    left_ratio: np.float32
    right_ratio: np.float32
    offset: np.float32

    @staticmethod
    def of(left: Affine, right: Affine, result: Affine) -> "Sum":
        """Returns the constants of the formula for the parameters of the operands and of the result."""
        ratios = [np.float32(each.scale / result.scale) for each in (left, right)]
        product = np.float32(ratios[1] * np.float32(right.zero_point))
        moved = fused_f32(ratios[0], left.zero_point, product)
        return Sum(ratios[0], ratios[1], np.float32(np.float32(result.zero_point) - moved))

    @property
    def largest(self) -> float:
        """An upper bound on the magnitude of the sum."""
        return 257.0 * float(self.left_ratio + self.right_ratio) + abs(float(self.offset))

    def apply(self, left: Array, right: Array) -> Reals:
        """Computes the sum from stored integers, including the zero point of the result."""
        return fused_f32(left, self.left_ratio, fused_f32(right, self.right_ratio, self.offset))


# --- Means ------------------------------------------------------------------------------------------------------------


def moved_mean(total: Reals, count: npt.ArrayLike, result: Affine) -> Reals:
    """Computes the mean of `count` reals from their f32 sum `total`, including the zero point of the result."""
    mean = total / np.asarray(count).astype(np.float32)
    return np.asarray(mean / result.scale + np.float32(result.zero_point), np.float32)


# --- Sigmoid ----------------------------------------------------------------------------------------------------------

SIGMOID_END = 18.0
"""The end of the approximated range; beyond it, the approximation is constant."""

_NUMERATOR = (
    4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01,
)  # fmt: skip
_DENOMINATOR = (
    6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01,
    9.93151921023180e-01,
)  # fmt: skip


def _polynomial(coefficients: Sequence[float], x: Reals) -> Reals:
    """Evaluates a polynomial by Horner's rule with fused steps; coefficients from the highest power down."""
    value = np.full(x.shape, coefficients[0], np.float32)
    for coefficient in coefficients[1:]:
        value = fused_f32(value, x, coefficient)
    return value


def sigmoid(x: Reals) -> Reals:
    """Computes Eigen's rational approximation of `1 / (1 + e^-x)`: a quotient of odd and even powers of `x`."""
    inside = np.clip(x, np.float32(-SIGMOID_END), np.float32(SIGMOID_END))
    square = np.asarray(inside * inside, np.float32)
    quotient = inside * _polynomial(_NUMERATOR, square) / _polynomial(_DENOMINATOR, square)
    return np.maximum(quotient + np.float32(0.5), np.float32(0))


# --- Softmax ----------------------------------------------------------------------------------------------------------

_RESERVE = 5.0
"""The margin between the logarithm of a sum of powers and that of the largest f32."""


def softmax_powers(scale: np.float32, terms: int) -> Reals:
    """Returns `e^(scale * (i - 255) + h)` for `i` from 0 to 255: a table whose index for a byte `q` is `255 + q - max`.

    `h` makes the powers as large as possible while the f32 sum of `terms` powers cannot overflow.
    """
    most = np.float32(np.finfo(np.float32).max / np.float32(terms))
    headroom = max(0.0, float(np.float32(math.log(most))) - _RESERVE)
    shifts = np.arange(256, dtype=np.float64) - 255 + headroom / float(scale)
    return np.array([math.exp(position * float(scale)) for position in shifts], np.float32)


def softmax_steps(result: np.float32) -> np.float32:
    """Returns `floor(1 / s_y)`: the number of quantization steps of the result that make up the value 1."""
    return np.floor(np.float32(1) / result)


SOFTMAX_LARGEST = np.float32(65536)
"""A bound above every result, in quantization steps. For few terms, `e * floor(1 / s_y)` may overflow f32; the result
then saturates.

In ONNX Runtime, the conversion of this infinity to an integer depends on the CPU.
"""


# Biases of contractions: i32 integers with scale `f32(s_x * s_w)` and zero point 0, never clipped.
#
# The scale of a bias follows from others. If its integers would become too large, the weight scale of that channel is
# raised until they fit, so that the accumulator and the bias keep one scale. This is Glow's method, applied per
# channel.

LIMIT = (1 << 29) - 1
"""The largest integer of a bias: a quarter of i32, as in Glow, which leaves headroom for the sum of products."""


@dataclass(frozen=True, eq=False)
class FittedScales:
    """Weight scales at which the bias fits, the bias scales `f32(s_x * s_w)`, and a mask of the raised weight scales.

    All have the shape of the weight scales, `[]` or `[channels]`; the scales are f32 values stored as f64.
    """

    weight_scales: F64
    bias_scales: F64
    raised: Bools


def _steps(sizes: F64, scales: F64) -> F64:
    """Computes `rne(f32(size / scale))` as `quant.qcast` does; infinity if the scale underflowed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = sizes.astype(np.float32) / scales.astype(np.float32)
    return np.where(sizes == 0, 0.0, np.rint(quotient).astype(np.float64))


def _up(values: F64) -> F64:
    """Returns the smallest f32 values that are not below `values`."""
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
        return np.where(nearest < values, np.nextafter(nearest, np.float32(np.inf)), nearest).astype(np.float64)


def fit_bias(
    minimum: npt.ArrayLike,
    maximum: npt.ArrayLike,
    input_scale: float,
    weight_scales: npt.ArrayLike,
    limit: npt.ArrayLike = LIMIT,
    is_power_of_two: bool = False,
) -> FittedScales:
    """Returns weight scales at which a bias in `[minimum, maximum]`, of shape `[channels]`, fits in its integer type.

    For a constant bias, both ends are the bias itself; for a computed bias, they are its profiled range. A weight scale
    is raised to the first f32 value (or power of two) at which the integers of the bias stay within `limit`. `limit` is
    a scalar or has one value per channel: `2^31 - 1` minus the bound on the sum of products, if the latter is known. A
    bias of 0 fits at any scale and leaves the weight scale unchanged. A single weight scale is raised for the largest
    bias.

    The scale of the bias is at least the smallest normal f32. Raises `RangeError` if a bias is not finite, or no f32
    scale is large enough.
    """
    ends = np.broadcast_arrays(np.asarray(minimum, np.float64), np.asarray(maximum, np.float64))
    sizes = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    if len(bad := np.argwhere(~np.isfinite(sizes))):
        raise RangeError(f"bias must be finite, but element {bad[0].tolist()} is not")
    source, given = (np.asarray(scale).astype(np.float32).astype(np.float64) for scale in (input_scale, weight_scales))
    for scales in (source, given):
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise RangeError(f"scales must be positive and finite in f32, but got {scales}")
    if (np.asarray(limit) < 1).any():
        raise ValueError(f"limit must be >= 1, but got {limit}")
    limits = np.broadcast_to(np.asarray(limit, np.float64), sizes.shape)
    if given.size == 1 and sizes.size:  # the bias that needs the largest scale decides for all
        worst = int(np.argmax(sizes / limits))
        sizes, limits = (each.reshape(-1)[worst].reshape(given.shape) for each in (sizes, limits))
    elif given.shape != sizes.shape:
        raise ValueError(f"bias of shape {sizes.shape} does not match weight scales of shape {given.shape}")

    def product_scales(scales: F64) -> F64:
        with np.errstate(over="ignore", under="ignore"):
            return accumulator_scale(input_scale, scales).astype(np.float64)

    def too_small(scales: F64) -> Bools:
        products = product_scales(scales)
        return (_steps(sizes, products) > limits) | (products < SMALLEST_SCALE)

    raised = too_small(given)
    # Half a step beyond the limit still rounds down to it, but rounding to f32 may round up: start below, and increase.
    wanted = np.maximum(sizes / (limits + 0.5), SMALLEST_SCALE) / source * (1 - 2.0**-22)
    scales = np.where(raised, np.maximum(_up(wanted), given), given)
    if is_power_of_two:
        scales = np.where(raised, power_of_two_ceiling(scales), scales)
    while (short := too_small(scales)).any():
        next_up = 2 * scales if is_power_of_two else _up(np.nextafter(scales, np.inf))
        scales = np.where(short, next_up, scales)
    products = product_scales(scales)
    if (bad := ~(np.isfinite(products) & (scales <= LARGEST_SCALE))).any():
        raise RangeError(f"a bias of {sizes[bad].flat[0]} needs a weight scale beyond the range of f32")
    return FittedScales(scales, products, raised)
