"""Step functions of integers as multiplications and shifts, found from their thresholds; and division by a constant."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import fused_f32, integer_limits

# Step functions of integers as a sum of products and a shift: `(a * M + b * N + B) >> s` with the same steps.
#
# Requantization by floats, of an accumulator or of two bytes, takes few different values. The inputs at which the value
# changes determine it, so another formula is proven equal by its values at these inputs alone, rather than by an error
# bound. `steps_of` finds the steps of a monotonically increasing function of one integer, `steps_on_grid` those of any
# function of a few integers by enumeration, and `fit_steps` searches for factors, an addend and a shift that reproduce
# every step.

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

StepFunction = Callable[[Integers], Integers]
"""A function that maps integers `[channels, places]` to integers of the same shape."""

MOST_PLACES = 1 << 20
"""The maximum number of inputs that are evaluated together: more would take seconds."""

LARGEST_INTEGER = 1 << 31
"""The limit on input magnitudes: products of larger integers with 31-bit factors are not supported."""

_LIMIT = 1 << 62
"""The bound on magnitudes in 64-bit computations."""

LARGEST_FACTOR = (1 << 31) - 1
"""The largest factor: factors are 32-bit words of either sign (a negative one turns a decreasing function around)."""

# Let F be a function of an integer a in [low, high] that never falls, with values from L to H, and t_j the smallest a
# with F(a) >= j. With M >= 0, g(a) = (a M + B) >> s never falls either, so clamp(g, L, H) = F everywhere if and only if
# for each j with L < j <= H
#
#   t_j M + B >= j 2^s          (g has reached j where F has)
#   (t_j - 1) M + B < j 2^s     (and not earlier).
#
# A channel that does not reach L or H has conditions for its own first and last value as well. For a given M these form
# an interval for B; its width, in units of 2^s, is a concave function of m = M / 2^s, as a minimum of linear functions
# minus a maximum of such. So the best m is found by ternary search in f64, and the integers M and B are checked
# exactly.
#
# Requantization by floats rounds twice: a product slightly below a half becomes one in f32, and is then rounded to the
# even integer, up or down. No addend reproduces both. `fit_even_steps` keeps some fraction bits of the sum, rounded to
# the nearest, and rounds these with ties to even. This function never falls in a either, so its steps determine it. The
# fraction bits of f32 depend on the magnitude: if no fixed number of them works, the sum is first rounded to 24
# significant bits.
#
# For two integers every pair is a condition: F(a, b) > L requires a M + b N + B >= F(a, b) 2^s, and F(a, b) < H
# requires it to be below (F(a, b) + 1) 2^s. The width is concave in (m, n).


@dataclass(frozen=True)
class StepPositions:
    """The conditions that a step function places on the weighted sum of its integer inputs.

    At the inputs `reached`, `[integers, channels, places]`, the sum must be at least the level; at the inputs `below`,
    it must be less than the level."""

    reached: Integers
    reached_levels: Integers
    below: Integers
    below_levels: Integers
    """The levels, `[channels, places]`; channels with fewer conditions repeat their last one."""

    low: int
    high: int
    """The result of the shift is clamped to `[low, high]`, the smallest and largest value over all channels."""

    ranges: Sequence[tuple[int, int]]
    """The range of each integer input."""

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.reached.shape[1]


@dataclass(frozen=True)
class IntegerSteps:
    """The formula `clamp((sum(a * factor) + addend) >> shift, low, high)` in integers of `bits` bits."""

    factors: Sequence[Integers]
    """The factors of each integer input: a single factor, or one per channel."""

    addends: Integers
    """A single addend, or one per channel."""

    shift: int
    bits: int
    low: int
    high: int
    reach: tuple[int, int]
    """The range of the result before it is clamped."""

    fraction: int = 0
    """The number of fraction bits of the shifted sum, which is rounded to an integer with ties to even.

    0 if the shift rounds down to an integer.
    """

    offset: int = 0
    """The integer that is added after this rounding; 0 if `fraction` is 0."""

    is_short: bool = False
    """True if the shifted sum is first rounded to `SIGNIFICANT` bits, ties to even, as f32 rounds it."""

    input_bits: int = 0
    """The integer input is first clamped to signed integers of this width; 0 if it is not."""


def _conditions(positions: Integers, levels: Integers, wanted: npt.NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Returns the `wanted` places `[integers, channels, places]` and levels; unwanted ones are replaced by a wanted one
    of their channel. A channel without wanted ones keeps its last condition, which always holds."""
    wanted = np.concatenate([wanted[:, :-1], wanted[:, -1:] | ~wanted.any(axis=1, keepdims=True)], axis=1)
    first: Integers = np.argmax(wanted, axis=1)[:, None].astype(np.int64)
    kept: Integers = np.where(wanted, np.arange(wanted.shape[1], dtype=np.int64), first)
    return np.take_along_axis(positions, kept[None], axis=2), np.take_along_axis(levels, kept, axis=1)


def _is_held(*integers: Integers) -> bool:
    """Whether 64 bits hold the differences of all pairs of these integers, and their neighbors."""
    return all(-_LIMIT < int(each.min()) <= int(each.max()) < _LIMIT for each in integers)


def steps_of(function: StepFunction, low: Integers, high: Integers) -> StepPositions | None:
    """Returns the steps of an increasing function of one integer, which is in `[low[c], high[c]]` for channel `c`.

    Returns `None` if there are no steps or too many, or if differences overflow 64 bits.
    """
    if not _is_held(low, high):
        return None
    first, last = function(low[:, None])[:, 0], function(high[:, None])[:, 0]
    if not _is_held(first, last):
        return None
    least, most = int(first.min()), int(last.max())
    if least >= most or (most - least + 2) * len(low) > MOST_PLACES:
        return None
    levels = np.broadcast_to(np.arange(least + 1, most + 1, dtype=np.int64), (len(low), most - least))
    is_step = (levels > first[:, None]) & (levels <= last[:, None])
    before = np.broadcast_to(low[:, None], levels.shape)
    after = np.broadcast_to(high[:, None], levels.shape)
    for _ in range(int((high - low).max()).bit_length() + 1):
        middle = before + ((after - before) >> 1)
        has_come = function(middle) >= levels
        before, after = np.where(has_come, before, middle), np.where(has_come, middle, after)
        if (after - before <= 1)[is_step].all():
            break
    # A channel without the smallest or the largest value is constrained at its ends.
    sides: list[tuple[Integers, Integers]] = []
    for positions, end, level, is_held in ((after, low, first, first > least), (before, high, last + 1, last < most)):
        all_places = np.concatenate([positions, end[:, None]], axis=1)[None]
        all_levels = np.concatenate([levels, level[:, None]], axis=1)
        sides.append(_conditions(all_places, all_levels, np.concatenate([is_step, is_held[:, None]], axis=1)))
    return StepPositions(*sides[0], *sides[1], least, most, [(int(low.min()), int(high.max()))])


def steps_on_grid(values: Integers, integers: Sequence[Integers]) -> StepPositions | None:
    """Returns the steps of any function, given its `values`, `[channels, places]`, at enumerated inputs.

    `integers` holds, for each integer input, its value at each place. Returns `None` if there are no steps, or if
    differences overflow 64 bits.
    """
    least, most = int(values.min()), int(values.max())
    if least == most or not _is_held(values, *integers):
        return None
    grid = np.stack([np.broadcast_to(each, values.shape) for each in integers])
    reached, below = (_conditions(grid, values, values > least), _conditions(grid, values + 1, values < most))
    return StepPositions(*reached, *below, least, most, [(int(each.min()), int(each.max())) for each in integers])


# --- The best slopes in f64 -------------------------------------------------------------------------------------------


_ROUNDS = 64
"""The number of iterations of a ternary search: each leaves two thirds of the interval, so 64 leave 2^-37 of it."""

_CRITICAL = 2048
"""The number of conditions on each side that a two-dimensional search evaluates: those closest to failure."""


def _ends(steps: StepPositions, slopes: Reals) -> tuple[Reals, Reals]:
    """Returns the interval of the addend of each channel for the slopes `[integers, channels]`."""
    low = steps.reached_levels - np.einsum("kc,kcn->cn", slopes, steps.reached)
    high = steps.below_levels - np.einsum("kc,kcn->cn", slopes, steps.below)
    return low.max(axis=1), high.min(axis=1)


def _width(steps: StepPositions, slopes: Reals, *, is_common: bool) -> Reals:
    low, high = _ends(steps, slopes)
    found = high - low
    return np.broadcast_to(found.min(), found.shape) if is_common else found


def _first_slopes(steps: StepPositions) -> Reals:
    """Returns initial slopes by least squares over unclamped values, common to all channels if there are several
    integers."""
    if len(steps.reached) == 1:
        positions, levels = steps.reached[0], steps.reached_levels
        run = (positions.max(axis=1) - positions.min(axis=1)).astype(np.float64)
        rise = (levels.max(axis=1) - levels.min(axis=1)).astype(np.float64)
        return np.where(run > 0, rise / np.maximum(run, 1), 1.0)[None]
    inside = steps.reached_levels[0] < steps.high
    if inside.sum() < 8:
        inside = np.ones_like(inside)
    rows = [*(each[0][inside] for each in steps.reached), np.ones(inside.sum())]
    unknowns = np.stack(rows, axis=1).astype(np.float64)
    found = cast(Any, np.linalg).lstsq(unknowns, steps.reached_levels[0][inside], rcond=None)[0]
    return np.broadcast_to(found[:-1, None], (len(steps.reached), steps.channels)).astype(np.float64)


def _searched(
    steps: StepPositions, slopes: Reals, position: int, reach: Reals, *, is_common: bool
) -> tuple[Reals, Reals]:
    """Finds the best slope of the integer `position` and later ones around `slopes` by ternary search; also returns the
    width."""

    def at(slope: Reals) -> tuple[Reals, Reals]:
        moved = slopes.copy()
        moved[position] = slope
        if position + 1 == len(slopes):
            return moved, _width(steps, moved, is_common=is_common)
        return _searched(steps, moved, position + 1, reach, is_common=is_common)

    low: Reals = slopes[position] - reach[position]
    high: Reals = slopes[position] + reach[position]
    for _ in range(_ROUNDS if len(slopes) == 1 else _ROUNDS // 2):
        third: Reals = (high - low) / 3
        one, two = at(low + third), at(high - third)
        is_right = one[1] < two[1]
        low, high = np.where(is_right, low + third, low), np.where(is_right, high, high - third)
    return at((low + high) / 2)


def _critical(steps: StepPositions, slopes: Reals) -> StepPositions:
    """Returns the conditions of a single channel that are closest to failure, to speed up the search."""
    low = steps.reached_levels[0] - np.einsum("kc,kcn->cn", slopes, steps.reached)[0]
    high = steps.below_levels[0] - np.einsum("kc,kcn->cn", slopes, steps.below)[0]
    first, second = np.argsort(-low)[:_CRITICAL], np.argsort(high)[:_CRITICAL]
    return StepPositions(
        steps.reached[:, :, first], steps.reached_levels[:, first], steps.below[:, :, second],
        steps.below_levels[:, second], steps.low, steps.high, steps.ranges,
    )  # fmt: skip


def _best_slopes(steps: StepPositions, *, is_common: bool) -> Reals | None:
    """Returns the slopes with the widest interval for the addend, `None` if there is none.

    With `is_common`, all channels share the slopes.
    """
    slopes = _first_slopes(steps)
    if len(slopes) > 1:
        if steps.channels > 1:
            return None
        reach = np.maximum(np.abs(slopes) / 32, 1e-9)
        for _ in range(3):  # the critical conditions change near a better solution
            slopes, _ = _searched(_critical(steps, slopes), slopes, 0, reach, is_common=is_common)
            reach = reach / 32
    else:
        slopes = np.full_like(slopes, np.median(slopes)) if is_common else slopes
        slopes, _ = _searched(steps, slopes, 0, np.maximum(np.abs(slopes), 1e-12), is_common=is_common)
    return slopes if (_width(steps, slopes, is_common=is_common) > 0).all() else None


# --- Integers ---------------------------------------------------------------------------------------------------------


def _exact_ends(steps: StepPositions, factors: Integers, shift: int) -> tuple[Integers, Integers]:
    """Returns the exact interval of the addend for factors `[integers, channels]`."""
    low = (steps.reached_levels << shift) - np.einsum("kc,kcn->cn", factors, steps.reached)
    high = (steps.below_levels << shift) - 1 - np.einsum("kc,kcn->cn", factors, steps.below)
    return low.max(axis=1), high.min(axis=1)


def _largest_shift(steps: StepPositions, slopes: Reals, bits: int) -> int:
    """Returns the largest shift for which the sums fit `bits` bits and the factors 31."""
    largest = [max(map(abs, each)) for each in steps.ranges]
    products = float(sum(np.abs(slope).max() * most for slope, most in zip(slopes, largest, strict=True)))
    reach = 2 * products + max(abs(steps.low), abs(steps.high)) + 2
    room = min(bits - 1, 62) - math.log2(reach)
    return min(math.floor(min(room, 30 - math.log2(max(np.abs(slopes).max(), 1e-30)))), bits - 2)


def _common(low: Integers, high: Integers, shift: int, offset: int | None) -> Integers:
    """Returns addends inside the intervals: a common one if possible, preferably half a unit plus the offset."""
    least, most = int(low.max()), int(high.min())
    if least > most:
        return low + ((high - low) >> 1)
    half = None if offset is None else (offset << shift) + (1 << shift >> 1)
    return np.array([half if half is not None and least <= half <= most else least + ((most - least) >> 1)], np.int64)


def _is_stored(factors: Integers, addends: Integers, bits: int) -> bool:
    """Returns true if no factor exceeds `LARGEST_FACTOR` in magnitude, and all addends fit in `bits` bits.

    Addends may not fit even though the sums do: if the integers are far from 0, an addend cancels large products.
    """
    least, most = integer_limits(bits)
    is_held = -LARGEST_FACTOR <= int(factors.min()) <= int(factors.max()) <= LARGEST_FACTOR
    return is_held and least <= int(addends.min()) <= int(addends.max()) <= most


def _reach(steps: StepPositions, factors: Integers, addends: Integers) -> tuple[int, int]:
    """Returns the range of the sums."""
    low, high = int(addends.min()), int(addends.max())
    for factor, range_ in zip(factors, steps.ranges, strict=True):
        corners = [int(each) * end for each in (factor.min(), factor.max()) for end in range_]
        low, high = low + min(corners), high + max(corners)
    return low, high


def _made(steps: StepPositions, factors: Integers, shift: int, bits: int, offset: int | None) -> IntegerSteps | None:
    """Returns the formula with these factors; `None` if no addend satisfies the conditions, or a word is too small."""
    low, high = _exact_ends(steps, factors, shift)
    if (low > high).any():
        return None
    addends = _common(low, high, shift, offset)
    reach, (least, most) = _reach(steps, factors, addends), integer_limits(bits)
    if not _is_stored(factors, addends, bits) or reach[0] < least or reach[1] > most:
        return None
    shorter = [each[:1] if (each == each[0]).all() else each for each in factors]
    return IntegerSteps(shorter, addends, shift, bits, steps.low, steps.high, (reach[0] >> shift, reach[1] >> shift))


def _by_half(steps: StepPositions, slopes: Reals, shift: int, bits: int, offset: int) -> IntegerSteps | None:
    """Uses the addend of rounding, half a unit plus the offset, and finds an interval of factors for each channel."""
    addend = (offset << shift) + (1 << shift >> 1)
    # A channel with one value accepts any factor, or those of a half-line, whose end may exceed the limit.
    least, most = np.full(steps.channels, -LARGEST_FACTOR), np.full(steps.channels, LARGEST_FACTOR)
    for positions, need, is_least in (
        (steps.reached[0], (steps.reached_levels << shift) - addend, True),
        (steps.below[0], (steps.below_levels << shift) - 1 - addend, False),
    ):
        # positions * M >= need where the level is reached, <= need where it is not: the sign of the position selects
        # the bound.
        divisor = np.where(positions == 0, 1, positions)
        sign = positions if is_least else -positions
        if ((positions == 0) & ((need if is_least else -need) > 0)).any():
            return None
        least = np.maximum(least, np.where(sign > 0, -(-need // divisor), -_LIMIT).max(axis=1))
        most = np.minimum(most, np.where(sign < 0, need // divisor, _LIMIT).min(axis=1))
    wanted = np.rint(slopes[0] * 2.0**shift).astype(np.int64)
    factors = np.clip(wanted, least, most)
    if (least > most).any():
        return None
    return _made(steps, factors[None], shift, bits, offset)


def _candidates(steps: StepPositions, offset: int | None) -> Iterator[IntegerSteps | None]:
    together = _best_slopes(steps, is_common=True)
    apart = _best_slopes(steps, is_common=False) if steps.channels > 1 else together
    for bits in (32, 64):
        for slopes in (together, apart):
            if slopes is None or (shift := _largest_shift(steps, slopes, bits)) < 0:
                continue
            if slopes is apart and offset is not None and len(slopes) == 1:
                yield _by_half(steps, slopes, shift, bits, offset)
            yield _made(steps, np.rint(slopes * 2.0**shift).astype(np.int64), shift, bits, offset)


def fit_steps(steps: StepPositions, offset: int | None = None) -> IntegerSteps | None:
    """Returns a sum of products and a shift that has exactly these steps, preferably in 32 bits rather than 64.

    Returns `None` if none is found. `offset` is the integer that the rounding adds, if it is known; in this case, all
    channels share one addend.
    """
    if any(abs(each) > LARGEST_INTEGER for range_ in steps.ranges for each in range_):
        return None
    return next((each for each in _candidates(steps, offset) if each is not None), None)


SIGNIFICANT = 24
"""The significant bits of f32."""

_FRACTIONS = range(16, 23)
"""The fraction bits to try: f32 products from 64 to 127 have 17, smaller ones more."""

_NUDGES = np.array(sorted(range(-64, 65), key=abs), np.int64)
"""Multiples of `_NUDGE` that are added to a factor whose own value does not fit, the smallest first."""

_NUDGE = 2.0**-29
"""The smallest relative change of a factor. 64 of them move a product of 128 by two of its last bits in f32."""


def _to_even(sums: Integers, fraction: int, *, is_short: bool) -> Integers:
    """Rounds integers with `fraction` fraction bits to the nearest integer, ties to even."""
    if is_short:
        lost: Integers = np.maximum(np.frexp(np.abs(sums).astype(np.float64))[1] - SIGNIFICANT, 0).astype(np.int64)
        sums = (sums + (((1 << lost) - 1 + ((sums >> lost) & 1)) >> 1)) >> lost << lost
    return (sums + ((1 << fraction - 1) - 1) + ((sums >> fraction) & 1)) >> fraction


def _even_factors(steps: StepPositions, slopes: Reals, formula: IntegerSteps) -> Integers | None:
    """Returns a factor for each channel with which `formula` satisfies all conditions, or `None`."""
    shift, fraction = formula.shift, formula.fraction
    exact = slopes * 2.0 ** (shift + fraction)
    factors: Integers = np.rint(exact).astype(np.int64)
    left = np.arange(steps.channels)
    for nudge in _NUDGES:
        tried: Integers = np.rint(exact[left] * (1 + nudge * _NUDGE)).astype(np.int64)
        is_held = np.ones(len(left), np.bool_)
        for positions, levels, is_least in (
            (steps.reached[0], steps.reached_levels, True),
            (steps.below[0], steps.below_levels, False),
        ):
            own = positions[left]
            if formula.input_bits:
                own = np.clip(own, *integer_limits(formula.input_bits))
            sums = (own * tried[:, None] + formula.addends) >> shift
            found = _to_even(sums, fraction, is_short=formula.is_short) + formula.offset
            is_held &= ((found >= levels[left]) == is_least).all(axis=1)
        factors[left[is_held]] = tried[is_held]
        left = left[~is_held]
        if not len(left):
            return factors if int(factors.max()) <= LARGEST_FACTOR else None
    return None


def fit_even_steps(steps: StepPositions, slopes: Reals, offset: int) -> IntegerSteps | None:
    """Returns a product, a shift and a rounding with ties to even that have exactly these steps; `None` if none does.

    `steps` are those of one integer. `slopes` are the real factors of the channels, which must be positive, and
    `offset` is added after the rounding.
    """
    most = max(map(abs, steps.ranges[0]))
    if len(steps.reached) != 1 or not 0 < slopes.min() <= slopes.max() or most > LARGEST_INTEGER:
        return None
    # Beyond this magnitude, all channels have reached their smallest or largest value.
    enough = math.ceil((max(abs(steps.low - offset), abs(steps.high - offset)) + 1) / slopes.min())
    places, input_bits = _largest_shift(steps, slopes[None], 64), enough.bit_length() + 1
    limit = 1 << input_bits - 1
    for is_short, bits, largest in ((False, 0, most), (True, *((0, most) if most < limit else (input_bits, limit)))):
        reach = math.ceil(largest * slopes.max()) + 1
        # A shifted sum and its rounding must fit in 32 bits.
        tried = [each for each in _FRACTIONS if each < places and (reach + 2) << each < 1 << 31]
        for fraction in reversed(tried) if is_short else tried:
            shift = places - fraction
            addend, ends = np.array([1 << shift >> 1], np.int64), (offset - reach, offset + reach)
            formula = IntegerSteps(
                [], addend, shift, 64, steps.low, steps.high, ends, fraction, offset, is_short=is_short, input_bits=bits
            )
            factors = _even_factors(steps, slopes, formula)
            if factors is not None:
                is_common = bool((factors == factors[0]).all())
                return replace(formula, factors=[factors[:1] if is_common else factors])
    return None


# Rounded quotients by a constant as a product and a fused multiply-add, with equal integers.
#
# With `high` the reciprocal rounded towards zero and `low` its error, `fma(x, high, x * low)` is `x / s` up to a
# relative error of about 2^-48. If it is rounded to an integer and clamped, only the transitions between integers
# matter: there are as few as integers, and each is checked.

Array = npt.NDArray[np.float32]

MOST_INTEGERS = (1 << 16) - 1
"""The maximum number of integers in a range: a proof for more takes too long."""

_REACH = 4
"""The number of floats to search on each side of the f64 approximation of a transition, which is off by at most one."""


def reciprocal_parts(divisor: np.float32) -> tuple[np.float32, np.float32]:
    """Returns `1 / divisor` rounded towards zero, and the error, which is 0 for powers of two; `divisor` must be
    positive."""
    exact = 1 / Fraction(float(divisor))
    high = np.float32(float(exact))
    if Fraction(float(high)) > exact:
        high = np.nextafter(high, np.float32(0))
    return high, np.float32(float(exact - Fraction(float(high))))


def rounds_alike(divisor: np.float32, low: int, high: int) -> bool:
    """Returns True if division and the product with `reciprocal_parts` round to the same integers in `[low, high]`.

    Results are clamped to `[low, high]`. Both computations are nondecreasing in the dividend: the second part of the
    reciprocal is at most one ulp of the first, so its product never falls by more than the other product rises. They
    therefore agree everywhere if they agree on both sides of every transition between integers.
    """
    if not 0 <= high - low <= MOST_INTEGERS or max(-low, high) > 1 << 20:
        return False
    if not np.finfo(np.float32).smallest_normal <= divisor <= 1 / np.finfo(np.float32).smallest_normal:
        return False
    first, second = reciprocal_parts(divisor)
    below = np.arange(low, high, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = ((below + 0.5) * float(divisor)).astype(np.float32)
        around = np.stack([_moved(near, step) for step in range(-_REACH, _REACH + 1)], axis=1)
        is_above = np.rint(around / divisor) > below[:, None]
    if not np.isfinite(around).all() or is_above[:, 0].any() or not is_above[:, -1].all():
        return False
    found = np.argmax(is_above, axis=1)
    rows = np.arange(len(below))
    after, before = around[rows, found], around[rows, found - 1]
    return bool(((_rounded(after, first, second) > below) & (below >= _rounded(before, first, second))).all())


def _moved(values: Array, steps: int) -> Array:
    """Returns the floats `steps` positions above `values` (below, if negative)."""
    towards = np.float32(np.inf if steps > 0 else -np.inf)
    for _ in range(abs(steps)):
        values = np.nextafter(values, towards)
    return values


def _rounded(x: Array, first: np.float32, second: np.float32) -> Array:
    """Computes `roundeven(fma(x, first, x * second))`."""
    return np.rint(fused_f32(x, first, x * second))
