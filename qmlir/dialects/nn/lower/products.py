"""Sums of products as `kernel` contractions: two factors, the type that holds every sum, and a region for each sum.

The sum is taken in i32 where a bound over the stored types, and over the weights where they are constant, proves that
it holds every one, and in i64 otherwise. Plain integers whose sums may exceed that wrap, as those of `nn` do.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp, zero_point_type
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar
from qmlir.dialects.kernel.ops import YieldOp
from qmlir.dialects.nn.lower.places import axes_map
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.text.elements import dense_dtype, integers_of

LARGEST = (1 << 31) - 1
"""The largest sum that i32 holds."""

_LARGEST_WIDE = (1 << 63) - 1


@dataclass(frozen=True)
class Factor:
    """A factor of the products: stored integers, or plain numbers, in the layout that the kernel reads."""

    value: SSAValue
    element: UniformQuantizedType | None
    is_unsigned: bool
    zero_points: Array
    """Those of the output channels, or one for all."""
    known: Array | None = None
    """The stored elements in the layout of the kernel, where they are constant."""

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest stored integer: of a constant those that are there, otherwise all of its type.

        A narrower range of a quantized type is what its maker promised, and an argument may break the promise.
        """
        integer = as_integer(element_of(self.value))
        assert integer is not None
        if self.known is not None and self.known.size:
            stored = integers_of(self.known, integer, is_unsigned=self.is_unsigned)
            return int(stored.min()), int(stored.max())
        return integer_limits(integer.width.data, is_signed=not self.is_unsigned)

    def largest(self) -> int:
        """A bound of `|q - z|`."""
        low, high = self.limits
        return max(abs(int(limit) - int(zero)) for limit in (low, high) for zero in np.unique(self.zero_points))

    def at_value(self, value: SSAValue, known: Array | None = None) -> "Factor":
        """The same factor in another layout."""
        return replace(self, value=value, known=known)


def factor(at: Lowering, value: SSAValue) -> Factor:
    """An operand as a factor, in its own layout."""
    element = quantized.uniform_element(at, value)
    zero_points = np.zeros(1, np.int64) if element is None else element.zero_points.reshape(-1)
    return Factor(at.value(value), element, at.signedness(value), zero_points, at.known(value))


def arranged(at: Lowering, own: Factor, order: Sequence[int]) -> Factor:
    """A factor with its axes in another order: a new constant where it is one."""
    if tuple(order) == tuple(range(len(order))):
        return own
    if own.known is None:
        return own.at_value(at.transpose(own.value, order))
    known = np.ascontiguousarray(own.known.transpose(order))
    return own.at_value(at.constant(known, element_of(own.value)), known)


def _zero_points(at: Lowering, per_channel: Array) -> SSAValue:
    """The zero points of the weights of each output channel, as a constant that holds all of them."""
    element = zero_point_type(per_channel.tolist())
    return at.constant(per_channel.astype(dense_dtype(element)), element)


@dataclass(frozen=True)
class Contraction(ABC):
    """A contraction of two factors; its sums have the output channels last."""

    x: Factor
    w: Factor

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums."""

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many products each sum has."""

    @abstractmethod
    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        """The kernel of these operands."""

    @abstractmethod
    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        """The sums modulo the width of `wide`, as a structured operation."""

    @abstractmethod
    def rows(self, known: Array) -> Array:
        """Constant weights as `[…, channels, terms]`."""

    @property
    def channel_map(self) -> AffineMap:
        """From the dimensions of the sums to the output channel."""
        return axes_map(len(self.shape), [len(self.shape) - 1])

    @cached_property
    def _largest_weights(self) -> int:
        """A bound of the sum of `|q - z|` over the weights of one output channel, all of which are read once."""
        if self.w.known is None:
            return self.w.largest() * self.terms
        rows = integers_of(self.rows(self.w.known), element_of(self.w.value), is_unsigned=self.w.is_unsigned)
        zero_points = self.w.zero_points.reshape(-1, 1) if self.w.zero_points.size > 1 else self.w.zero_points
        return int(np.abs(rows - zero_points).sum(axis=-1).max(initial=0))

    def largest(self) -> int:
        """A bound of the absolute value of every sum."""
        return self.x.largest() * self._largest_weights

    @property
    def is_float(self) -> bool:
        """Whether the products are floats."""
        return isinstance(element_of(self.x.value), AnyFloat)

    def accumulator(self) -> IntegerType | AnyFloat:
        """The type in which the products are summed: integers are exact, or wrap in i64."""
        element = element_of(self.x.value)
        if isinstance(element, AnyFloat):
            return f64 if element == f64 else f32
        return i32 if self.largest() <= LARGEST else i64

    def build(
        self, at: Lowering, element: Attribute, epilogue: Sequence[Input], body: Callable[..., Scalar]
    ) -> SSAValue:
        """The kernel, whose region is `body` of the sum and of one element of each epilogue operand."""
        accumulator = self.accumulator()
        if not self.is_float and self.largest() > _LARGEST_WIDE:
            return self._build_wrapped(at, element, epilogue, body)
        block = Block(arg_types=[accumulator, *(element_of(each.value) for each in epilogue)])
        builder = ArithBuilder(Builder(InsertPoint.at_end(block)))
        flags = [False, *(each.unsigned for each in epilogue)]
        arguments = [Scalar(argument, builder, flag) for argument, flag in zip(block.args, flags, strict=True)]
        block.add_op(YieldOp(body(*arguments).value))
        per_channel = self.w.zero_points
        has_several = bool((per_channel != per_channel[0]).any())
        op = self.operation(
            self.x.value,
            self.w.value,
            Region(block),
            result_type=TensorType(element, self.shape),
            epilogue=[(each.value, each.map_) for each in epilogue],
            weight_zero_points=_zero_points(at, per_channel) if has_several else None,
            zero_points=(int(self.x.zero_points[0]), 0 if has_several else int(per_channel[0])),
            unsigned=(self.x.is_unsigned, self.w.is_unsigned),
        )
        return at.insert(op)

    def _build_wrapped(
        self, at: Lowering, element: Attribute, epilogue: Sequence[Input], body: Callable[..., Scalar]
    ) -> SSAValue:
        if self.x.element is not None:
            raise at.error(
                f"cannot be compiled: sums of {self.terms} products up to {self.largest()} overflow 64 bits; "
                "use types with fewer bits"
            )
        sums = Input(self.wrapped(at, i64), axes_map(len(self.shape), range(len(self.shape))))
        return at.compute([sums, *epilogue], self.shape, element, body)

    def _multiplied(
        self,
        at: Lowering,
        wide: IntegerType,
        shape: Sequence[int],
        maps: tuple[AffineMap, AffineMap, AffineMap],
        w: SSAValue,
    ) -> SSAValue:
        x_map, w_map, sum_map = maps
        inputs = [Input(self.x.value, x_map, self.x.is_unsigned), Input(w, w_map, self.w.is_unsigned)]

        def body(left: Scalar, right: Scalar, so_far: Scalar) -> Scalar:
            return so_far + left.to(wide) * right.to(wide)

        return at.generic(inputs, [(at.fill(shape, wide, 0), sum_map)], body)[0]


@dataclass(frozen=True)
class MatrixProduct(Contraction):
    """`x` `[…, M, K]` by `w` `[…, N, K]`, whose batches are the first ones of `x`."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (*shape_of(self.x.value)[:-1], shape_of(self.w.value)[-2])

    @property
    def terms(self) -> int:
        return shape_of(self.x.value)[-1]

    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        return MatMulOp(*operands, **named)

    def rows(self, known: Array) -> Array:
        return known

    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        rank = len(self.shape)
        x_map = axes_map(rank + 1, [*range(rank - 1), rank])
        w_map = axes_map(rank + 1, [*range(len(shape_of(self.w.value)) - 2), rank - 1, rank])
        maps = (x_map, w_map, axes_map(rank + 1, range(rank)))
        return self._multiplied(at, wide, self.shape, maps, self.w.value)


@dataclass(frozen=True)
class Convolution(Contraction):
    """`x` `[N, spatial…, C]`, padded, by `w` `[O, taps…, C / groups]`; `counts` windows along each spatial axis."""

    counts: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (shape_of(self.x.value)[0], *self.counts, shape_of(self.w.value)[0])

    @property
    def terms(self) -> int:
        return math.prod(shape_of(self.w.value)[1:])

    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        return ConvOp(*operands, **named, properties=ConvOp.windows(self.strides, self.dilations, self.groups))

    def rows(self, known: Array) -> Array:
        return known.reshape(known.shape[0], -1)

    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        """Over the iterators `[N, windows…, group, channel, taps…, C / groups]`."""
        spatial, channels, *taps = len(self.counts), *shape_of(self.w.value)
        count = 4 + 2 * spatial
        dims = [AffineExpr.dimension(axis) for axis in range(count)]
        group, first_tap, term = 1 + spatial, 3 + spatial, count - 1
        places = [
            dims[1 + axis] * self.strides[axis] + dims[first_tap + axis] * self.dilations[axis]
            for axis in range(spatial)
        ]
        channel = dims[group] * taps[-1] + dims[term] if self.groups > 1 else dims[term]
        x_map = AffineMap(count, 0, (dims[0], *places, channel))
        w_map = axes_map(count, range(group, count))
        shape = (*self.shape[:-1], self.groups, channels // self.groups)
        w = at.reshape(self.w.value, (self.groups, channels // self.groups, *taps))
        sums = self._multiplied(at, wide, shape, (x_map, w_map, axes_map(count, range(first_tap))), w)
        return at.reshape(sums, self.shape)


def finish_plain(at: Lowering, found: Contraction, element: Attribute, biases: Sequence[Input] = ()) -> SSAValue:
    """The sums of plain numbers, with a bias where there is one, rounded once to `element`, or wrapped."""

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        total = accumulator + scalars[0].to(accumulator.type) if scalars else accumulator
        return total.to(element)

    return found.build(at, element, biases, body)
