"""Quantization schemes, which map a range to a scale and a zero point; and binary and ternary weights."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from qmlir import registry
from qmlir.arithmetic.arrays import Array, integer_limits

# Scales and zero points from ranges of real values.
#
# The inputs are minima and maxima, a single pair or one per channel, and a `Grid` with the storage, the scheme and the
# rule. The outputs are scales and zero points of the same shape. All computations are in f64, zero points use the f64
# scale; the scale is rounded to f32 last, as in ONNX Runtime.

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SMALLEST_SCALE = float(np.finfo(np.float32).tiny)
"""The smallest scale. Ratios of subnormal f32 scales would lose bits, so smaller ranges are treated as degenerate."""

LARGEST_SCALE = float(np.finfo(np.float32).max)

SCALE_TYPES: Mapping[str, np.dtype[np.generic]] = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
}  # fmt: skip
"""The types that can hold the scales of blocks, smallest first."""


def scale_type_of(scales: npt.NDArray[Any]) -> str:
    """Returns the smallest of `SCALE_TYPES` that holds `scales` exactly as normal numbers or 0; f32 if there is none.

    Subnormal numbers are slow to convert, and read as 0 by programs that disable them.
    """
    least = np.abs(scales[scales != 0]).min(initial=np.inf)
    with np.errstate(over="ignore"):
        held = (
            name
            for name, dtype in SCALE_TYPES.items()
            if least >= float(cast(Any, ml_dtypes.finfo(dtype)).smallest_normal)
            and np.array_equal(scales.astype(dtype), scales)
        )
        return next(held, "f32") if np.isfinite(scales).all() else "f32"


def rounded_scales(scales: npt.NDArray[Any], name: str) -> F64:
    """Rounds positive `scales` to the nearest positive numbers of a type of `SCALE_TYPES`; infinity if none is near."""
    dtype = SCALE_TYPES[name]
    with np.errstate(over="ignore"):
        smallest = float(cast(Any, ml_dtypes.finfo(dtype)).smallest_subnormal)
        return np.maximum(scales.astype(np.float32).astype(dtype).astype(np.float64), smallest)


_SUPER_TERMS = 256
"""The most terms of a super-block, as in the k-quants of GGML."""

LARGEST_FACTOR = 255
"""The largest integer that a two-level scale multiplies the number of its super-block by: a byte."""

_SIGNIFICAND, _SUPER_BITS, _F16_BITS = 24, 16, 11
"""The significant bits of f32, of numbers whose products by bytes are exact in f32, and of f16."""


def _odd_bits(wholes: I64) -> I64:
    """Returns the number of bits of positive integers without the zeros at their ends."""
    return np.frexp((wholes // np.maximum(wholes & -wholes, 1)).astype(np.float64))[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class TwoLevelScales:
    """Scales that are products of an integer for each block and a number for each super-block, exact in f32."""

    steps: npt.NDArray[np.float32]
    factors: npt.NDArray[np.uint8]

    @staticmethod
    def of(scales: npt.NDArray[np.float32]) -> "TwoLevelScales | None":
        """Returns the two levels of `scales`, super-blocks along the last axis; `None` if they have none."""
        if not np.isfinite(scales).all() or (scales < 0).any():
            return None
        fractions, exponents = np.frexp(scales)
        lowest = exponents.min(axis=-1, keepdims=True, initial=128, where=scales > 0)
        above = np.where(scales > 0, exponents - lowest, 0)
        if (above > LARGEST_FACTOR.bit_length()).any():
            return None
        wholes = np.ldexp(fractions.astype(np.float64), above + _SIGNIFICAND).astype(np.int64)
        steps = np.maximum(np.gcd.reduce(wholes, axis=-1, keepdims=True), 1)
        factors = wholes // steps  # the least ones, since the steps are the greatest
        largest = factors.max(axis=-1, keepdims=True, initial=0)
        if (largest > LARGEST_FACTOR).any():
            return None
        for divisor in range(3, LARGEST_FACTOR + 1, 2):
            if not (is_wide := _odd_bits(steps) > _F16_BITS).any():
                break
            is_narrowed = is_wide & (steps % divisor == 0) & (largest * divisor <= LARGEST_FACTOR)
            chosen = np.where(is_narrowed & (_odd_bits(steps // divisor) <= _F16_BITS), divisor, 1)
            steps, factors, largest = steps // chosen, factors * chosen, largest * chosen
        if (_odd_bits(steps) > _SUPER_BITS).any():
            return None
        held = np.where(largest > 0, np.ldexp(steps.astype(np.float64), lowest - _SIGNIFICAND), 0)[..., 0]
        if (held[held != 0] < SMALLEST_SCALE).any():
            return None
        return TwoLevelScales(held.astype(np.float32), factors.astype(np.uint8))

    @staticmethod
    def along(scales: npt.NDArray[Any], axis: int, terms: int) -> "TwoLevelScales | None":
        """Returns the two levels of the scales of blocks of `terms` terms along an axis, which becomes two axes."""
        moved = np.moveaxis(scales.astype(np.float32), axis, -1)
        run = blocks_together(moved.shape[-1], terms)
        return TwoLevelScales.of(moved.reshape(*moved.shape[:-1], -1, run)) if run > 1 else None


def blocks_together(count: int, terms: int) -> int:
    """Returns the number of blocks of a super-block, of which there is a whole number among `count` blocks."""
    return math.gcd(count, max(_SUPER_TERMS // terms, 1))


_BINARY = "binary"
"""The name of the storage for weights that are -1 or 1."""

_STORAGE = re.compile(r"(?P<kind>[iu])(?P<bits>[0-9]{1,2})(?:<(?P<low>-?[0-9]+):(?P<high>-?[0-9]+)>)?")


class RangeError(ValueError):
    """Raised if a range has no valid parameters. The caller that catches the error adds the name of the value."""


@dataclass(frozen=True)
class Scheme:
    """A rule that maps a grid of integers to a range that contains 0; packages may add schemes
    (`Contribution.schemes`)."""

    name: str

    is_symmetric: bool = False
    """Whether the zero point depends only on the storage: it is 0, or the middle of unsigned storage."""

    is_power_of_two: bool = False
    """Whether scales are powers of two."""

    place: "Callable[[F64, F64, Grid], Parameters] | None" = None
    """A function that returns the parameters for the minima and maxima of ranges that contain 0; `None` for built-in
    schemes."""

    ASYMMETRIC: ClassVar["Scheme"]
    """Maps both ends of the range to the ends of the storage range; the zero point is arbitrary."""

    SYMMETRIC: ClassVar["Scheme"]
    """Uses zero point 0, or the middle of unsigned storage."""

    ASYMMETRIC_POW2: ClassVar["Scheme"]
    """Like `asymmetric`, with the scale rounded up to a power of two."""

    SYMMETRIC_POW2: ClassVar["Scheme"]
    """Like `symmetric`, with the scale rounded up to a power of two."""

    @staticmethod
    def parse(name: str) -> "Scheme":
        """Returns the scheme with a name. Raises `ValueError` if it is unknown, and `PackageError` if it is invalid."""
        known = registry.named("schemes")
        if name not in known:
            raise ValueError(f"unknown scheme '{name}' (available: {', '.join(known)})")
        found = known[name].load(Scheme)
        if found.name != name:
            raise known[name].error(f"is registered under another name than its own, '{found.name}'")
        return found

    def __str__(self) -> str:
        return self.name


ASYMMETRIC = Scheme.ASYMMETRIC = Scheme("asymmetric")
SYMMETRIC = Scheme.SYMMETRIC = Scheme("symmetric", is_symmetric=True)
ASYMMETRIC_POW2 = Scheme.ASYMMETRIC_POW2 = Scheme("asymmetric_pow2", is_power_of_two=True)
SYMMETRIC_POW2 = Scheme.SYMMETRIC_POW2 = Scheme("symmetric_pow2", is_symmetric=True, is_power_of_two=True)


def scheme_names() -> tuple[str, ...]:
    """Returns the names of all schemes, the built-in ones first."""
    return tuple(registry.named("schemes"))


class Arithmetic(StrEnum):
    """The system that parameters are computed like, since systems differ in their formulas."""

    ONNXRUNTIME = "onnxruntime"
    """`zp = rint(qmin - min / s)`; a symmetric scale is `2 * max|x| / (qmax - qmin)`, with the zero point in the
    middle."""

    GLOW = "glow"
    """`chooseQuantizationParams`: the zero point comes from the end with the smaller error, ties away from zero; a
    symmetric scale is `max(min / qmin, max / qmax)`; symmetric unsigned storage has zero point `qmin` if `min >= 0`;
    i32 uses a quarter of its range."""


@dataclass(frozen=True)
class Storage:
    """An integer storage type of 1 to 32 bits, with its limits if they are narrower than the type, as in
    `i8<-127:127>`."""

    bits: int
    is_signed: bool = True
    limits: tuple[int, int] | None = None
    has_zero: bool = True
    """Whether 0 is a valid stored value. It is not for `binary`, although its type is `i2<-1:1>`."""

    is_float: bool = False
    """Whether values stay f32. Only activations can; `parse` does not accept this storage."""

    scope: str = ""
    """For activations that contractions quantize at run time, the elements that share a range: `row` or `tensor`."""

    F32: ClassVar["Storage"]
    """The storage of activations that are not quantized."""

    DYNAMIC: ClassVar["Storage"]
    """The storage of activations that contractions quantize at run time, each row by its own range."""

    DYNAMIC_TENSOR: ClassVar["Storage"]
    """The same with one range for the whole tensor."""

    BINARY: ClassVar["Storage"]
    """The storage of -1 and 1."""

    TERNARY: ClassVar["Storage"]
    """The storage of -1, 0 and 1."""

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 32:
            raise ValueError(f"storage must have 1 to 32 bits, but got {self.bits}")
        (low, high), (lowest, highest) = (self.minimum, self.maximum), self._widest
        if not lowest <= low < high <= highest:
            raise ValueError(f"storage limits must ascend within [{lowest}, {highest}], but got {low} and {high}")

    @staticmethod
    def parse(text: str) -> "Storage":
        """Parses `i8`, `u4`, `i2<-1:1>`, `binary`. Raises `ValueError` for other texts."""
        if text == _BINARY:
            return Storage.BINARY
        found = _STORAGE.fullmatch(text.replace(" ", ""))
        if found is None:
            wanted = "iN or uN with 1 to 32 bits (such as i8, u4, i2<-1:1>) or binary"
            raise ValueError(f"storage must be {wanted}, but got '{text}'")
        limits = None if found["low"] is None else (int(found["low"]), int(found["high"]))
        return Storage(int(found["bits"]), found["kind"] == "i", limits)

    def __str__(self) -> str:
        if self.scope:
            return "dynamic" if self.scope == "row" else f"dynamic:{self.scope}"
        if not self.has_zero or self.is_float:
            return "f32" if self.is_float else _BINARY
        limits = "" if self.limits is None else f"<{self.minimum}:{self.maximum}>"
        return f"{'i' if self.is_signed else 'u'}{self.bits}{limits}"

    @property
    def _widest(self) -> tuple[int, int]:
        return integer_limits(self.bits, is_signed=self.is_signed)

    @property
    def minimum(self) -> int:
        """The smallest stored value."""
        return (self.limits or self._widest)[0]

    @property
    def maximum(self) -> int:
        """The largest stored value."""
        return (self.limits or self._widest)[1]

    @property
    def levels(self) -> int:
        """The number of stored values."""
        return self.maximum - self.minimum + self.has_zero


Storage.TERNARY = Storage(2, limits=(-1, 1))
Storage.BINARY = Storage(2, limits=(-1, 1), has_zero=False)
Storage.F32 = Storage(32, is_float=True)
Storage.DYNAMIC, Storage.DYNAMIC_TENSOR = (Storage(32, is_float=True, scope=each) for each in ("row", "tensor"))


@dataclass(frozen=True)
class Grid:
    """The storage, the scheme and the arithmetic for which parameters are chosen."""

    storage: Storage
    scheme: Scheme = Scheme.ASYMMETRIC
    rule: Arithmetic = Arithmetic.ONNXRUNTIME
    scale_type: str = "f32"
    """The type of `SCALE_TYPES` to which scales are rounded."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Scales (positive f32 values, held as f64) and zero points within the storage range, as arrays of one shape."""

    scales: F64
    zero_points: I64


def _place(bad: Bools) -> str:
    """Returns the index of the first bad channel, for a message; empty for a single range."""
    return f" at index {', '.join(map(str, np.argwhere(bad)[0].tolist()))}" if bad.ndim else ""


def _refuse(bad: Bools, low: F64, high: F64, reason: str) -> None:
    if bad.any():
        raise RangeError(f"the range [{low[bad].flat[0]}, {high[bad].flat[0]}]{_place(bad)} {reason}")


def widened(minimum: npt.ArrayLike, maximum: npt.ArrayLike) -> tuple[F64, F64]:
    """Returns ranges as f64 arrays of one shape, extended to contain 0. Raises `RangeError` if a range is invalid."""
    arrays = np.broadcast_arrays(np.asarray(minimum, np.float64), np.asarray(maximum, np.float64))
    low, high = (np.asarray(array, np.float64) for array in arrays)
    _refuse(~(np.isfinite(low) & np.isfinite(high)), low, high, "is not finite")
    _refuse(low > high, low, high, "descends")
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def power_of_two_ceiling(scales: npt.ArrayLike) -> F64:
    """Rounds `scales` up to powers of two, exactly; 0 and infinity are preserved."""
    array = np.asarray(scales, np.float64)
    fraction, exponent = np.frexp(array)
    is_number = np.isfinite(array) & (array > 0)
    with np.errstate(over="ignore"):
        return np.where(is_number, np.ldexp(1.0, exponent - (fraction == 0.5)), array)


def are_powers_of_two(numbers: npt.ArrayLike) -> Bools:
    """Returns a mask of the `numbers`, which must be positive, that are exact powers of two."""
    return np.frexp(np.asarray(numbers))[0] == 0.5


def _usable_limits(grid: Grid) -> tuple[int, int]:
    low, high = grid.storage.minimum, grid.storage.maximum
    if grid.rule is Arithmetic.GLOW and grid.storage == Storage(32):
        return low >> 2, high >> 2
    return low, high


def symmetric_zero_point(storage: Storage) -> int:
    """Returns 0 or the stored value nearest to it; for unsigned storage, the middle value, ties to even."""
    if storage.is_signed:
        return min(max(0, storage.minimum), storage.maximum)
    return round((storage.minimum + storage.maximum) / 2)


def _steps_needed(reach: F64, steps: int) -> F64:
    """Returns the scale at which `steps` cover `reach`; infinity if there are no steps."""
    return reach / steps if steps else np.where(reach > 0, np.inf, 0.0)


def _symmetric_scales(low: F64, high: F64, zero_point: int, limits: tuple[int, int], grid: Grid) -> F64:
    below, above = zero_point - limits[0], limits[1] - zero_point
    covering = np.maximum(_steps_needed(-low, below), _steps_needed(high, above))
    if abs(below - above) > 1:
        _refuse(np.isinf(covering), low, high, "lies on the side of 0 that the storage cannot represent")
        return covering
    # If one side has one step more, half a step of clipping is spread over both: ONNX Runtime's formula.
    spread = np.maximum(-low, high) / ((limits[1] - limits[0]) / 2)
    if grid.rule is Arithmetic.ONNXRUNTIME and not grid.scheme.is_power_of_two:
        return spread
    return np.where(np.isinf(covering), spread, covering)


def _half_away(values: F64) -> F64:
    whole = np.trunc(values)
    return whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0.0)


def _zero_points(low: F64, high: F64, scales: F64, limits: tuple[int, int], grid: Grid) -> F64:
    qmin, qmax = limits
    from_low = qmin - low / scales
    if grid.rule is Arithmetic.ONNXRUNTIME:
        return np.clip(np.rint(from_low), qmin, qmax)
    is_low_better = abs(qmin) + np.abs(low / scales) < abs(qmax) + np.abs(high / scales)
    nearest = _half_away(np.clip(np.where(is_low_better, from_low, qmax - high / scales), qmin, qmax))
    return np.where(low == -high, 0.0, nearest) if grid.storage.is_signed and qmin <= 0 <= qmax else nearest


def _placed(low: F64, high: F64, grid: Grid, place: Callable[[F64, F64, Grid], Parameters]) -> Parameters:
    """Calls a scheme's function, and checks its parameters against the scheme's declaration."""
    storage, scheme = grid.storage, grid.scheme
    known = registry.named("schemes")[scheme.name]
    chosen = known.call(place, low, high, grid)
    if not isinstance(chosen, Parameters):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise known.error(f"must return Parameters, but returned {chosen!r}", place)
    try:
        scales, zero_points = np.asarray(chosen.scales, np.float64), np.asarray(chosen.zero_points, np.int64)
    except (TypeError, ValueError) as error:
        raise known.error(f"must return arrays of numbers: {error}", place) from error
    is_stored = (storage.minimum <= zero_points) & (zero_points <= storage.maximum)
    is_power = not scheme.is_power_of_two or power_of_two_ceiling(scales) == scales
    is_centered = not scheme.is_symmetric or zero_points == symmetric_zero_point(storage)
    with np.errstate(over="ignore"):
        is_f32 = scales.astype(np.float32).astype(np.float64) == scales
    faults = {
        f"parameters whose shape is not that of the ranges, {low.shape}": {scales.shape, zero_points.shape}
        != {low.shape},
        "a scale that is not a positive normal f32": not np.all(is_f32 & (scales >= SMALLEST_SCALE)),
        f"a zero point outside {storage}": not np.all(is_stored),
        "a scale that is not a power of two": not np.all(is_power),
        "a zero point that is not symmetric": not np.all(is_centered),
    }
    for fault, is_there in faults.items():
        if is_there:
            raise known.error(f"returned {fault}", place)
    return Parameters(scales, zero_points)


def parameters(minimum: npt.ArrayLike, maximum: npt.ArrayLike, grid: Grid) -> Parameters:
    """Returns the parameters of `grid` for each range; `minimum` and `maximum` broadcast, as `[]` or `[channels]`.

    Each range is extended to contain 0. Every value in it is then represented with an error of at most half a
    quantization step, plus `(qmax - qmin) * 2^-24` steps from rounding the scale to f32, which is negligible for at
    most 16 bits; `2^-11` and `2^-8` take the place of `2^-24` for scales of normal f16 and bf16 numbers. If a range is
    so small that its scale would be a subnormal f32, the scale is 1 and the zero point is 0 or the stored value nearest
    to 0. A symmetric scheme keeps its zero point in this case, so that all channels of unsigned weights share it.

    Raises `RangeError` if a range is not finite, descends, or needs a scale that overflows `grid.scale_type`.
    """
    low, high = widened(minimum, maximum)
    if grid.scheme.place is not None:
        return _placed(low, high, grid, grid.scheme.place)
    limits = _usable_limits(grid)
    is_one_sided = np.zeros(low.shape, bool)
    with np.errstate(over="ignore"):
        scales = (high - low) / (limits[1] - limits[0])
    if grid.scheme.is_symmetric:
        center = symmetric_zero_point(grid.storage)
        if grid.rule is Arithmetic.GLOW and not grid.storage.is_signed:
            is_one_sided = low >= 0  # Glow's SymmetricWithUnsigned
        covered = np.where(is_one_sided, 0.0, low), np.where(is_one_sided, 0.0, high)
        scales = np.where(is_one_sided, scales, _symmetric_scales(*covered, center, limits, grid))
    else:
        center = min(max(0, limits[0]), limits[1])
    is_degenerate = scales < SMALLEST_SCALE
    scales = np.where(is_degenerate, 1.0, scales)
    if grid.scheme.is_power_of_two:
        scales = power_of_two_ceiling(scales)
    rounded = rounded_scales(scales, grid.scale_type)
    largest = float(cast(Any, ml_dtypes.finfo(SCALE_TYPES[grid.scale_type])).max)
    _refuse(~np.isfinite(rounded), low, high, f"needs a scale above {largest}, the largest {grid.scale_type}")
    if grid.scheme.is_symmetric:
        zero_points: Array = np.where(is_one_sided, limits[0], center)
    else:
        zero_points = np.where(is_degenerate, center, _zero_points(low, high, scales, limits, grid))
    return Parameters(np.asarray(rounded), np.asarray(zero_points).astype(np.int64))


# Least-squares scales for ternary weights, `a * {-1, 0, 1}`, and for binary ones, `a * {-1, 1}`.
#
# With weights `w` and codes `t`, the error `sum (w - a t)^2` is `sum w^2 - 2 a P + a^2 k`, where `k` codes are not 0
# and `P` is the sum of `|w|` over these. For binary weights `k` is their number, so `a = P / k`, the mean of `|w|`
# (Rastegari et al., XNOR-Net, 2016). For ternary ones `a = P / k` leaves `sum w^2 - P^2 / k`, and the best `k` weights
# are the largest: `P` is a prefix sum of the sorted `|w|`, and the largest `P^2 / k` is the optimum that Li et al.
# (Ternary Weight Networks, 2016) approximate by a threshold. At the optimum, exactly these `k` weights have a nonzero
# nearest code: if one of them were below `a / 2`, or another one above it, removing or adding it would increase
# `P^2 / k`.

_ELEMENTS = 1 << 22
"""The number of weights that are sorted at a time; rows are never split."""

_POWERS = 24
"""The number of candidate powers of two below the largest weight; lower ones cannot win, even for `2^22` weights."""


def ternary_scales(rows: npt.NDArray[np.float32], *, is_power_of_two: bool = False) -> F64:
    """Returns the best scale for the ternary codes of each row, `[rows]` for `[rows, weights]`; 0 for rows of zeros."""
    count = max(_ELEMENTS // max(rows.shape[1], 1), 1)
    best = _best_power if is_power_of_two else _best_mean
    parts = [best(*_sorted(rows[first : first + count])) for first in range(0, len(rows), count)]
    return np.concatenate(parts) if parts else np.zeros(0)


def binary_scales(rows: npt.NDArray[np.float32], *, is_power_of_two: bool = False) -> F64:
    """Returns the best scale for the signs of each row, `[rows]` for `[rows, weights]`; 0 for rows of zeros."""
    means = np.abs(rows).mean(axis=1, dtype=np.float64)
    if not is_power_of_two:
        return means
    fraction, exponent = np.frexp(means)  # the error is a parabola about the mean: below 3/4 the lower power is nearer
    return np.where(means > 0, np.ldexp(1.0, exponent - (fraction < 0.75)), 0.0)


def _sorted(rows: npt.NDArray[np.float32]) -> tuple[F64, F64]:
    """Returns magnitudes in descending order, and their prefix sums."""
    magnitudes = -np.sort(-np.abs(rows), axis=1).astype(np.float64)
    return magnitudes, np.cumsum(magnitudes, axis=1)


def _best_mean(magnitudes: F64, sums: F64) -> F64:
    if not magnitudes.shape[1]:
        return np.zeros(len(magnitudes))
    counts = np.arange(1.0, magnitudes.shape[1] + 1)
    best = np.argmax(np.square(sums) / counts, axis=1)
    return np.asarray(sums[np.arange(len(sums)), best] / counts[best])


def _best_power(magnitudes: F64, sums: F64) -> F64:
    found, gains = np.zeros(len(magnitudes)), np.zeros(len(magnitudes))
    largest = magnitudes.max(axis=1, initial=0.0)
    whole = np.pad(sums, ((0, 0), (1, 0)))
    for below in range(-1, _POWERS):
        scales = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1 - below), 0.0)
        counts = (magnitudes > scales[:, np.newaxis] / 2).sum(axis=1)
        gained = 2 * scales * whole[np.arange(len(whole)), counts] - np.square(scales) * counts
        is_better = gained > gains
        found, gains = np.where(is_better, scales, found), np.where(is_better, gained, gains)
    return found


def signs(weights: Array) -> Array:
    """Returns -1 for negative weights and 1 for all others."""
    return np.where(weights < 0, -1, 1).astype(weights.dtype)


def beyond_zero(weights: Array, scales: Array) -> Array:
    """Returns `weights` with magnitudes raised to at least `scales`, so that none of them rounds to code 0."""
    return signs(weights) * np.maximum(np.abs(weights), scales.astype(weights.dtype))
