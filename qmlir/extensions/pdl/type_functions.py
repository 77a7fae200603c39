"""Native functions of PDL patterns for quantized types: constraints, and functions that return types and numbers.

Each function accepts a value or a type; for a tensor it uses the element type. Most require a uniform quantized type
with integer storage. For any other type, a constraint does not hold, and a rewrite function reports an error.
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
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, uniform_parameters
from qmlir.extensions.pdl.natives import Typed, uniform
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor

_GRANULARITIES = {"tensor": Granularity.TENSOR, "channel": Granularity.AXIS, "block": Granularity.BLOCK}


def is_quantized(of: UniformQuantizedType) -> bool:
    """Holds if the element type is `!quant.uniform` with integer storage."""
    return True


def is_float(of: Typed) -> bool:
    """Holds if the element type is a float."""
    return isinstance(element_type(of), AnyFloat)


def has_storage(of: UniformQuantizedType, storage: str) -> bool:
    """Holds if the storage matches a text such as `i8` or `u4`, or `i8<-127:127>` with limits."""
    wanted = Storage.parse(storage)
    is_same = (of.bits, of.is_signed) == (wanted.bits, wanted.is_signed)
    return is_same and wanted.limits in (None, (of.storage_min, of.storage_max))


def has_bits(of: UniformQuantizedType, bits: int) -> bool:
    """Holds if the storage has this number of bits."""
    return of.bits == bits


def bits_at_most(of: UniformQuantizedType, bits: int) -> bool:
    """Holds if the storage has at most this number of bits."""
    return of.bits <= bits


def is_signed(of: UniformQuantizedType) -> bool:
    """Holds if the storage is signed."""
    return of.is_signed


def is_unsigned(of: UniformQuantizedType) -> bool:
    """Holds if the storage is unsigned."""
    return not of.is_signed


def has_scale(of: UniformQuantizedType, scale: float) -> bool:
    """Holds if every scale is this number, rounded to f32."""
    return bool((of.scales.astype(np.float32) == np.float32(scale)).all())


def scale_between(of: UniformQuantizedType, low: float, high: float) -> bool:
    """Holds if every scale `s` satisfies `low <= s <= high`."""
    return bool(((of.scales >= low) & (of.scales <= high)).all())


def has_power_of_two_scale(of: UniformQuantizedType) -> bool:
    """Holds if every scale is a power of two."""
    return bool(are_powers_of_two(of.scales).all())


def has_zero_point(of: UniformQuantizedType, zero_point: int) -> bool:
    """Holds if every zero point is this integer."""
    return bool((of.zero_points == zero_point).all())


def has_scheme(of: UniformQuantizedType, scheme: str) -> bool:
    """Holds if the type fits this scheme: `symmetric` fixes the zero point, and `…_pow2` requires power-of-two scales.

    In a symmetric scheme, the storage determines the zero point. A type that fits a symmetric scheme also fits the
    asymmetric one.
    """
    wanted = Scheme.parse(scheme)
    if wanted.is_power_of_two and not has_power_of_two_scale(of):
        return False
    storage = Storage(of.bits, of.is_signed, (of.storage_min, of.storage_max))
    return not wanted.is_symmetric or has_zero_point(of, symmetric_zero_point(storage))


def has_granularity(of: UniformQuantizedType, granularity: str) -> bool:
    """Holds if there is one scale per `tensor`, `channel` or `block`, as the text says."""
    if granularity not in _GRANULARITIES:
        raise ValueError(f"granularity must be one of {', '.join(_GRANULARITIES)}, but got '{granularity}'")
    return of.granularity is _GRANULARITIES[granularity]


def has_axis(of: UniformQuantizedType, axis: int) -> bool:
    """Holds if there is one scale for each index of this axis."""
    return of.granularity is Granularity.AXIS and of.axis == axis


def same_parameters(*of: UniformQuantizedType) -> bool:
    """Holds if all types have the same scales and zero points; their storage may differ."""
    return bool(of) and all(
        (each.axes, each.block_sizes) == (of[0].axes, of[0].block_sizes)
        and np.array_equal(each.scales, of[0].scales)
        and np.array_equal(each.zero_points, of[0].zero_points)
        for each in of
    )


def same_storage(*of: UniformQuantizedType) -> bool:
    """Holds if all types have the same storage type with the same limits."""
    return len({(each.storage, each.storage_min, each.storage_max) for each in of}) == 1


def same_element_type(*of: Typed) -> bool:
    """Holds if all element types are equal, including their parameters."""
    return len({element_type(each) for each in of}) == 1


def same_shape(*of: Typed) -> bool:
    """Holds if all are tensors of the same shape."""
    tensors = [ranked_tensor(each) for each in of]
    return None not in tensors and len({each.get_shape() for each in tensors if each is not None}) == 1


def has_shape(of: Typed, sizes: tuple[int, ...]) -> bool:
    """Holds for a tensor of these sizes; -1 matches any size."""
    type_ = ranked_tensor(of)
    if type_ is None or len(type_.get_shape()) != len(sizes):
        return False
    return all(wanted in (-1, size) for wanted, size in zip(sizes, type_.get_shape(), strict=True))


def has_rank(of: Typed, rank: int) -> bool:
    """Holds for a tensor of this rank."""
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
    """Holds if requantizing is a shift: the inputs' scales multiply to the output's scale times a power of two."""
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
    held = UniformQuantizedType.per_tensor(integer, type_.expressed_type, 1.0, limits=limits).parameters[:3]
    layout = type_.granularity, type_.axes, type_.block_sizes
    scales = np.broadcast_to(scales, type_.scales.shape)
    element = UniformQuantizedType.new(uniform_parameters(held, type_.expressed_type, *layout, scales, zero_points))
    return _with_element(of, element)


def with_storage(of: Typed, storage: str) -> TypeAttribute:
    """Returns the type with another storage type, and the same scales and zero points."""
    return _rebuilt(of, uniform(of).scales, uniform(of).zero_points, Storage.parse(storage))


def with_scale(of: Typed, scale: float) -> TypeAttribute:
    """Returns the type with all scales replaced with this scale."""
    return _rebuilt(of, scale, uniform(of).zero_points)


def with_power_of_two_scale(of: Typed) -> TypeAttribute:
    """Returns the type with each scale rounded up to a power of two."""
    return _rebuilt(of, power_of_two_ceiling(uniform(of).scales), uniform(of).zero_points)


def with_zero_point(of: Typed, zero_point: int) -> TypeAttribute:
    """Returns the type with this zero point."""
    return _rebuilt(of, uniform(of).scales, zero_point)


def with_element_of(of: Typed, other: Typed) -> TypeAttribute:
    """Returns a type with the shape of the first argument and the element type of the second."""
    return _with_element(of, element_type(other))


def with_shape(of: Typed, sizes: tuple[int, ...]) -> TypeAttribute:
    """Returns a tensor type with these sizes and the same element type."""
    return TensorType(element_type(of), sizes)


def quantized(of: Typed, storage: str, scale: float, zero_point: int) -> TypeAttribute:
    """Returns the type of float values after quantization with one scale and zero point."""
    expressed = expressed_type(element_type(of))
    if not isinstance(expressed, AnyFloat):
        raise ValueError(f"expected a float type, but got {of}")
    wanted = Storage.parse(storage)
    return _with_element(
        of, UniformQuantizedType.per_tensor(_storage_type(wanted), expressed, scale, zero_point, wanted.limits)
    )


def product(of: Typed, storage: str, *factors: UniformQuantizedType) -> TypeAttribute:
    """Returns an accumulator type whose scale is the product of the factors' scales, with zero point 0.

    It has the shape of the first argument. One factor may have per-channel scales; those of the accumulator then vary
    along axis 1, the axis of channels.
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
    """Returns the type of the dequantized values, with a float element type."""
    return _with_element(of, expressed_type(element_type(of)))


def stored(of: Typed) -> TypeAttribute:
    """Returns the type of the stored integers."""
    return _with_element(of, uniform(of).storage)


def _numbers(values: npt.NDArray[np.int64]) -> Attribute:
    if values.size == 1:
        return IntegerAttr(int(values.item()), i64)
    return DenseArrayBase.from_list(i64, values.reshape(-1).tolist())


def scales(of: UniformQuantizedType) -> Attribute:
    """Returns the scale as an f64, or several scales as `array<f64: …>`."""
    if of.scales.size == 1:
        return FloatAttr(float(of.scales.item()), f64)
    return DenseArrayBase.from_list(f64, of.scales.reshape(-1).tolist())


def zero_points(of: UniformQuantizedType) -> Attribute:
    """Returns the zero point as an i64, or several zero points as `array<i64: …>`."""
    return _numbers(of.zero_points)


def shift(output: UniformQuantizedType, *inputs: UniformQuantizedType) -> Attribute:
    """Returns the right shift that rescales an accumulator to the scale of the output: an i64, or one per channel.

    The constraint `is_shift` must hold.
    """
    found = _shift(output, inputs)
    if found is None:
        raise ValueError("requantization is not a shift; apply the constraint 'is_shift' first")
    return _numbers(found)


def bits(of: UniformQuantizedType) -> Attribute:
    """Returns the storage width in bits, as an i64."""
    return IntegerAttr(of.bits, i64)


REWRITES = {
    each.__name__: each
    for each in (
        with_storage, with_scale, with_power_of_two_scale, with_zero_point, with_element_of, with_shape, quantized,
        product, expressed, stored, scales, zero_points, shift, bits,
    )
}  # fmt: skip
