"""Contractions of integers whose zero points may be known only at run time, from `nn` operations.

The integers become quantized values of scale 1 with i32 accumulators, so that the contraction multiplies bytes. A
constant zero point is part of the type. Otherwise, the type has zero point 0 and the sum is corrected:
`sum (a - z)(b - y) = sum a (b - y) - z sum (b - y)`, where the second sum is constant if the weights are. Every step is
exact modulo 2^32, so the result is exact if i32 holds the sum on the left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i32
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, Operand
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp, MulOp, SubOp
from qmlir.dialects.nn.reduction.ops import ReduceSumOp
from qmlir.dialects.nn.shapes.ops import PadOp
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import integers_of

SUM = UniformQuantizedType.per_tensor(i32, f32, 1.0)
"""The quantized type of an exact sum."""

LARGEST = (1 << 31) - 1

_NnOpT = TypeVar("_NnOpT", bound=NnOp)


class ProductBuilder(Protocol):
    """Inserts operations, such as an importer's node or the insertion point of a pass."""

    def add(self, operation: type[_NnOpT], *operands: Operand, **properties: Any) -> _NnOpT:
        """Builds and inserts an operation; see `build`."""
        ...

    def add_constant(self, array: Array, element: Attribute) -> SSAValue:
        """Inserts a constant of elements of type `element`."""
        ...

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Reshapes `value` to a static shape."""
        ...


@dataclass(frozen=True)
class IntegerFactor:
    """An operand of a contraction: integers of at most 8 bits, from which a zero point is subtracted."""

    value: SSAValue
    """The integers as plain elements."""

    element: UniformQuantizedType
    """The type of scale 1 in which they are multiplied. It includes the zero point if that is constant."""

    zero_point: SSAValue | None = None
    """The zero point in the type of the integers, broadcastable to them, if it is known only at run time."""

    known: Array | None = None
    """The integers of a constant operand."""

    @property
    def largest(self) -> int:
        """A bound on the absolute value of an integer minus its zero point."""
        points, element = self.element.zero_points, self.element
        return int(max(abs(element.storage_max - points.min()), abs(element.storage_min - points.max())))

    def sums(self, at: ProductBuilder, axes: Sequence[int], shape: Sequence[int] | None = None) -> SSAValue:
        """Returns the i32 sums over `axes` of the integers minus the zero point of the type.

        The axes are kept with size 1; `shape` is another shape of the same number of sums."""
        _, points = broadcast_parameters(self.element, shape_of(self.value))
        if self.known is None:
            centre = at.add_constant(points.astype(np.int32), i32) if points.any() else None
            total = self._sums(at, centre, axes)
            return total if shape is None else at.reshaped(total, shape)
        integers = integers_of(self.known, self.element.storage, is_unsigned=not self.element.is_signed)
        sums = (integers - points).sum(axis=tuple(axes), keepdims=True).astype(np.int32)
        return at.add_constant(sums if shape is None else sums.reshape(shape), i32)

    def centered_sums(self, at: ProductBuilder, axes: Sequence[int]) -> SSAValue:
        """Returns the i32 sums over `axes` (kept with size 1) of the integers minus their actual zero point."""
        return self.sums(at, axes) if self.zero_point is None else self._sums(at, cast(at, self.zero_point, i32), axes)

    def _sums(self, at: ProductBuilder, zero_point: SSAValue | None, axes: Sequence[int]) -> SSAValue:
        integers = cast(at, self.value, i32)
        if zero_point is not None:
            integers = at.add(SubOp, integers, zero_point).result
        return at.add(ReduceSumOp, integers, axes=tuple(axes)).result


def cast(at: ProductBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """Returns `value` cast to the plain type `element`."""
    if element_of(value) == element:
        return value
    return at.add(CastOp, value, result_types=[TensorType(element, shape_of(value))]).result


def fits(a: IntegerFactor, b: IntegerFactor, terms: int) -> bool:
    """Returns whether i32 holds the sum of any `terms` products."""
    return terms != DYNAMIC_INDEX and max(terms, 1) * a.largest * b.largest <= LARGEST


def _less(at: ProductBuilder, total: SSAValue, zero_point: SSAValue, sums: SSAValue) -> SSAValue:
    """`total - zero_point * sums`."""
    return at.add(SubOp, total, at.add(MulOp, zero_point, sums).result).result


def corrected_matmul(
    at: ProductBuilder, total: SSAValue, a: IntegerFactor, b: IntegerFactor, *, transpose_b: bool = False
) -> SSAValue:
    """Subtracts the terms of run-time zero points from `total`, the i32 matrix product of `a` and `b` by their types.

    Both operands have rank 2 or more.
    """
    if a.zero_point is not None:
        point, shape = cast(at, a.zero_point, i32), shape_of(b.value)
        rank, columns = len(shape), (*shape[:-2], 1, shape[-2])
        sums = b.sums(at, (rank - 1,), columns) if transpose_b else b.sums(at, (rank - 2,))
        total = _less(at, total, point, sums)
    if b.zero_point is not None:
        total = _less(at, total, cast(at, b.zero_point, i32), a.centered_sums(at, (len(shape_of(a.value)) - 1,)))
    return total


def corrected_conv(at: ProductBuilder, total: SSAValue, x: IntegerFactor, w: IntegerFactor) -> SSAValue:
    """Subtracts the terms of the run-time zero point of `x` from `total`, the i32 convolution of `x` by weights `w`."""
    if x.zero_point is None:
        return total
    point, (channels, *others) = cast(at, x.zero_point, i32), shape_of(w.value)
    return _less(at, total, point, w.sums(at, range(1, 1 + len(others)), (1, channels, *(1 for _ in others[1:]))))


def padded(at: ProductBuilder, x: IntegerFactor, pads: Sequence[int]) -> IntegerFactor:
    """Returns `x` padded along the spatial axes by its scalar run-time zero point, which adds nothing to a sum."""
    assert x.zero_point is not None
    if not any(pads):
        return x
    point = at.reshaped(x.zero_point, ()) if shape_of(x.zero_point) else x.zero_point
    half = len(pads) // 2
    return replace(x, value=at.add(PadOp, x.value, point, pads=[0, 0, *pads[:half], 0, 0, *pads[half:]]).result)


def scaled(
    at: ProductBuilder, total: SSAValue, a_scale: SSAValue, b_scale: SSAValue, bias: SSAValue | None
) -> SSAValue:
    """Returns `f32(total) * f32(a_scale * b_scale) + bias`, each step rounded to f32."""
    scale = at.add(MulOp, a_scale, b_scale).result
    real = at.add(MulOp, cast(at, total, f32), scale).result
    return real if bias is None else at.add(AddOp, real, bias).result
