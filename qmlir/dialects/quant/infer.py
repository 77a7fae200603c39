"""Quantized tensors: element types that a shape permits, per-element parameters, and sizes in bits and bytes."""

import math
from collections.abc import Iterable, Iterator
from types import EllipsisType
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.types import (
    CalibratedQuantizedType,
    Granularity,
    QuantizedType,
    StoredType,
    UniformFloatType,
    UniformQuantizedType,
    UniformType,
)
from qmlir.ir.builtin_types import (
    AnyMemRef,
    AnyTensor,
    memref_type,
    ranked_tensor,
    small_dtype,
    unranked_tensor,
)
from qmlir.ir.interfaces import volume

# The sizes of values at any level: shape, number of elements, bits and bytes.
#
# Dynamic dimensions count as 1, so that the numbers are per sample.


def bits_of(element: Attribute) -> int:
    """Returns the width of a stored element in bits: 1 for a bool, 64 for an index, and 0 for a string."""
    if isinstance(element, CalibratedQuantizedType):
        return bits_of(element.expressed_type)
    if isinstance(element, IndexType):
        return 64
    if isinstance(element, StoredType | UniformFloatType):
        return element.bits
    return element.bitwidth if isinstance(element, IntegerType | AnyFloat) else 0


def shaped_type(value: SSAValue) -> tuple[Attribute, tuple[int, ...]] | None:
    """Returns the element type and the shape of a tensor or memref; dynamic dimensions are represented as in xDSL."""
    found = ranked_tensor(value.type) or memref_type(value)
    return None if found is None else (found.get_element_type(), tuple(found.get_shape()))


def elements_of(value: SSAValue) -> int:
    """Returns the number of elements of a value; dynamic dimensions count as 1."""
    found = shaped_type(value)
    return 0 if found is None else volume(found[1])


def type_bytes(type_: Attribute) -> int:
    """Returns the size in bytes of a value of a type, with elements packed as densely as their storage allows."""
    if not isinstance(type_, TensorType | MemRefType):
        return 0
    found = cast(AnyTensor | AnyMemRef, type_)
    return math.ceil(volume(found.get_shape()) * bits_of(found.get_element_type()) / 8)


def bytes_of(value: SSAValue) -> int:
    """Returns the size of a value in bytes, with elements packed as densely as their storage allows."""
    return type_bytes(value.type)


# Quantized tensors: the element types that a shape permits, and the parameters of each element.


def element_type(type_: Attribute) -> Attribute:
    """Returns the element type of a tensor, or a scalar type itself."""
    holder = ranked_tensor(type_) or unranked_tensor(type_)
    return type_ if holder is None else holder.element_type


def expressed_type(element: Attribute) -> Attribute:
    """Returns the float type that a quantized or calibrated element expresses; any other type is returned unchanged."""
    if isinstance(element, QuantizedType) and element.expressed_type is not None:
        return element.expressed_type
    return element


def scaling_of(element: Attribute) -> tuple[float | None, int]:
    """Returns scale and zero point of stored integers with one scale; `None` and 0 for any other element."""
    if not isinstance(element, UniformQuantizedType) or element.granularity is not Granularity.TENSOR:
        return None, 0
    return float(np.float32(element.scale)), element.zero_point


def integer_dtype(bits: int, signed: bool) -> np.dtype[np.signedinteger | np.unsignedinteger]:
    """Returns the smallest NumPy integer type with at least `bits` bits."""
    size = next(size for size in (1, 2, 4, 8) if bits <= 8 * size)
    return np.dtype(f"{'i' if signed else 'u'}{size}")


def storage_dtype(stored: StoredType | UniformFloatType) -> np.dtype[Any]:
    """Returns the NumPy type of a stored value; for integers, the smallest that fits of 8, 16 or 32 bits."""
    if isinstance(stored, UniformFloatType):
        return small_dtype(stored.storage)
    return integer_dtype(stored.bits, stored.is_signed)


def as_stored(bits: Array, stored: StoredType) -> Array:
    """Returns a constant's elements as stored integers; a signed bit, which is held as 1 if signless, becomes -1."""
    return np.asarray(-bits) if stored.bits == 1 and stored.is_signed else bits


def verify_quantized_tensor(type_: Attribute) -> None:
    """Verifies, by the rules of upstream MLIR, that the parameters of a quantized element type fit the tensor shape."""
    quantized = element_type(type_)
    if not isinstance(quantized, UniformType) or quantized.granularity is Granularity.TENSOR:
        return
    kind = "per-axis" if quantized.granularity is Granularity.AXIS else "sub-channel"
    verify = _verify_axis if quantized.granularity is Granularity.AXIS else _verify_blocks
    if (ranked := ranked_tensor(type_)) is not None:
        verify(quantized, ranked.get_shape())
    elif unranked_tensor(type_) is None:
        raise VerifyException(f"scalar types may not use {kind} quantization")
    elif quantized.granularity is Granularity.BLOCK:
        raise VerifyException("tensor containing the sub-channel quantized type must be ranked")


def _verify_axis(quantized: UniformType, shape: tuple[int, ...]) -> None:
    if quantized.axis >= len(shape):
        raise VerifyException(f"quantized dimension {quantized.axis} must be less than tensor rank {len(shape)}")
    size, scales = shape[quantized.axis], quantized.scales.size
    if size not in (DYNAMIC_INDEX, scales):
        raise VerifyException(f"quantized dimension size {size} does not match number of scales {scales}")


def _verify_blocks(quantized: UniformType, shape: tuple[int, ...]) -> None:
    for axis in quantized.axes:
        if axis >= len(shape):
            raise VerifyException(f"quantized dimension {axis} must be less than tensor rank {len(shape)}")
    counts = quantized.scales.shape
    if len(counts) != len(shape):
        raise VerifyException(f"rank of scales {len(counts)} must match the rank of the tensor {len(shape)}")
    blocks = dict(zip(quantized.axes, quantized.block_sizes, strict=True))
    for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
        if size == 0:
            raise VerifyException("tensor dimension size of zero is not allowed with sub-channel quantization")
        if size == DYNAMIC_INDEX:
            if axis in blocks:
                continue
            size = 1  # an axis without blocks has a single parameter
        block = blocks.get(axis, size)
        if size % block:
            found = f"tensor dimension size {size} at axis {axis}"
            raise VerifyException(f"{found} must be divisible by the corresponding block size {block}")
        if count != size // block:
            expected = f"{size // block} ({size} elements in blocks of {block})"
            raise VerifyException(f"number of scales along axis {axis} should be {expected}, but got {count}")


def spread(quantized: UniformType, shape: tuple[int, ...], values: Array) -> Array:
    """Reshapes or repeats `values`, one per scale of a type, so that they broadcast to a tensor of shape `shape`."""
    if quantized.granularity is Granularity.AXIS:
        layout = [1] * len(shape)
        layout[quantized.axis] = -1
        return values.reshape(layout)
    for axis, count in enumerate(values.shape):
        values = np.repeat(values, shape[axis] // count if count else 1, axis)
    return values


def same_along(values: Array, axes: Iterable[int]) -> Array | None:
    """Reduces the given axes of a parameter array to size 1; `None` if the parameters vary along one of them."""
    for axis in axes if values.ndim else ():
        first = values.take([0], axis=axis) if values.shape[axis] else values
        if not (values == first).all():
            return None
        values = first
    return values


def broadcast_parameters(
    quantized: UniformType, shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Returns the scales and the zero points in a shape that broadcasts to a tensor of shape `shape`."""
    return spread(quantized, shape, quantized.scales), spread(quantized, shape, quantized.zero_points)


AT_ONCE = 1 << 16
"""The number of elements in a slab of `parameters_by_rows`: a few temporary arrays of f64 stay in the caches."""


def parameters_by_rows(
    quantized: UniformType, shape: tuple[int, ...], at_once: int = AT_ONCE
) -> Iterator[tuple[slice | EllipsisType, npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
    """Yields slabs of a tensor along its first axis, with the scales and the zero points that broadcast to each.

    The parameters of all elements of large weights together would take several times the memory of the weights.
    """
    scales, zero_points = quantized.scales, quantized.zero_points
    if not zero_points.any():
        zero_points = np.zeros((), np.int64)
    if math.prod(shape) <= at_once:
        whole = slice(None) if shape else ...
        yield whole, spread(quantized, shape, scales), spread(quantized, shape, zero_points)
        return
    is_sliced = 0 in quantized.axes
    block = shape[0] // len(scales) if is_sliced else 1
    step = max(at_once // (block * math.prod(shape[1:])), 1) * block
    for first in range(0, shape[0], step):
        rows = slice(first, min(first + step, shape[0]))
        own = slice(rows.start // block, rows.stop // block)
        slab = rows.stop - rows.start, *shape[1:]
        factors, offsets = (each[own] if is_sliced and each.ndim else each for each in (scales, zero_points))
        yield rows, spread(quantized, slab, factors), spread(quantized, slab, offsets)
