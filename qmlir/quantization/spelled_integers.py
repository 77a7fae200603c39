"""Recognizes integer arithmetic that is spelled in operators: stored integers, zero points and requantizations.

The pass `quant-raise-integers` builds operations on quantized types from the values that are recognized here.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, Signedness, f32
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.nn.contraction.ops import ConvOp
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    CastOp,
    ClipOp,
    MaxOp,
    MinOp,
    MulOp,
    RoundOp,
    SubOp,
)
from qmlir.dialects.nn.reduction.ops import ReduceSumOp
from qmlir.dialects.quant.ops import StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of, shape_of

OperationT = TypeVar("OperationT", bound=Operation)

MOST_BITS = 16
_NEAR = 4
"""The number of f32 numbers on each side of a quotient among which a scale is searched."""


class NotRaisedError(Exception):
    """The reason why integer arithmetic is not raised."""


def owner_of(value: SSAValue, kind: type[OperationT]) -> OperationT | None:
    """Returns the operation that defines `value` if it is of this `kind`, or `None`."""
    return value.owner if isinstance(value.owner, kind) else None


def scalar_of(value: SSAValue) -> float | None:
    """Returns the number that all elements of a constant have, or `None`."""
    found = constant_array(value)
    is_one = found is not None and found.size > 0 and (found == found.flat[0]).all()
    return float(found.flat[0]) if found is not None and is_one else None


def scalar_operand(op: Operation) -> float | None:
    """Returns the number that the second of two operands contains, if it leaves the first one its shape, or `None`."""
    is_kept = len(op.operands) == 2 and shape_of(op.operands[0]) == shape_of(op.results[0])
    return scalar_of(op.operands[1]) if is_kept else None


def plain_integer(value: SSAValue, most: int = MOST_BITS) -> IntegerType | None:
    """Returns the element type of a tensor of stored integers of 2 to `most` bits, or `None`."""
    element = as_integer(element_of(value))
    return element if element is not None and 2 <= element.width.data <= most else None


def held_value(value: SSAValue) -> SSAValue | None:
    """Returns the quantized value whose stored bits are those of the integers `value`, or `None`."""
    while (op := owner_of(value, CastOp)) is not None:  # between signless and unsigned integers of one width
        source, target = as_integer(element_of(op.input)), as_integer(element_of(op.result))
        if source is None or target is None or source.width != target.width:
            return None
        value = op.input
    op = owner_of(value, StorageCastOp)
    return None if op is None or not has_integers(op.input) else op.input


def has_integers(value: SSAValue) -> bool:
    """Returns True if `value` is quantized to integers."""
    return isinstance(element_of(value), UniformQuantizedType)


def stored_form(value: SSAValue) -> SSAValue | None:
    """Returns the quantized value whose stored integers are `value`, or `None`."""
    held = held_value(value)
    element = None if held is None else cast(UniformQuantizedType, element_of(held))
    return held if element is not None and storage_element(element) == element_of(value) else None


EXACT_F32 = 1 << 24
"""The limit of the integers that f32 represents exactly."""


def limits_of(element: IntegerType) -> tuple[int, int]:
    """Returns the limits of a plain type; signless integers are signed."""
    return integer_limits(element.width.data, is_signed=element.signedness.data is not Signedness.UNSIGNED)


def holds(element: Attribute, low: int, high: int) -> bool:
    """Returns True if `element` represents all integers between these limits."""
    if isinstance(element, Float32Type | Float64Type):
        return -EXACT_F32 <= low <= high <= EXACT_F32
    integer = as_integer(element)
    return integer is not None and limits_of(integer)[0] <= low <= high <= limits_of(integer)[1]


def is_wider(element: Attribute, other: Attribute) -> bool:
    """Returns True if `element` is a float, or holds more bits than `other` if both are integers."""
    wide, narrow = as_integer(element), as_integer(other)
    return wide is None or narrow is None or wide.width.data > narrow.width.data


def without_widening(value: SSAValue) -> SSAValue:
    """Returns the source of casts to integers that hold all numbers of the source.

    The sums of a float convolution are such numbers, because it is raised only if f32 represents them exactly.
    """
    while (op := owner_of(value, CastOp)) is not None:
        source = as_integer(element_of(op.input))
        limits = limits_of(source) if source is not None else (-EXACT_F32, EXACT_F32)
        if source is None and not isinstance(op.input.owner, ConvOp):
            break
        if as_integer(element_of(value)) is None or not holds(element_of(value), *limits):
            break
        value = op.input
    return value


class StoredLeaf(NamedTuple):
    """Stored integers, and the zero point that the operators subtract from them."""

    value: SSAValue
    zero_point: int

    @property
    def limits(self) -> tuple[int, int]:
        """The limits of the stored integers less the zero point."""
        low, high = limits_of(cast(IntegerType, element_of(self.value)))
        return low - self.zero_point, high - self.zero_point


def leaf_of(value: SSAValue) -> StoredLeaf | None:
    """Returns the stored integers that `value` contains, less a zero point; `None` for other values.

    A result of arithmetic that may wrap is such stored integers itself, if it has few bits.
    """
    leaf, op = None, value.owner
    if isinstance(op, CastOp):
        leaf = leaf_of(op.input)
    elif isinstance(op, SubOp) and (point := scalar_operand(op)) is not None and point.is_integer():
        leaf = leaf_of(op.lhs)
        if leaf is not None:
            is_point = leaf.zero_point == 0 and holds(element_of(leaf.value), int(point), int(point))
            leaf = StoredLeaf(leaf.value, int(point)) if is_point else None
    if leaf is not None and holds(element_of(value), *leaf.limits):
        return leaf
    return None if plain_integer(value) is None or constant_array(value) is not None else StoredLeaf(value, 0)


def storage_of(element: IntegerType) -> IntegerType:
    """Returns the storage type for integers of a plain type; signless ones are signed."""
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    return IntegerType(element.width.data, Signedness.UNSIGNED) if is_unsigned else IntegerType(element.width.data)


def is_foreign(value: SSAValue) -> bool:
    """Returns True if `value` only contains stored integers that no quantized value has."""
    leaf = leaf_of(value)
    return leaf is not None and stored_form(leaf.value) is None


class SpelledRequantization(NamedTuple):
    """A requantization: the integers that are rounded, the multipliers, and the type of the result with scale 1."""

    total: SSAValue
    multiplier: Array
    element: UniformQuantizedType


def _clamped(value: SSAValue) -> tuple[SSAValue, float, float]:
    """Returns the value that scalar limits clamp, and the limits."""
    low, high = -np.inf, np.inf
    while True:
        op = value.owner
        if isinstance(op, ClipOp):
            low = max(low, -np.inf if op.minimum is None else float(op.minimum.value.data))
            high = min(high, np.inf if op.maximum is None else float(op.maximum.value.data))
            value = op.input
        elif isinstance(op, MaxOp | MinOp) and (limit := scalar_operand(op)) is not None:
            low, high = (max(low, limit), high) if isinstance(op, MaxOp) else (low, min(high, limit))
            value = op.lhs
        else:
            return value, low, high


def spelled_requantization(op: Operation) -> SpelledRequantization | None:
    """Returns the requantization that ends with the cast `op` to stored integers, or `None`."""
    target = plain_integer(op.result) if isinstance(op, CastOp) else None
    if not isinstance(op, CastOp) or target is None:
        return None
    if not is_wider(element_of(op.input), target):
        return None
    storage = storage_of(target)
    lowest, highest = limits_of(storage)
    value, low, high = _clamped(op.input)
    if not (lowest <= low <= high <= highest and float(low).is_integer() and float(high).is_integer()):
        return None
    zero_point = 0
    added = owner_of(value, AddOp)
    # The pass leaves room for a zero point in sums of 32 bits; arithmetic in narrower types may wrap.
    has_room = holds(element_of(value), -EXACT_F32, EXACT_F32)
    if added is not None and has_room and (point := scalar_operand(added)) is not None:
        if not (low <= point <= high and point.is_integer()):
            return None
        value, zero_point = added.lhs, int(point)
    multiplier: Array = np.ones((), np.float32)
    if (rounded := owner_of(value, RoundOp)) is not None:
        product = owner_of(rounded.operands[0], MulOp)
        found = None if product is None else constant_array(product.rhs)
        if product is None or found is None or found.dtype != np.float32 or element_of(product.lhs) != f32:
            return None
        value, multiplier = product.lhs, found
        if (widened := owner_of(value, CastOp)) is not None and as_integer(element_of(widened.input)) is not None:
            value = widened.input  # a requantization rounds sums to f32, too
    elif as_integer(element_of(value)) is None:
        return None
    if shape_of(value) != shape_of(op.result):
        return None
    limits = int(low), int(high)
    element = UniformQuantizedType.per_tensor(storage, f32, 1.0, zero_point, limits)
    return SpelledRequantization(value, multiplier, element)


def factors_of(multiplier: Array, value: SSAValue) -> tuple[Array, int | None]:
    """Returns the multipliers of a tensor like `value`: one, or one for each index of an axis, and the axis."""
    if not multiplier.size or not (np.isfinite(multiplier).all() and (multiplier > 0).all()):
        raise NotRaisedError("its multipliers must be positive and finite")
    if (multiplier == multiplier.flat[0]).all():
        return multiplier.reshape(-1)[:1], None
    axes = [len(shape_of(value)) - multiplier.ndim + axis for axis, size in enumerate(multiplier.shape) if size > 1]
    if len(axes) != 1 or axes[0] < 0 or shape_of(value)[axes[0]] != multiplier.size:
        raise NotRaisedError("its multipliers must be one number, or one for each channel")
    return multiplier.reshape(-1), axes[0]


def typed(storage: IntegerType, scales: Array, axis: int | None, points: Array | int = 0) -> UniformQuantizedType:
    """Returns the type with the first of `scales`, or with one for each index of `axis`."""
    if axis is None:
        return UniformQuantizedType.per_tensor(storage, f32, float(scales[0]), int(np.asarray(points).flat[0]))
    return UniformQuantizedType.per_axis(storage, f32, axis, scales.astype(np.float64), points)


def are_small(values: Sequence[SSAValue], element: IntegerType | None, terms: int = 1) -> bool:
    """Returns True if `element` and 32 bits hold the products, or the sums of `terms`, of stored integers."""
    widths = [plain_integer(leaf.value) for value in values if (leaf := leaf_of(value)) is not None]
    reach = terms << sum(each.width.data + 1 for each in widths if each is not None)
    return element is not None and len(widths) == len(values) and 0 < reach < 1 << (min(element.width.data, 32) - 1)


def terms_of(op: ReduceSumOp) -> int:
    """Returns the number of terms in each sum; 0 if it is unknown."""
    sizes = shape_of(op.input)
    axes = op.reduced_axes(len(sizes)) if op.axes_value is None else ()
    return math.prod(max(sizes[axis], 0) for axis in axes) if axes else 0


def differ_in_scale(element: Attribute, other: Attribute) -> bool:
    """Returns True if two types with one scale represent the same integers, in steps of different size."""
    if not isinstance(element, UniformQuantizedType) or element.granularity is not Granularity.TENSOR:
        return False
    limits = element.storage_min, element.storage_max
    steps = UniformQuantizedType.per_tensor(element.storage, f32, 1.0, element.zero_point, limits)
    return element.expressed_type == f32 and element != steps == other


def known_form(value: SSAValue, steps: UniformQuantizedType) -> SSAValue | None:
    """Returns the quantized value whose stored integers are `value`, if only its scale differs from `steps`."""
    held = held_value(value)
    return held if held is not None and differ_in_scale(element_of(held), steps) else None


def nearest_solutions(quotients: Array, is_exact: Callable[[Array], Array]) -> Array | None:
    """Returns the exact positive f32 nearest to each of `quotients`; `None` if there is none for some of them."""
    with np.errstate(all="ignore"):
        found = guess = quotients.astype(np.float32)
        is_found = np.zeros(guess.shape, bool)
        for step in sorted(range(-_NEAR, _NEAR + 1), key=abs):
            near = (guess.view(np.int32) + np.int32(step)).view(np.float32)
            fits = is_exact(near) & (near > 0) & np.isfinite(near)
            found, is_found = np.where(fits & ~is_found, near, found), is_found | fits
    return found if is_found.all() else None


def reading_type(value: SSAValue) -> UniformQuantizedType | None:
    """Returns the quantized type as which all users read the stored integers `value`; `None` if there are others."""
    found = set[Attribute | None]()
    for use in value.uses:
        user = use.operation
        if isinstance(user, CastOp) and not is_wider(element_of(user.result), element_of(value)):
            found.add(reading_type(user.result))
        else:
            found.add(element_of(user.results[0]) if isinstance(user, StorageCastOp) else None)
    (only,) = found if len(found) == 1 else [None]
    return only if isinstance(only, UniformQuantizedType) else None
