"""Requantization: exact integers of one scale rescaled to stored integers of another, by an arithmetic that is named.

Accumulators come in as integers, int64 or Python's own where 64 bits are too few; multipliers and zero points in any
shape that broadcasts against them, so that per-channel parameters need no other function. Stored values inside the
limits of the storage type go out, as int64. The formulas are the contract of the project: any other
implementation must give the same integers.
"""

import math
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

Limits = tuple[int, int]

FRACTION_BITS = 31
"""Bits of the multiplier of the integer modes, which stands for a fraction from 1/2 to 1."""

SHIFTS = (2, 62)
"""Smallest and largest shift of the integer modes (TOSA RESCALE)."""

_EXACT_IN_F32 = 1 << 24
"""The bound below which f32 holds every integer."""

MULTIPLIED = (-(1 << 31), (1 << 31) - 1)
"""What the modes with a multiplier rescale: integers of 32 bits."""


class Mode(StrEnum):
    """How an accumulator is rescaled."""

    F32 = "f32"
    """`rne(f32(acc) * f32(f32(s_in) / f32(s_out)))`, the product rounded to f32: ONNX Runtime's arithmetic."""

    SINGLE_ROUND = "single_round"
    """`(acc * q + 2^(shift - 1)) >> shift`: TOSA RESCALE."""

    DOUBLE_ROUND = "double_round"
    """The same, rounded twice where `shift > 31`: TOSA RESCALE with double rounding, TFLite's reference."""

    SHIFT = "shift"
    """`acc * 2^-shift`, for scales whose ratio is a power of two."""

    QLINEAR = "qlinear"
    """As ONNX Runtime's QLinear operators compute, where that is not `f32`: `qmlir.arithmetic.qlinear`.

    An accumulator is rescaled by `rne(f32(f32(f32(acc) * f32(f32(s_in) / f32(s_out))) + f32(zero_point)))`.
    """

    @property
    def uses_floats(self) -> bool:
        """Whether accumulators are rescaled by a product of floats."""
        return self in (Mode.F32, Mode.QLINEAR)


class Ties(StrEnum):
    """Where a shift rounds what lies half-way between two integers."""

    EVEN = "even"
    UP = "up"
    """Towards positive infinity."""

    AWAY = "away"
    """Away from zero."""


def magnitude(values: Array) -> int:
    """The largest absolute value of an integer array, 0 for an empty one."""
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def widened(values: Array, largest: int) -> Array:
    """`values` as int64 where integers up to `largest` fit, otherwise as Python's integers, which never overflow."""
    return values.astype(np.int64 if largest < 2**63 else np.object_)


def _int_to_f32(value: int) -> np.float32:
    # Rounding twice, to 62 bits and then to 24, would differ from rounding once where the first lands on a tie.
    # What is cut off leaves a trace in the last of 62 bits, so that the one rounding to 24 bits sees it.
    excess = max(abs(value).bit_length() - 62, 0)
    kept = abs(value) >> excess
    sticky = kept | int(kept << excess != abs(value))
    return np.float32(math.copysign(math.ldexp(float(np.float32(np.int64(sticky))), excess), value))


def to_f32(integers: Array) -> npt.NDArray[np.float32]:
    """Each integer rounded once to f32, ties to even."""
    if integers.dtype != np.object_:
        return integers.astype(np.float32)
    return np.array([_int_to_f32(int(value)) for value in integers.flat], np.float32).reshape(integers.shape)


def accumulator_scale(*scales: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The scale of a product, `f32(f32(s_a) * f32(s_b))`."""
    product = np.ones((), np.float32)
    for scale in scales:
        product = product * np.asarray(scale).astype(np.float32)
    return np.asarray(product, np.float32)


def _checked(multiplier: Array, source: npt.ArrayLike, target: npt.ArrayLike) -> npt.NDArray[np.float32]:
    if not np.isfinite(multiplier).all():
        raise ValueError(
            f"the ratio of the scales {np.asarray(source)} and {np.asarray(target)} is beyond the range of f32"
        )
    return np.asarray(multiplier, np.float32)


def f32_multiplier(input_scale: npt.ArrayLike, output_scale: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """`f32(f32(s_in) / f32(s_out))`: 1 where, and only where, the scales are the same. Raises where it overflows."""
    with np.errstate(over="ignore"):
        ratio = np.asarray(input_scale).astype(np.float32) / np.asarray(output_scale).astype(np.float32)
    return _checked(ratio, input_scale, output_scale)


def saturate(values: Array, zero_point: npt.ArrayLike, limits: Limits) -> npt.NDArray[np.int64]:
    """`values + zero_point`, kept inside `limits`; `values` are integers or whole floats, infinities included."""
    # Cutting off before the zero point is added keeps the sum small: it is exact in any type.
    offset = np.asarray(zero_point, np.int64)
    low, high = (limit - offset for limit in limits)
    if values.dtype == np.float32:
        wide = max(magnitude(low), magnitude(high)) > _EXACT_IN_F32
        low, high = (each.astype(np.float64 if wide else np.float32) for each in (low, high))
    return np.asarray(np.asarray(np.clip(values, low, high)).astype(np.int64) + offset)


def requantize_f32(
    accumulator: Array, multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """`saturate(rne(f32(acc) * multiplier) + zero_point)`; a multiplier of 1 keeps the integer as it is.

    The exception for 1 matters from 2^24 up, where f32 leaves out integers: ONNX Runtime, whose results have at most
    16 bits, gives the same with and without it.
    """
    # Why f32(acc) * m is what ONNX Runtime has: it converts the i32 accumulator to f32 (one rounding), multiplies in
    # f32 (a second) and rounds to nearest even (a third). For |acc| < 2^24 the first is exact. For results of at most
    # 16 bits the third decides among |r| <= 2^16, where f32 has 7 bits or more after the point, and clamps beyond.
    factor = np.asarray(multiplier, np.float32)
    with np.errstate(over="ignore"):  # a product beyond the float range saturates
        rounded = np.rint(to_f32(accumulator) * factor)
    result = saturate(rounded, zero_point, limits)
    is_kept = factor == 1
    return np.where(is_kept, saturate(accumulator, zero_point, limits), result) if is_kept.any() else result


def requantize_qlinear(
    accumulator: Array, multiplier: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """`saturate(rne(f32(f32(f32(acc) * multiplier) + f32(zero_point))))`: the zero point is added before rounding."""
    with np.errstate(over="ignore"):  # a product beyond the float range saturates
        scaled = to_f32(accumulator) * np.asarray(multiplier, np.float32)
        moved = scaled + np.asarray(zero_point).astype(np.float32)
    return saturate(np.rint(moved), 0, limits)


def fixed_point(multiplier: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The fraction `q` of 31 bits and the shift of the integer modes: `multiplier` is about `q * 2^-shift`.

    TFLite's decomposition: `q, e = frexp(m)`, `q` rounded half up to 31 bits, and halved where it becomes 2^31. A
    multiplier too small for the largest shift becomes 0, which is what it makes of 32 bits; one that is too large,
    from 2^29 up, is an error.
    """
    # frexp gives 1/2 <= fraction < 1, so 2^30 <= q <= 2^31: q = 2^31 needs 32 bits and is halved, which is exact. q
    # is off by at most 1/2 of at least 2^30: a relative error of 2^-31. The modes may differ by it, so they have
    # names.
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
    """All arrays in one shape and one integer type, wide enough for `largest`, as vectors; and that shape.

    NumPy turns an operation on arrays without axes into Python numbers, whose type then depends on their size.
    """
    arrays = np.broadcast_arrays(accumulator, *parameters)
    return arrays[0].shape, [widened(array.reshape(-1), largest) for array in arrays]


def _multiplied(accumulator: Array, multiplier: Array, nudge: Array, shift: Array) -> Array:
    largest = magnitude(accumulator) * max(magnitude(multiplier), 1) + magnitude(nudge)
    shape, (values, factors, nudges, places) = _together(accumulator, largest, multiplier, nudge, shift)
    return ((values * factors + nudges) >> places).reshape(shape)


def requantize_single_round(
    accumulator: Array, multiplier: npt.ArrayLike, shift: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """`saturate(((acc * multiplier + 2^(shift - 1)) >> shift) + zero_point)`: half-way cases go up."""
    # floor((n + 2^(s-1)) / 2^s) is round-half-up of n / 2^s; `>>` of a two's complement integer is that floor.
    places = np.asarray(shift, np.int64)
    nudge = np.asarray(np.int64(1) << (places - 1))
    return saturate(_multiplied(accumulator, np.asarray(multiplier, np.int64), nudge, places), zero_point, limits)


def requantize_double_round(
    accumulator: Array, multiplier: npt.ArrayLike, shift: npt.ArrayLike, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """As `requantize_single_round`, with 2^30 more, or less below 0, before a shift of more than 31 bits."""
    places = np.asarray(shift, np.int64)
    second = np.where(accumulator >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
    nudge = (np.int64(1) << (places - 1)) + np.where(places > FRACTION_BITS, second, 0)
    return saturate(_multiplied(accumulator, np.asarray(multiplier, np.int64), nudge, places), zero_point, limits)


def requantize_shift(
    accumulator: Array, shift: npt.ArrayLike, ties: Ties, zero_point: npt.ArrayLike, limits: Limits
) -> npt.NDArray[np.int64]:
    """`saturate(round(acc * 2^-shift) + zero_point)`; a negative shift multiplies."""
    places = np.asarray(shift, np.int64)
    left, right = np.maximum(-places, 0), np.maximum(places, 0)
    # With q = floor(v / 2^r) and the rest t = v - q * 2^r, 0 <= t < 2^r, the value lies above the middle where 2t >
    # 2^r and on it where 2t = 2^r; only then the rule for ties decides. No float takes part, so that any width is
    # exact.
    # Twice the value is compared with what is shifted out.
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
    # Where nothing is shifted out the rest is 0, and never half of the whole.
    is_more = (twice_the_rest > whole) | ((twice_the_rest == whole) & goes_up)
    return saturate((quotient + is_more).reshape(shape), zero_point, limits)


def power_of_two_shift(multiplier: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The shift that multiplies by `multiplier`. Raises where it is not a power of two."""
    ratios = np.asarray(multiplier, np.float64)
    fraction, exponent = np.frexp(ratios)
    if len(others := ratios[fraction != 0.5]):
        raise ValueError(f"a shift requires a power of two as the ratio of scales, but got {others[0]:g}")
    return (1 - exponent).astype(np.int64)


def requantize(
    accumulator: Array,
    input_scale: npt.ArrayLike,
    output_scale: npt.ArrayLike,
    zero_point: npt.ArrayLike,
    limits: Limits,
    mode: Mode = Mode.F32,
    ties: Ties = Ties.EVEN,
) -> npt.NDArray[np.int64]:
    """`accumulator` rescaled from `input_scale` to stored values of `output_scale` and `zero_point`.

    The integer modes take the ratio of the two f32 scales in f64; those with a multiplier take integers of 32 bits, to
    which larger ones saturate first. `ties` is for `shift` alone. Raises `ValueError` for what the mode cannot express.
    """
    if mode is Mode.F32 or mode is Mode.QLINEAR:
        rescale = requantize_f32 if mode is Mode.F32 else requantize_qlinear
        return rescale(accumulator, f32_multiplier(input_scale, output_scale), zero_point, limits)
    source, target = (np.asarray(each).astype(np.float32).astype(np.float64) for each in (input_scale, output_scale))
    ratio = source / target
    if mode is not Mode.SHIFT:
        accumulator = saturate(accumulator, 0, MULTIPLIED)
    match mode:
        case Mode.SINGLE_ROUND:
            return requantize_single_round(accumulator, *fixed_point(ratio), zero_point, limits)
        case Mode.DOUBLE_ROUND:
            return requantize_double_round(accumulator, *fixed_point(ratio), zero_point, limits)
        case Mode.SHIFT:
            return requantize_shift(accumulator, power_of_two_shift(ratio), ties, zero_point, limits)
