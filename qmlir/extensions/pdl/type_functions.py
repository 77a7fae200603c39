"""Constraints on quantized types, and types and numbers made of them.

Each takes a value or a type; of a tensor it takes the element type. A constraint on anything but a uniform quantized
type with integers does not hold; a rewrite of it is an error.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute

from qmlir.arithmetic.schemes import Scheme, Storage, are_powers_of_two, power_of_two_ceiling, symmetric_zero_point
from qmlir.dialects.quant.infer import element_type, expressed_type
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.pdl.natives import Typed, uniform
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor

_GRANULARITIES = {"tensor": Granularity.TENSOR, "channel": Granularity.AXIS, "block": Granularity.BLOCK}


def is_quantized(of: UniformQuantizedType) -> bool:
    """The element type is `!quant.uniform` with integers."""
    return True


def is_float(of: Typed) -> bool:
    """The element type is a float."""
    return isinstance(element_type(of), AnyFloat)


def has_storage(of: UniformQuantizedType, storage: str) -> bool:
    """Stored as `i8`, `u4`, or within the limits that the text gives: `i8<-127:127>`."""
    wanted = Storage.parse(storage)
    is_same = (of.bits, of.is_signed) == (wanted.bits, wanted.is_signed)
    return is_same and wanted.limits in (None, (of.storage_min, of.storage_max))


def has_bits(of: UniformQuantizedType, bits: int) -> bool:
    """The storage has this number of bits."""
    return of.bits == bits


def bits_at_most(of: UniformQuantizedType, bits: int) -> bool:
    """The storage has at most this number of bits."""
    return of.bits <= bits


def is_signed(of: UniformQuantizedType) -> bool:
    """Stored as signed integers."""
    return of.is_signed


def is_unsigned(of: UniformQuantizedType) -> bool:
    """Stored as unsigned integers."""
    return not of.is_signed


def has_scale(of: UniformQuantizedType, scale: float) -> bool:
    """Every scale is this number, as an f32."""
    return bool((of.scales.astype(np.float32) == np.float32(scale)).all())


def scale_between(of: UniformQuantizedType, low: float, high: float) -> bool:
    """Every scale `s` satisfies `low <= s <= high`."""
    return bool(((of.scales >= low) & (of.scales <= high)).all())


def has_power_of_two_scale(of: UniformQuantizedType) -> bool:
    """Every scale is a power of two."""
    return bool(are_powers_of_two(of.scales).all())


def has_zero_point(of: UniformQuantizedType, zero_point: int) -> bool:
    """Every zero point is this integer."""
    return bool((of.zero_points == zero_point).all())


def has_scheme(of: UniformQuantizedType, scheme: str) -> bool:
    """A type of this scheme: `symmetric` has the zero point of its storage, `…_pow2` powers of two as scales.

    A type of a symmetric scheme is also one of the asymmetric scheme.
    """
    wanted = Scheme.parse(scheme)
    if wanted.is_power_of_two and not has_power_of_two_scale(of):
        return False
    storage = Storage(of.bits, of.is_signed, (of.storage_min, of.storage_max))
    return not wanted.is_symmetric or has_zero_point(of, symmetric_zero_point(storage))


def has_granularity(of: UniformQuantizedType, granularity: str) -> bool:
    """One scale for the `tensor`, for each `channel`, or for each `block`."""
    if granularity not in _GRANULARITIES:
        raise ValueError(f"granularity must be one of {', '.join(_GRANULARITIES)}, but got '{granularity}'")
    return of.granularity is _GRANULARITIES[granularity]


def has_axis(of: UniformQuantizedType, axis: int) -> bool:
    """One scale for each index of this axis."""
    return of.granularity is Granularity.AXIS and of.axis == axis


def same_parameters(*of: UniformQuantizedType) -> bool:
    """All have the same scales and zero points; storage may differ."""
    return bool(of) and all(
        (each.axes, each.block_sizes) == (of[0].axes, of[0].block_sizes)
        and np.array_equal(each.scales, of[0].scales)
        and np.array_equal(each.zero_points, of[0].zero_points)
        for each in of
    )


def same_storage(*of: UniformQuantizedType) -> bool:
    """All are stored in the same integers, with the same limits."""
    return len({(each.storage, each.storage_min, each.storage_max) for each in of}) == 1


def same_element_type(*of: Typed) -> bool:
    """All have the same element type, with all parameters."""
    return len({element_type(each) for each in of}) == 1


def same_shape(*of: Typed) -> bool:
    """All are tensors of the same shape."""
    tensors = [ranked_tensor(each) for each in of]
    return None not in tensors and len({each.get_shape() for each in tensors if each is not None}) == 1


def has_shape(of: Typed, sizes: tuple[int, ...]) -> bool:
    """A tensor of these sizes; -1 matches any."""
    type_ = ranked_tensor(of)
    if type_ is None or len(type_.get_shape()) != len(sizes):
        return False
    return all(wanted in (-1, size) for wanted, size in zip(sizes, type_.get_shape(), strict=True))


def has_rank(of: Typed, rank: int) -> bool:
    """A tensor of this rank."""
    return (type_ := ranked_tensor(of)) is not None and len(type_.get_shape()) == rank


def _shift(output: UniformQuantizedType, inputs: Sequence[UniformQuantizedType]) -> npt.NDArray[np.int64] | None:
    """Returns the right shift from an accumulator of products of `inputs` to the scale of `output`.

    Returns `None` if there is none.
    """
    types = [output, *inputs]
    scales = [each.scales for each in types]
    if any(each.granularity is Granularity.BLOCK for each in types) or len({each.size for each in scales} - {1}) > 1:
        return None
    mantissa, exponent = np.frexp(scales[0] / math.prod(scales[1:], start=np.float64(1)))
    return (exponent - 1).astype(np.int64) if bool((mantissa == 0.5).all()) else None


def is_shift(output: UniformQuantizedType, *inputs: UniformQuantizedType) -> bool:
    """The product of the inputs' scales is the output's scale times a power of two: requantizing is a shift."""
    return _shift(output, inputs) is not None


CONSTRAINTS = {
    each.__name__: each
    for each in (
        is_quantized, is_float, has_storage, has_bits, bits_at_most, is_signed, is_unsigned, has_scale, scale_between,
        has_power_of_two_scale, has_zero_point, has_scheme, has_granularity, has_axis, same_parameters, same_storage,
        same_element_type, same_shape, has_shape, has_rank, is_shift,
    )
}  # fmt: skip


def _with_element(of: Attribute, element: Attribute) -> TypeAttribute:
    ranked, unranked = ranked_tensor(of), unranked_tensor(of)
    if ranked is not None:
        return TensorType(element, ranked.get_shape(), ranked.encoding)
    if unranked is not None:
        return type(unranked)(element)
    assert isinstance(element, TypeAttribute)
    return element


def _storage_type(storage: Storage) -> IntegerType:
    return IntegerType(storage.bits, Signedness.SIGNLESS if storage.is_signed else Signedness.UNSIGNED)


def _rebuilt(
    of: Attribute, scales: npt.ArrayLike, zero_points: npt.ArrayLike, storage: Storage | None = None
) -> TypeAttribute:
    """Returns `of` with other parameters for the same channels or blocks."""
    type_ = uniform(of)
    integer = type_.storage if storage is None else _storage_type(storage)
    limits = (type_.storage_min, type_.storage_max) if storage is None else storage.limits
    expressed = type_.expressed_type
    scales = np.broadcast_to(np.asarray(scales, np.float64), type_.scales.shape)
    match type_.granularity:
        case Granularity.TENSOR:
            zero_point = int(np.asarray(zero_points).item())
            element = UniformQuantizedType.per_tensor(integer, expressed, float(scales.item()), zero_point, limits)
        case Granularity.AXIS:
            element = UniformQuantizedType.per_axis(integer, expressed, type_.axis, scales, zero_points, limits)
        case Granularity.BLOCK:
            blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
            element = UniformQuantizedType.per_block(integer, expressed, blocks, scales, zero_points, limits)
    return _with_element(of, element)


def with_storage(of: Typed, storage: str) -> TypeAttribute:
    """The type stored in other integers, with the same scales and zero points."""
    return _rebuilt(of, uniform(of).scales, uniform(of).zero_points, Storage.parse(storage))


def with_scale(of: Typed, scale: float) -> TypeAttribute:
    """The type with all its scales replaced by this scale."""
    return _rebuilt(of, scale, uniform(of).zero_points)


def with_power_of_two_scale(of: Typed) -> TypeAttribute:
    """The type with each scale rounded up to a power of two."""
    return _rebuilt(of, power_of_two_ceiling(uniform(of).scales), uniform(of).zero_points)


def with_zero_point(of: Typed, zero_point: int) -> TypeAttribute:
    """The type with this zero point."""
    return _rebuilt(of, uniform(of).scales, zero_point)


def with_element_of(of: Typed, other: Typed) -> TypeAttribute:
    """The shape of the first with the element type of the second."""
    return _with_element(of, element_type(other))


def with_shape(of: Typed, sizes: tuple[int, ...]) -> TypeAttribute:
    """The element type of a tensor with other sizes."""
    return TensorType(element_type(of), sizes)


def quantized(of: Typed, storage: str, scale: float, zero_point: int) -> TypeAttribute:
    """The type of float values, quantized with one scale."""
    expressed = expressed_type(element_type(of))
    if not isinstance(expressed, AnyFloat):
        raise ValueError(f"expected a float type, but got {of}")
    wanted = Storage.parse(storage)
    return _with_element(
        of, UniformQuantizedType.per_tensor(_storage_type(wanted), expressed, scale, zero_point, wanted.limits)
    )


def product(of: Typed, storage: str, *factors: UniformQuantizedType) -> TypeAttribute:
    """The accumulator type of a product, in the shape of the first: the product of the factors' scales, zero point 0.

    One factor may have a scale for each channel; its channels are the last axis but the batch's, axis 1.
    """
    scales = math.prod((each.scales for each in factors), start=np.float64(1))
    wanted = Storage.parse(storage)
    if np.size(scales) == 1 and not any(each.axes for each in factors):
        scale = float(np.asarray(scales).item())
        element = UniformQuantizedType.per_tensor(_storage_type(wanted), f32, scale, 0, wanted.limits)
    else:
        element = UniformQuantizedType.per_axis(_storage_type(wanted), f32, 1, np.asarray(scales), 0, wanted.limits)
    return _with_element(of, element)


def expressed(of: Typed) -> TypeAttribute:
    """The type of the real values: floats."""
    return _with_element(of, expressed_type(element_type(of)))


def stored(of: Typed) -> TypeAttribute:
    """The type of the stored integers."""
    return _with_element(of, uniform(of).storage)


def _numbers(values: npt.NDArray[np.int64]) -> Attribute:
    if values.size == 1:
        return IntegerAttr(int(values.item()), i64)
    return DenseArrayBase.from_list(i64, values.reshape(-1).tolist())


def scales(of: UniformQuantizedType) -> Attribute:
    """The scale as an f64, or all of them as `array<f64: …>`."""
    if of.scales.size == 1:
        return FloatAttr(float(of.scales.item()), f64)
    return DenseArrayBase.from_list(f64, of.scales.reshape(-1).tolist())


def zero_points(of: UniformQuantizedType) -> Attribute:
    """The zero point as an i64, or all of them as `array<i64: …>`."""
    return _numbers(of.zero_points)


def shift(output: UniformQuantizedType, *inputs: UniformQuantizedType) -> Attribute:
    """The right shift that takes an accumulator to the scale of the output: an i64, or one for each channel.

    The constraint `is_shift` must hold.
    """
    found = _shift(output, inputs)
    if found is None:
        raise ValueError("requantization is not a shift; apply the constraint 'is_shift' first")
    return _numbers(found)


def bits(of: UniformQuantizedType) -> Attribute:
    """The bits of the storage, as an i64."""
    return IntegerAttr(of.bits, i64)


REWRITES = {
    each.__name__: each
    for each in (
        with_storage, with_scale, with_power_of_two_scale, with_zero_point, with_element_of, with_shape, quantized,
        product, expressed, stored, scales, zero_points, shift, bits,
    )
}  # fmt: skip
