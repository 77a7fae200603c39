"""Accumulators of contractions: the type of their exact sums, and the limits of the sums.

An accumulator has 32 bits, zero point 0 and scale `f32(s_x * s_w)`; like every result, it saturates. It is exact only
if every sum fits in 32 bits, which is decided from the limits of the sums. A dynamic dimension counts as 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array, limits_of_products, limits_of_sums, sums_by_sign
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import BiasedContractionOp, ConvOp, ConvTransposeOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp, SubOp
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import integers_of

BITS = 32
LIMITS = storage_limits(IntegerType(BITS))

Limits = tuple[int, int]
Known = Callable[[SSAValue], Array | None]
"""A function that returns the stored elements of a constant; `None` for any other value."""


@dataclass(frozen=True)
class KnownOperands:
    """Access to the element types and constants of an operation's operands.

    Both functions can be replaced to evaluate hypothetical types or constants.
    """

    element: Callable[[Operation, SSAValue], Attribute] = lambda _, value: element_of(value)
    known: Callable[[Operation, SSAValue], Array | None] = lambda _, value: constant_array(value)
    """Returns the stored elements of a constant operand; `None` for any other operand."""


_OWN = KnownOperands()


class _Products(NamedTuple):
    """The operands of a contraction with integer sums, the axis of the result's channels, and the summed axes.

    `x` and `w` are the types of the data and the weights: the sums have one scale, or one per channel.
    """

    weight: SSAValue
    x: UniformQuantizedType
    w: UniformQuantizedType
    channels: int
    summed: tuple[int, ...]
    repeats: int
    """The number of times that the channels of the weights repeat along those of the result."""

    @property
    def terms(self) -> int:
        """The number of products in each sum."""
        sizes = [shape_of(self.weight)[axis] for axis in self.summed]
        return math.prod(size for size in sizes if size != DYNAMIC_INDEX)


def _products(op: Operation, reading: KnownOperands = _OWN) -> _Products | None:
    repeats = 1
    match op:
        case MatMulOp():
            rank = len(shape_of(op.rhs))
            summed = (rank - 1 if op.is_rhs_transposed or rank == 1 else rank - 2,)
            data, weight, channels = op.lhs, op.rhs, len(shape_of(op.result)) - 1
        case FullyConnectedOp():
            data, weight, channels, summed = op.data, op.weight, len(shape_of(op.result)) - 1, (1,)
        case ConvOp():
            data, weight, channels, summed = op.data, op.weight, 1, tuple(range(1, len(shape_of(op.weight))))
        case ConvTransposeOp():  # an element of the result is the sum of some of these products
            slots, axes = op.quantization_slots(), range(len(shape_of(op.weight)))
            data, weight, channels, repeats = op.data, op.weight, 1, slots.channel_repeats
            summed = tuple(axis for axis in axes if axis != slots.weight_channel_axis)
        case _:
            return None
    x, w = reading.element(op, data), reading.element(op, weight)
    if not isinstance(x, UniformQuantizedType) or not isinstance(w, UniformQuantizedType):
        return None
    has_sums = x.granularity is Granularity.TENSOR and w.granularity is not Granularity.BLOCK
    return _Products(weight, x, w, channels, summed, repeats) if has_sums else None


def _centered_limits(element: UniformQuantizedType, stored: Limits) -> Limits:
    return stored[0] - int(element.zero_points.max()), stored[1] - int(element.zero_points.min())


def _by_types(found: _Products, data: Limits) -> Limits:
    """Returns the limits of the sums for all weights that their type allows."""
    return limits_of_products(data, _centered_limits(found.w, storage_limits(found.w.storage)), found.terms)


def _by_weights(found: _Products, stored: Array, data: Limits) -> tuple[Array, Array]:
    """Returns the limits of the sums of each channel for these weights."""
    w = found.w
    _, zero_points = broadcast_parameters(w, stored.shape)
    integers = integers_of(stored, IntegerType(w.bits), is_unsigned=not w.is_signed)
    low, high = limits_of_sums(sums_by_sign(integers - zero_points, found.summed), data)
    return np.tile(low, found.repeats), np.tile(high, found.repeats)


def are_held(low: Any, high: Any) -> bool:
    """Returns whether all sums between these limits fit in 32 bits."""
    return bool(np.all(LIMITS[0] <= low) and np.all(high <= LIMITS[1]))


def accumulator_type(op: Operation) -> UniformQuantizedType | None:
    """Returns the accumulator type in which the sums of `op` are exact for all data; `None` if there is none."""
    found = _products(op)
    if found is None:
        return None
    x, w = found.x, found.w
    data = _centered_limits(x, storage_limits(x.storage))
    if not are_held(*_by_types(found, data)):
        stored = constant_array(found.weight)
        if stored is None or not are_held(*_by_weights(found, stored, data)):
            return None
    scales, storage = accumulator_scale(x.scales, w.scales), IntegerType(BITS)
    if w.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(storage, x.expressed_type, float(scales))
    return UniformQuantizedType.per_axis(storage, x.expressed_type, found.channels, np.tile(scales, found.repeats))


def refuted_limits(op: Operation, bias: SSAValue | None, known: Known) -> Limits | None:
    """Returns the limits of the sums of `op`, including the bias, if some data can exceed 32 bits; `None` otherwise.

    Data is assumed to lie in the range of its type. A bias that is not constant counts as 0.
    """
    found = _products(op)
    if found is None:
        return None
    data = _centered_limits(found.x, (found.x.storage_min, found.x.storage_max))
    added, stored = None if bias is None else known(bias), known(found.weight)
    integers = np.zeros(1, np.int64) if added is None or not added.size else added.astype(np.int64)
    lows, highs = (limit + integers for limit in _by_types(found, data))
    if not are_held(lows, highs) and stored is not None and stored.size:
        lows, highs = (limit + integers for limit in _by_weights(found, stored, data))
    return None if are_held(lows, highs) else (int(lows.min()), int(highs.max()))


def sum_limits(op: Operation, reading: KnownOperands = _OWN) -> Limits | None:
    """Returns the limits of all partial sums of `op`, in any order, and of the values that it adds to a sum.

    Returns `None` if the operation does not sum integers of one scale, or sums a dynamic number of them. Every term is
    allowed to be 0, so the limits of the sums also include all partial sums.
    """
    if isinstance(op, AddOp):
        return _limits_of_added(op, reading)
    if (sums := _partial_sums(op, reading)) is None:
        return None
    limits = min(int(np.min(sums[0])), 0), max(int(np.max(sums[1])), 0)
    bias = op.bias if isinstance(op, BiasedContractionOp) and op.components is None else None
    if bias is None:
        return limits
    added = _limits_of_value(op, bias, reading)
    return None if added is None else (limits[0] + min(added[0], 0), limits[1] + max(added[1], 0))


def _partial_sums(op: Operation, reading: KnownOperands) -> tuple[Any, Any] | None:
    """Returns the limits of the sums of products of each channel, where data may also be 0."""
    if (found := _products(op, reading)) is None:
        return None
    low, high = _centered_limits(found.x, (found.x.storage_min, found.x.storage_max))
    stored, data = reading.known(op, found.weight), (min(low, 0), max(high, 0))
    if stored is None and DYNAMIC_INDEX in (shape_of(found.weight)[axis] for axis in found.summed):
        return None
    return _by_types(found, data) if stored is None or not stored.size else _by_weights(found, stored, data)


def partial_sum_limits(op: Operation, bias: Array | None, reading: KnownOperands = _OWN) -> Limits | None:
    """Returns the limits of all partial sums of the contraction `op` and a constant `bias`, in any order.

    The integers of the bias are added channel by channel. Returns `None` as `sum_limits` does.
    """
    if (sums := _partial_sums(op, reading)) is None:
        return None
    lows, highs = (np.asarray(each, object) for each in sums)
    added = np.zeros(1, object) if bias is None or not bias.size else bias.reshape(-1).astype(object)
    below, above = np.minimum(added, 0), np.maximum(added, 0)
    if lows.ndim and lows.shape[-1] != added.size:  # one bias for several channels, or the limits of other channels
        below, above = below.min(), above.max()
    return min(int(np.min(lows + below)), 0), max(int(np.max(highs + above)), 0)


def is_integer_contraction(op: Operation) -> bool:
    """Returns whether `op` is a contraction of quantized data with quantized weights."""
    if not isinstance(op, MatMulOp | BiasedContractionOp):
        return False
    return all(isinstance(element_of(value), UniformQuantizedType) for value in op.operands[:2])


def _limits_of_value(op: Operation, value: SSAValue, reading: KnownOperands) -> Limits | None:
    """Returns the limits of `q - z` of an operand."""
    element = reading.element(op, value)
    if not isinstance(element, UniformQuantizedType):
        return None
    limits = _centered_limits(element, (element.storage_min, element.storage_max))
    stored = reading.known(op, value)
    if stored is not None and stored.size:
        _, zero_points = broadcast_parameters(element, stored.shape)
        integers = integers_of(stored, IntegerType(element.bits), is_unsigned=not element.is_signed) - zero_points
        return int(integers.min()), int(integers.max())
    owner = value.owner
    found = _products(owner, reading) if isinstance(owner, Operation) else None
    if found is None or not isinstance(owner, Operation) or element.zero_points.any():
        return limits
    exact = accumulator_scale(found.x.scales, found.w.scales)
    if not np.array_equal(np.float32(exact), np.float32(element.scales)):
        return limits
    sums = sum_limits(owner, reading)
    return limits if sums is None else (max(limits[0], sums[0]), min(limits[1], sums[1]))


def difference_limits(op: SubOp) -> Limits | None:
    """Returns the limits of differences of integers of one scale; `None` for other operands."""
    found = _limits_of_operands(op, _OWN)
    return None if found is None else (found[0][0] - found[1][1], found[0][1] - found[1][0])


def _limits_of_added(op: AddOp, reading: KnownOperands) -> Limits | None:
    found = _limits_of_operands(op, reading)
    return None if found is None else (found[0][0] + found[1][0], found[0][1] + found[1][1])


def _limits_of_operands(op: AddOp | SubOp, reading: KnownOperands) -> tuple[Limits, Limits] | None:
    types = [reading.element(op, value) for value in op.operands]
    scales = [each.scales.reshape(-1) for each in types if isinstance(each, UniformQuantizedType)]
    if len(scales) != 2 or not np.array_equal(scales[0], scales[1]):
        return None
    left, right = (_limits_of_value(op, value, reading) for value in op.operands)
    return None if left is None or right is None else (left, right)
