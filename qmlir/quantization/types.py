"""Derives quantized types from ranges and weights, and the types of accumulators."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, Signedness, f32

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.arithmetic.schemes import (
    F64,
    I64,
    SMALLEST_SCALE,
    Bools,
    Grid,
    Parameters,
    RangeError,
    Storage,
    binary_scales,
    blocks_together,
    parameters,
    power_of_two_ceiling,
    rounded_scales,
    scale_type_of,
    symmetric_zero_point,
    ternary_scales,
)
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.interfaces import FixedRange
from qmlir.quantization.choice import BY_BITS, Choice, GivenParameters
from qmlir.quantization.profiles.statistics import Observed

# From a range or weights to a quantized type, according to a `Choice`.


def storage_type(storage: Storage) -> IntegerType:
    """Returns `storage` as a builtin integer type."""
    return IntegerType(storage.bits, Signedness.SIGNLESS if storage.is_signed else Signedness.UNSIGNED)


def grid_of(choice: Choice) -> Grid:
    """Returns the integer grid of `choice`."""
    return Grid(choice.storage, choice.scheme, choice.rule, choice.granularity.scale_type)


def tensor_type(storage: Storage, chosen: Parameters) -> UniformQuantizedType:
    """Returns the per-tensor type with the scale and zero point in `chosen`."""
    scale, zero_point = float(chosen.scales.item()), int(chosen.zero_points.item())
    return UniformQuantizedType.per_tensor(storage_type(storage), f32, scale, zero_point, storage.limits)


def type_from_range(low: float, high: float, choice: Choice) -> UniformQuantizedType:
    """Returns the per-tensor type for values from `low` to `high`. Raises `RangeError` for an invalid range."""
    return tensor_type(choice.storage, parameters(low, high, grid_of(choice)))


def type_of_parameters(given: GivenParameters, choice: Choice, axis: int | None = None) -> UniformQuantizedType:
    """Returns the type with the `given` parameters and the storage of `choice`.

    A list of scales lies along `axis`. A range is converted like an observed one: it is extended to contain 0, and the
    scheme decides. Raises `RangeError` for a range without parameters, and `ValueError` for a zero point outside the
    storage.
    """
    if given.range is not None:
        return type_from_range(*given.range, choice)
    storage = choice.storage
    zero_points = given.zero_points or (symmetric_zero_point(storage) if choice.scheme.is_symmetric else 0,)
    if not storage.has_zero:
        raise ValueError(f"storage '{storage}' does not support given parameters")
    if wrong := [each for each in zero_points if not storage.minimum <= each <= storage.maximum]:
        limits = f"[{storage.minimum}, {storage.maximum}]"
        raise ValueError(f"zero point {wrong[0]} is outside the limits {limits} of storage {storage}")
    scales, held = np.array(given.scales, np.float32).astype(np.float64), storage_type(storage)
    if not given.is_per_channel:
        return UniformQuantizedType.per_tensor(held, f32, float(scales[0]), zero_points[0], storage.limits)
    if axis is None:
        raise ValueError("a list of scales requires weights with an axis of output channels")
    points = np.broadcast_to(np.array(zero_points, np.int64), scales.shape)
    return UniformQuantizedType.per_axis(held, f32, axis, scales, points, storage.limits)


def fixed_type(fixed: FixedRange, choice: Choice) -> UniformQuantizedType:
    """Returns the type of a result with a fixed range, divided into `2^bits` steps: 1/256 for an 8-bit sigmoid.

    With a symmetric scheme, the range is first made symmetric, so that the zero point is the usual one. A scheme that
    defines its grids itself also does so for fixed ranges.
    """
    storage, scheme = choice.storage, choice.scheme
    low, high = fixed.minimum, fixed.maximum
    if scheme.place is not None:
        return type_from_range(low, high, choice)
    if scheme.is_symmetric:
        low, high = -max(-low, high), max(-low, high)
    scale = (high - low) / storage.levels
    if scheme.is_power_of_two:
        scale = float(power_of_two_ceiling(scale))
    scale = float(np.float32(scale))
    zero_point = symmetric_zero_point(storage) if scheme.is_symmetric else round(storage.minimum - low / scale)
    inside = min(max(zero_point, storage.minimum), storage.maximum)
    return UniformQuantizedType.per_tensor(storage_type(storage), f32, scale, inside, storage.limits)


Fit = Callable[[F64], F64]
"""A function that takes the scales of weights, and returns scales that leave room for the bias in the accumulator."""


def weight_type(
    array: npt.NDArray[np.float32], choice: Choice, axis: int | None, fit: Fit, sum_axis: int | None = None
) -> UniformQuantizedType:
    """Returns the type of constant weights whose channels lie along `axis`; a per-tensor type if `axis` is `None`.

    Blocks run along `sum_axis`, by default the axis next to the channel axis. Raises `RangeError` if a range has no
    parameters, and `ValueError` if the block size does not divide the reduction size.
    """
    if axis is not None and choice.granularity.block:
        return _block_type(array, choice, axis, sum_axis)
    if axis is not None and choice.granularity.is_channel:
        rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        chosen = parameters(*_ranges(rows, choice), grid_of(choice))
        held, limits = storage_type(choice.storage), choice.storage.limits
        return UniformQuantizedType.per_axis(held, f32, axis, fit(chosen.scales), chosen.zero_points, limits)
    low, high = _ranges(array.reshape(1, -1), choice)
    chosen = parameters(low[0], high[0], grid_of(choice))
    return tensor_type(choice.storage, Parameters(fit(chosen.scales), chosen.zero_points))


def _sum_axis(array: npt.NDArray[np.float32], axis: int) -> int:
    return axis + 1 if axis in (0, array.ndim - 2) and axis + 1 < array.ndim else axis - 1


def undivided_sum(
    array: npt.NDArray[np.float32], choice: Choice, axis: int | None, sum_axis: int | None = None
) -> int | None:
    """Returns the reduction size if it is not divisible by the block size of `choice`, else `None`."""
    if axis is None or not choice.granularity.block:
        return None
    size = array.shape[_sum_axis(array, axis) if sum_axis is None else sum_axis]
    return size if size % choice.granularity.block else None


def _ranges(rows: npt.NDArray[np.float32], choice: Choice) -> tuple[F64, F64]:
    """Returns the range of each row that the calibrator chooses."""
    if not choice.storage.has_zero and choice.calibrator != BY_BITS:
        reason = "binary weights do not support calibrators (their scale minimizes the error)"
        raise ValueError(f"{reason}, but got '{choice.calibrator}'")
    if choice.has_best_scale:
        best = ternary_scales if choice.storage.has_zero else binary_scales
        reach = best(rows, is_power_of_two=choice.scheme.is_power_of_two)
        return -reach, reach
    if not choice.needs_statistics:
        low, high = rows.min(axis=1, initial=0.0), rows.max(axis=1, initial=0.0)
        return low.astype(np.float64), high.astype(np.float64)
    if not np.isfinite(rows).all():
        raise RangeError("weights must be finite")
    found = np.array([Observed.of_constant(row).range(choice) for row in rows], np.float64)
    return found[:, 0], found[:, 1]


# A block has few elements and few steps, so a single large weight makes the steps coarse for all other weights.
# Clamping the large weight a little costs less.
#
# Candidates are judged in slabs that stay in the caches, with the terms of a block along the first axis: an operation
# of NumPy then goes over one term of many blocks. Errors are added in the order of NumPy's sums of rows, so that the
# choice does not depend on the slabs.

_FRACTIONS = np.linspace(1.0, 0.6, 17)
"""The factors by which ranges are shrunk; the first one with the least error is chosen."""

_MORE_FRACTIONS = 3
"""The number of factors above 1 for symmetric types with more steps on one side of 0: the largest covers the other."""

_JUDGED = 1 << 16
"""The number of weights in a slab, half a MiB of f64: two such arrays fit in most second-level caches."""

_AT_ONCE = 1 << 14
"""The number of blocks whose parameters are computed in one call for each factor; a call takes about 0.1 ms."""


def _of_least_error(rows: npt.NDArray[np.float32], low: F64, high: F64, choice: Choice) -> tuple[F64, F64]:
    """Returns the range of each row, shrunk by the factor that minimizes the squared error of its weights."""
    grid, step, fractions = grid_of(choice), max(_JUDGED // rows.shape[1], 1), np.ones(len(rows))
    add = _pairwise_sum if rows.strides[1] <= rows.strides[0] else np.add.reduce
    tried = _fractions(grid)
    for first in range(0, len(rows), _AT_ONCE):
        blocks = slice(first, first + _AT_ONCE)
        candidates = [each for factor in tried if (each := _candidate(low[blocks], high[blocks], factor, grid))]
        for start in range(0, len(low[blocks]), step):
            part = slice(start, start + step)
            weights = np.array(rows[blocks][part].T, np.float64, order="C")
            squares = (_squared_errors(weights, each.scales[part], each.zero_points[part], grid) for each in candidates)
            fractions[blocks][part] = tried[np.argmin([add(each) for each in squares], axis=0)]
    return low * fractions, high * fractions


def _candidate(low: F64, high: F64, factor: float, grid: Grid) -> Parameters | None:
    """Returns the parameters of enlarged or shrunk ranges; `None` if one is enlarged to more than scales can cover."""
    try:
        return parameters(low * factor, high * factor, grid)
    except RangeError:
        if factor > 1:
            return None
        raise


def _fractions(grid: Grid) -> F64:
    """Returns the factors by which to multiply ranges."""
    zero_point = symmetric_zero_point(grid.storage)
    below, above = zero_point - grid.storage.minimum, grid.storage.maximum - zero_point
    if not grid.scheme.is_symmetric or not 0 < abs(below - above) < below + above:
        return _FRACTIONS
    widest = (below + above) / 2 / min(below, above)
    return np.concatenate((_FRACTIONS, np.linspace(1.0, widest, _MORE_FRACTIONS + 1)[1:]))


def _squared_errors(weights: F64, scales: F64, zero_points: I64, grid: Grid) -> F64:
    """Returns the squared error of each of `weights`, `[terms, blocks]`."""
    errors, has_offset = weights / scales, bool(zero_points.any())
    np.rint(errors, out=errors)
    if has_offset:
        errors += zero_points
    np.clip(errors, grid.storage.minimum, grid.storage.maximum, out=errors)
    if has_offset:
        errors -= zero_points
    errors *= scales
    errors -= weights
    return np.square(errors, out=errors)


def _pairwise_sum(terms: F64) -> F64:
    """Returns the sums over the first axis, added in the order in which NumPy adds contiguous numbers."""
    count = len(terms)
    if count < 8:
        return np.add.reduce(terms)
    if count > 128:
        half = count // 2 - count // 2 % 8
        return _pairwise_sum(terms[:half]) + _pairwise_sum(terms[half:])
    whole = count - count % 8
    lanes = np.add.reduce(terms[:whole].reshape(-1, 8, terms.shape[1]))
    pairs = lanes[::2] + lanes[1::2]
    fours = pairs[::2] + pairs[1::2]
    total = fours[0] + fours[1]
    for each in terms[whole:]:
        total += each
    return total


def _of_two_levels(
    rows: npt.NDArray[np.float32], chosen: Parameters, is_used: Bools, choice: Choice, along: int
) -> Parameters:
    """Rounds the scales of blocks along an axis to multiples of a number for each super-block.

    The numbers are normal f16 numbers if these cover all scales, otherwise bf16 numbers.

    Of the two nearest multiples, each block has the one with the smaller squared error. `rows` holds the weights of
    each block, and `is_used` is False for blocks of zeros.
    """
    if choice.scheme.is_power_of_two:
        raise ValueError(f"granularity '{choice.granularity}' does not support scheme '{choice.scheme.name}'")
    largest = (1 << choice.granularity.factor_bits) - 1
    scales = np.moveaxis(chosen.scales, along, -1)
    run = blocks_together(scales.shape[-1], choice.granularity.block)
    if run == 1:  # a number for each block is a 16-bit scale
        halves = rounded_scales(chosen.scales, "f16")
        rounded = halves if scale_type_of(halves) == "f16" else rounded_scales(chosen.scales, "bf16")
        return Parameters(np.maximum(rounded, SMALLEST_SCALE), chosen.zero_points)
    reach = np.moveaxis(np.where(is_used.reshape(chosen.scales.shape), chosen.scales, 0), along, -1)
    most = reach.reshape(*scales.shape[:-1], -1, run).max(axis=-1)
    steps = np.where(most > 0, rounded_scales(most / largest, "f16"), 1)
    if scale_type_of(steps) != "f16":
        steps = np.where(most > 0, rounded_scales(most / largest, "bf16"), 1)
    steps = np.repeat(np.maximum(steps, SMALLEST_SCALE), run, axis=-1)
    below = np.floor(scales / steps)
    flat = [np.moveaxis(np.clip(each, 1, largest) * steps, -1, along).reshape(-1) for each in (below, below + 1)]
    grid, points, found = grid_of(choice), chosen.zero_points.reshape(-1), np.empty(len(rows))
    for first in range(0, len(rows), count := max(_JUDGED // rows.shape[1], 1)):
        part = slice(first, first + count)
        weights = np.array(rows[part].T, np.float64, order="C")
        errors = [np.add.reduce(_squared_errors(weights, each[part], points[part], grid)) for each in flat]
        found[part] = np.where(errors[1] < errors[0], flat[1][part], flat[0][part])
    return Parameters(found.reshape(chosen.scales.shape), chosen.zero_points)


def _block_type(
    array: npt.NDArray[np.float32], choice: Choice, axis: int, sum_axis: int | None
) -> UniformQuantizedType:
    """Returns the type with one scale for each channel and each block along the reduction."""
    block = choice.granularity.block
    sum_axis = _sum_axis(array, axis) if sum_axis is None else sum_axis
    size = array.shape[sum_axis]
    if size % block:
        raise ValueError(f"block size {block} must divide the reduction size ({size})")
    split = array.reshape(*array.shape[:sum_axis], size // block, block, *array.shape[sum_axis + 1 :])
    kept = (axis if axis < sum_axis else axis + 1, sum_axis)
    others = [position for position in range(split.ndim) if position not in kept]
    counts = [1] * array.ndim
    counts[axis], counts[sum_axis] = array.shape[axis], size // block
    ordered = split.transpose(*sorted(kept), *others)
    rows = ordered.reshape(ordered.shape[0] * ordered.shape[1], -1)
    low, high = _ranges(rows, choice)
    if choice.has_least_error:
        low, high = _of_least_error(rows, low, high, choice)
    chosen = parameters(low.reshape(counts), high.reshape(counts), grid_of(choice))
    if choice.granularity.factor_bits:
        chosen = _of_two_levels(rows, chosen, low < high, choice, along=sum_axis)
    blocks, held = dict(sorted([(axis, 1), (sum_axis, block)])), storage_type(choice.storage)
    limits = choice.storage.limits
    return UniformQuantizedType.per_block(held, f32, blocks, chosen.scales, chosen.zero_points, limits)


# The types of accumulators: exact 32-bit sums of products, and sums of such sums.
#
# A contraction computes `sum (q_x - z_x)(q_w - z_w)` with scale `f32(s_x * s_w)` and zero point 0. A value that is
# added before rounding has the same type, so that integers are added. Each accumulator has a bound on its integers. If
# the bound exceeds 32 bits, the accumulator scale is multiplied by a power of two.

STORAGE = Storage(32)
"""The default storage of accumulators."""

_LARGEST = STORAGE.maximum


@dataclass(frozen=True)
class SumBound:
    """The type of an accumulator, with an upper bound on the magnitude of its integers; infinity if it is unknown."""

    type_: UniformQuantizedType
    bound: float

    @property
    def raised_by(self) -> int:
        """The exponent of the power of two by which the scale must grow so that the bound fits in 32 bits."""
        if not math.isfinite(self.bound) or self.bound <= _LARGEST:
            return 0
        return math.ceil(math.log2((self.bound + 1) / _LARGEST))

    def fitted(self) -> "SumBound":
        """Returns this sum with a scale at which it fits in 32 bits."""
        if not self.raised_by:
            return self
        return SumBound(with_scales(self.type_, self.type_.scales * 2.0**self.raised_by), _LARGEST)


def with_scales(
    type_: UniformQuantizedType, scales: npt.NDArray[np.float64], storage: Storage = STORAGE
) -> UniformQuantizedType:
    """Returns the accumulator type `type_` with other scales, and with a `storage` that is known to hold its sums."""
    return UniformQuantizedType.like(type_, storage_type(storage), scales, limits=storage.limits)


def no_finer(type_: UniformQuantizedType, exact: UniformQuantizedType) -> UniformQuantizedType:
    """Returns the type `type_` of rounded sums, with the scales of `exact` if its own scale is finer.

    A finer scale has no benefit, because all sums are multiples of the scales of the exact type `exact`.
    """
    if type_.granularity is not Granularity.TENSOR or type_.zero_points.any() or np.any(exact.scales < type_.scales):
        return type_
    return UniformQuantizedType.like(exact, type_.storage, exact.scales)


def product_type(
    data: UniformQuantizedType, weight: UniformQuantizedType, result_axis: int | None, repeats: int = 1
) -> UniformQuantizedType | None:
    """Returns the type of exact sums of products: i32, zero point 0, scale `f32(s_x * s_w)`.

    Returns `None` for block-wise weights. The channels of the result, along `result_axis`, are those of the weights,
    repeated `repeats` times.
    """
    if data.granularity is not Granularity.TENSOR or weight.granularity is Granularity.BLOCK:
        return None
    scales = accumulator_scale(data.scale, weight.scales).astype(np.float64)
    if weight.granularity is Granularity.TENSOR or result_axis is None:
        return UniformQuantizedType.per_tensor(IntegerType(32), f32, float(scales.reshape(-1)[0]))
    return UniformQuantizedType.per_axis(IntegerType(32), f32, result_axis, np.tile(scales, repeats))


def reach(type_: UniformQuantizedType) -> int:
    """Returns the largest `|q - z|` that `type_` can represent, in integers."""
    return int(np.maximum(type_.storage_max - type_.zero_points, type_.zero_points - type_.storage_min).max())


def weights_reach(array: Array, type_: UniformQuantizedType, axis: int) -> int:
    """Returns the largest sum of `|q - z|` over the weights of a channel.

    Multiplied by the reach of the data, it bounds every sum of products.
    """
    others = tuple(position for position in range(array.ndim) if position != axis)
    zero_points = type_.zero_points
    if type_.granularity is Granularity.AXIS:
        zero_points = zero_points.reshape([-1 if position == type_.axis else 1 for position in range(array.ndim)])
    centered = np.abs(quantize(array, type_).astype(np.int64) - zero_points)
    return int(centered.sum(axis=others).max(initial=0))


def sum_of(accumulators: Sequence[SumBound], others: Sequence[SumBound]) -> SumBound:
    """Returns the sum of `accumulators`, all of one rank, and `others`, at the coarsest scale of the accumulators.

    If all scales are equal, integers are added exactly. Otherwise, the error is at most half a step of the coarsest
    scale.
    """
    types = [each.type_ for each in accumulators]
    along = {(each.axis, each.scales.size): each for each in types if each.granularity is Granularity.AXIS}
    if len(along) > 1:  # the channels of one are not those of the other
        scale = max(float(each.scales.max()) for each in types)
        type_ = UniformQuantizedType.per_tensor(types[0].storage, f32, scale)
    else:
        scales = types[0].scales
        for each in types[1:]:
            scales = np.maximum(scales, each.scales)
        type_ = with_scales(next(iter(along.values()), types[0]), scales)
    return SumBound(type_, sum(_rebound(each, type_) for each in (*accumulators, *others)))


def _rebound(term: SumBound, target: UniformQuantizedType) -> float:
    """Returns the bound of a term that is added to a sum of type `target`, in its integers."""
    if np.array_equal(term.type_.scales, target.scales):
        return term.bound
    return term.bound * float(term.type_.scales.max() / target.scales.min()) + 1


def addend_type(
    array: Array, other: UniformQuantizedType, rank: int, storage: Storage = STORAGE
) -> UniformQuantizedType | None:
    """Returns the type in which a constant is added to a sum of type `other`; `None` if it does not fit in `storage`.

    `rank` is the rank of the sum. The constant and the sum broadcast with their last axes aligned.
    """
    if other.granularity is Granularity.BLOCK:
        return None
    scales, held = other.scales, storage_type(storage)
    shared = UniformQuantizedType.per_tensor(held, f32, float(scales.reshape(-1)[0]), 0, storage.limits)
    if other.granularity is Granularity.AXIS:
        axis = other.axis - (rank - array.ndim)
        if not 0 <= axis < array.ndim or array.shape[axis] != scales.size:
            return None
        shared = UniformQuantizedType.per_axis(held, f32, axis, scales, limits=storage.limits)
        scales = scales.reshape(-1, *(1,) * (array.ndim - axis - 1))
    with np.errstate(over="ignore", invalid="ignore"):
        integers = np.rint(array.astype(np.float64) / scales)
        fits = ((storage.minimum <= integers) & (integers <= storage.maximum)).all()
    return shared if fits else None


def bound_of(array: Array, type_: UniformQuantizedType) -> float:
    """Returns the largest magnitude of the integers of the constant `array` in `type_`."""
    return float(np.abs(quantize(array, type_).astype(np.float64)).max(initial=0.0))
