"""The types of accumulators: exact 32-bit sums of products, and sums of such sums.

A contraction gives `sum (q_x - z_x)(q_w - z_w)` with scale `f32(s_x * s_w)` and zero point 0. What is added to it
before it is rounded has its type, so that integers are added. Each type comes with a bound of its integers: where 32
bits are too few for it, the accumulator counts in steps of a power of two of the scale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, f32

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.arithmetic.schemes import Storage
from qmlir.dialects.quant.interpret import quantize
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.quantization.element_types import storage_type

STORAGE = Storage(32)
"""What an accumulator is stored in where no rule says otherwise."""

_LARGEST = STORAGE.maximum


@dataclass(frozen=True)
class SumBound:
    """The type of an accumulator, and how large its integers may become: infinity where that is not known."""

    type_: UniformQuantizedType
    bound: float

    @property
    def raised_by(self) -> int:
        """The power of two by which the scale must grow, so that 32 bits hold the bound."""
        if not math.isfinite(self.bound) or self.bound <= _LARGEST:
            return 0
        return math.ceil(math.log2((self.bound + 1) / _LARGEST))

    def fitted(self) -> "SumBound":
        """This sum counted in steps that 32 bits have room for."""
        if not self.raised_by:
            return self
        return SumBound(with_scales(self.type_, self.type_.scales * 2.0**self.raised_by), _LARGEST)


def with_scales(
    type_: UniformQuantizedType, scales: npt.NDArray[np.float64], storage: Storage = STORAGE
) -> UniformQuantizedType:
    """The accumulator `type_` with other scales, or in storage that is known to hold its sums."""
    held = storage_type(storage)
    if type_.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(held, f32, float(scales), limits=storage.limits)
    return UniformQuantizedType.per_axis(held, f32, type_.axis, scales, limits=storage.limits)


def no_finer(type_: UniformQuantizedType, exact: UniformQuantizedType) -> UniformQuantizedType:
    """`type_` of narrower sums, with the scales of `exact` where its step is finer: sums are whole steps of those."""
    if type_.granularity is not Granularity.TENSOR or type_.zero_points.any() or np.any(exact.scales < type_.scales):
        return type_
    if exact.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(type_.storage, f32, float(exact.scales))
    return UniformQuantizedType.per_axis(type_.storage, f32, exact.axis, exact.scales)


def product_type(
    data: UniformQuantizedType, weight: UniformQuantizedType, result_axis: int | None, repeats: int = 1
) -> UniformQuantizedType | None:
    """The type of exact sums of products: i32, zero point 0, scale `f32(s_x * s_w)`; none where there are blocks.

    The channels of the weights are those of the result, `repeats` times one after the other.
    """
    if data.granularity is not Granularity.TENSOR or weight.granularity is Granularity.BLOCK:
        return None
    scales = accumulator_scale(data.scale, weight.scales).astype(np.float64)
    if weight.granularity is Granularity.TENSOR or result_axis is None:
        return UniformQuantizedType.per_tensor(IntegerType(32), f32, float(scales.reshape(-1)[0]))
    return UniformQuantizedType.per_axis(IntegerType(32), f32, result_axis, np.tile(scales, repeats))


def reach(type_: UniformQuantizedType) -> int:
    """The largest `|q - z|` of a type."""
    return int(np.maximum(type_.storage_max - type_.zero_points, type_.zero_points - type_.storage_min).max())


def weights_reach(array: Array, type_: UniformQuantizedType, axis: int) -> int:
    """The largest sum of `|q - z|` over the weights of a channel; times the reach of the data, it bounds every sum."""
    others = tuple(place for place in range(array.ndim) if place != axis)
    zero_points = type_.zero_points
    if type_.granularity is Granularity.AXIS:
        zero_points = zero_points.reshape([-1 if place == type_.axis else 1 for place in range(array.ndim)])
    centred = np.abs(quantize(array, type_).astype(np.int64) - zero_points)
    return int(centred.sum(axis=others).max(initial=0))


def sum_of(accumulators: Sequence[SumBound], others: Sequence[SumBound]) -> SumBound:
    """The sum of accumulators of one rank, and of other values: it counts in the coarsest step of its accumulators.

    So where all steps are one, integers are added; where they differ, at most half a step of the coarsest is lost.
    """
    types = [each.type_ for each in accumulators]
    along = {(each.axis, each.scales.size): each for each in types if each.granularity is Granularity.AXIS}
    if len(along) > 1:  # channels of one are no channels of the other
        scale = max(float(each.scales.max()) for each in types)
        type_ = UniformQuantizedType.per_tensor(types[0].storage, f32, scale)
    else:
        scales = types[0].scales
        for each in types[1:]:
            scales = np.maximum(scales, each.scales)
        type_ = with_scales(next(iter(along.values()), types[0]), scales)
    return SumBound(type_, sum(_rebound(each, type_) for each in (*accumulators, *others)))


def _rebound(term: SumBound, target: UniformQuantizedType) -> float:
    """The bound of what is added to a sum of type `target`, in its integers."""
    if np.array_equal(term.type_.scales, target.scales):
        return term.bound
    return term.bound * float(term.type_.scales.max() / target.scales.min()) + 1


def addend_type(
    array: Array, other: UniformQuantizedType, rank: int, storage: Storage = STORAGE
) -> UniformQuantizedType | None:
    """The type under which a constant is added to a sum of type `other` as integers; none where `storage` has none.

    `rank` is that of the sum; the two broadcast from their last axes on.
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
    """The largest integer that a constant has in `type_`."""
    return float(np.abs(quantize(array, type_).astype(np.float64)).max(initial=0.0))
