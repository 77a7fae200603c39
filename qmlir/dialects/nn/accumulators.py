"""The accumulators of contractions: the type of their exact sums, and the limits of the sums.

An accumulator has 32 bits, zero point 0 and the scale `f32(s_x * s_w)`; like every result it saturates. So what is kept
as one is exact only where 32 bits hold every sum: the limits say whether they do. A size that is not known counts as 1.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.exact_sums import limits_of_products, limits_of_sums
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.contraction import ConvOp, ConvTransposeOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import integers_of

BITS = 32
LIMITS = storage_limits(IntegerType(BITS))

Limits = tuple[int, int]
Known = Callable[[SSAValue], Array | None]
"""The stored elements of a constant, `None` for any other value."""


class _Products(NamedTuple):
    """The operands of a contraction with integer sums, the axis of the result's channels, and the summed axes."""

    data: SSAValue
    weight: SSAValue
    channels: int
    summed: tuple[int, ...]
    repeats: int = 1
    """How often the channels of the weights repeat along those of the result."""

    def elements(self) -> tuple[UniformQuantizedType, UniformQuantizedType] | None:
        """The types of both; `None` where the sums are no integers of one scale, or of one for each channel."""
        x, w = element_of(self.data), element_of(self.weight)
        if not isinstance(x, UniformQuantizedType) or not isinstance(w, UniformQuantizedType):
            return None
        has_sums = x.granularity is Granularity.TENSOR and w.granularity is not Granularity.BLOCK
        return (x, w) if has_sums else None

    @property
    def terms(self) -> int:
        """How many products each sum has."""
        sizes = [shape_of(self.weight)[axis] for axis in self.summed]
        return math.prod(size for size in sizes if size != DYNAMIC_INDEX)


def _products(op: Operation) -> _Products | None:
    match op:
        case MatMulOp():
            rank = len(shape_of(op.rhs))
            summed = rank - 1 if op.is_rhs_transposed or rank == 1 else rank - 2
            return _Products(op.lhs, op.rhs, len(shape_of(op.result)) - 1, (summed,))
        case FullyConnectedOp():
            return _Products(op.data, op.weight, len(shape_of(op.result)) - 1, (1,))
        case ConvOp():
            return _Products(op.data, op.weight, 1, tuple(range(1, len(shape_of(op.weight)))))
        case ConvTransposeOp():  # an element of the result is the sum of some of these products
            slots, axes = op.quantization_slots(), range(len(shape_of(op.weight)))
            summed = tuple(axis for axis in axes if axis != slots.weight_channel_axis)
            return _Products(op.data, op.weight, 1, summed, slots.channel_repeats)
        case _:
            return None


def _centred_limits(element: UniformQuantizedType, stored: Limits) -> Limits:
    return stored[0] - int(element.zero_points.max()), stored[1] - int(element.zero_points.min())


def _by_types(found: _Products, data: Limits) -> Limits:
    """The limits of the sums for all weights of their type."""
    w = element_of(found.weight)
    assert isinstance(w, UniformQuantizedType)
    return limits_of_products(data, _centred_limits(w, storage_limits(w.storage)), found.terms)


def _by_weights(found: _Products, stored: Array, data: Limits) -> tuple[Array, Array]:
    """The limits of the sums of each channel for these weights."""
    w = element_of(found.weight)
    assert isinstance(w, UniformQuantizedType)
    _, zero_points = broadcast_parameters(w, stored.shape)
    integers = integers_of(stored, IntegerType(w.bits), is_unsigned=not w.is_signed)
    low, high = limits_of_sums(integers - zero_points, found.summed, data)
    return np.tile(low, found.repeats), np.tile(high, found.repeats)


def _are_held(low: Any, high: Any) -> bool:
    return bool(np.all(LIMITS[0] <= low) and np.all(high <= LIMITS[1]))


def accumulator_type(op: Operation) -> UniformQuantizedType | None:
    """The type in which the sums of products of `op` are exact, whatever its data hold; `None` where there is none."""
    found = _products(op)
    elements = None if found is None else found.elements()
    if found is None or elements is None:
        return None
    x, w = elements
    data = _centred_limits(x, storage_limits(x.storage))
    if not _are_held(*_by_types(found, data)):
        stored = constant_array(found.weight)
        if stored is None or not _are_held(*_by_weights(found, stored, data)):
            return None
    scales, storage = accumulator_scale(x.scales, w.scales), IntegerType(BITS)
    if w.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(storage, x.expressed_type, float(scales))
    return UniformQuantizedType.per_axis(storage, x.expressed_type, found.channels, np.tile(scales, found.repeats))


def refuted_limits(op: Operation, bias: SSAValue | None, known: Known) -> Limits | None:
    """The limits of the sums of `op`, bias included, where data of its type take them beyond 32 bits; `None` otherwise.

    Data keep the range that their type promises here, and a bias that is not a constant adds nothing.
    """
    found = _products(op)
    elements = None if found is None else found.elements()
    if found is None or elements is None:
        return None
    data = _centred_limits(elements[0], (elements[0].storage_min, elements[0].storage_max))
    added, stored = None if bias is None else known(bias), known(found.weight)
    integers = np.zeros(1, np.int64) if added is None or not added.size else added.astype(np.int64)
    lows, highs = (limit + integers for limit in _by_types(found, data))
    if not _are_held(lows, highs) and stored is not None and stored.size:
        lows, highs = (limit + integers for limit in _by_weights(found, stored, data))
    return None if _are_held(lows, highs) else (int(lows.min()), int(highs.max()))
