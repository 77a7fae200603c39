"""From a range, or from weights, to a quantized type, as a `Choice` wants it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, Signedness, f32

from qmlir.arithmetic.few_levels import binary_scales, ternary_scales
from qmlir.arithmetic.schemes import (
    F64,
    Grid,
    Parameters,
    RangeError,
    Storage,
    parameters,
    power_of_two_ceiling,
    symmetric_zero_point,
)
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.interfaces import FixedRange
from qmlir.quantization.choice import BY_BITS, Choice
from qmlir.quantization.observed import Observed


def storage_type(storage: Storage) -> IntegerType:
    """The storage type as types print it."""
    return IntegerType(storage.bits, Signedness.SIGNLESS if storage.is_signed else Signedness.UNSIGNED)


def grid_of(choice: Choice) -> Grid:
    """The integers that `choice` wants laid over a range."""
    return Grid(choice.storage, choice.scheme, choice.rule)


def tensor_type(storage: Storage, chosen: Parameters) -> UniformQuantizedType:
    """The type with one scale and one zero point."""
    scale, zero_point = float(chosen.scales.item()), int(chosen.zero_points.item())
    return UniformQuantizedType.per_tensor(storage_type(storage), f32, scale, zero_point, storage.limits)


def type_from_range(low: float, high: float, choice: Choice) -> UniformQuantizedType:
    """The type with one scale for values from `low` to `high`. Raises `RangeError`."""
    return tensor_type(choice.storage, parameters(low, high, grid_of(choice)))


def fixed_type(fixed: FixedRange, choice: Choice) -> UniformQuantizedType:
    """The type of a result whose range is known: `2^bits` steps over the range, so 1/256 for a sigmoid in 8 bits.

    A symmetric scheme makes the range symmetric first, so that its zero point stays where every other one is. A scheme
    that places grids itself does so here, too.
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
"""Takes the scales that weights ask for, and gives those that their bias has room under."""


def weight_type(
    array: npt.NDArray[np.float32], choice: Choice, axis: int | None, fit: Fit, sum_axis: int | None = None
) -> UniformQuantizedType:
    """The type of constant weights whose channels are along `axis`, with one scale where there is none.

    Blocks run along `sum_axis`, by default the axis beside the channels.

    Raises `RangeError` where a range has no parameters, and `ValueError` where blocks do not divide the sum.
    """
    if axis is not None and choice.granularity.block:
        return _block_type(array, choice, axis, sum_axis)
    if axis is not None and choice.granularity.is_channel:
        rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        chosen = parameters(*_ranges(rows, choice), grid_of(choice))
        return UniformQuantizedType.per_axis(
            storage_type(choice.storage), f32, axis, fit(chosen.scales), chosen.zero_points, choice.storage.limits
        )
    low, high = _ranges(array.reshape(1, -1), choice)
    chosen = parameters(low[0], high[0], grid_of(choice))
    return tensor_type(choice.storage, Parameters(fit(chosen.scales), chosen.zero_points))


def _sum_axis(array: npt.NDArray[np.float32], axis: int) -> int:
    return axis + 1 if axis in (0, array.ndim - 2) and axis + 1 < array.ndim else axis - 1


def undivided_sum(
    array: npt.NDArray[np.float32], choice: Choice, axis: int | None, sum_axis: int | None = None
) -> int | None:
    """The elements of a sum that the blocks of `choice` do not divide; `None` if they do, or if it has no blocks."""
    if axis is None or not choice.granularity.block:
        return None
    size = array.shape[_sum_axis(array, axis) if sum_axis is None else sum_axis]
    return size if size % choice.granularity.block else None


def _ranges(rows: npt.NDArray[np.float32], choice: Choice) -> tuple[F64, F64]:
    """The range of each row, by the calibrator."""
    if not choice.storage.has_zero and choice.calibrator != BY_BITS:
        raise ValueError(
            "binary weights do not support calibrators (their scale minimizes the error), but got "
            f"'{choice.calibrator}'"
        )
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


# A block has few elements and few steps: one large weight makes the steps of all others coarse. Clamping it a little
# costs less than that.
def _of_least_error(rows: F64, low: F64, high: F64, choice: Choice) -> tuple[F64, F64]:
    """The range of each row, both ends shrunk alike, whose grid has the smallest squared error of its weights."""
    grid, best = grid_of(choice), np.full(len(rows), np.inf)
    found = low.copy(), high.copy()
    for fraction in np.linspace(1.0, 0.6, 17):
        chosen = parameters(low * fraction, high * fraction, grid)
        scales, zero_points = chosen.scales[:, np.newaxis], chosen.zero_points[:, np.newaxis]
        stored = np.clip(np.rint(rows / scales) + zero_points, choice.storage.minimum, choice.storage.maximum)
        errors = np.square((stored - zero_points) * scales - rows).sum(axis=1)
        is_better = errors < best
        best = np.where(is_better, errors, best)
        for ends, end in zip(found, (low, high), strict=True):
            ends[is_better] = end[is_better] * fraction
    return found


def _block_type(
    array: npt.NDArray[np.float32], choice: Choice, axis: int, sum_axis: int | None
) -> UniformQuantizedType:
    """One scale for each channel and each block along the sum."""
    block = choice.granularity.block
    sum_axis = _sum_axis(array, axis) if sum_axis is None else sum_axis
    size = array.shape[sum_axis]
    if size % block:
        raise ValueError(f"block size {block} must divide the reduction size ({size})")
    split = array.reshape(*array.shape[:sum_axis], size // block, block, *array.shape[sum_axis + 1 :])
    kept = (axis if axis < sum_axis else axis + 1, sum_axis)
    others = [place for place in range(split.ndim) if place not in kept]
    counts = [split.shape[place] if place in kept else 1 for place in range(split.ndim) if place != sum_axis + 1]
    ordered = split.transpose(*sorted(kept), *others)
    rows = ordered.reshape(ordered.shape[0] * ordered.shape[1], -1)
    low, high = _ranges(rows, choice)
    if choice.has_least_error:
        low, high = _of_least_error(rows.astype(np.float64), low, high, choice)
    chosen = parameters(low.reshape(counts), high.reshape(counts), grid_of(choice))
    blocks = dict(sorted([(axis, 1), (sum_axis, block)]))
    storage = choice.storage
    return UniformQuantizedType.per_block(
        storage_type(storage), f32, blocks, chosen.scales, chosen.zero_points, storage.limits
    )
