"""The rows of the table of `docs/arithmetic.md` in NumPy, and the types that a composite has for its parts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of

Array = Any
F32 = np.float32


class UnknownError(Exception):
    """What this computes is not written here."""


@dataclass(frozen=True)
class Type:
    """A quantized type: parameters that broadcast against the values that have it."""

    scale: Array
    zero: Array
    low: int
    high: int
    is_block: bool = False
    axis: int | None = None

    @staticmethod
    def of(element: Attribute, shape: tuple[int, ...]) -> "Type":
        if not isinstance(element, UniformQuantizedType):
            raise UnknownError(f"a value of {element}")
        scale, zero = np.asarray(element.scales, F32), element.zero_points
        if element.granularity is Granularity.AXIS:
            along = [-1 if position == element.axis else 1 for position in range(len(shape))]
            scale, zero = scale.reshape(along), zero.reshape(along)
        elif element.granularity is Granularity.BLOCK:
            for axis, size in enumerate(shape):
                count = size // scale.shape[axis] if scale.shape[axis] > 1 else 1
                scale, zero = np.repeat(scale, count, axis), np.repeat(zero, count, axis)
        axis = element.axis if element.granularity is Granularity.AXIS else None
        limits = element.storage_min, element.storage_max
        return Type(scale, zero, *limits, element.granularity is Granularity.BLOCK, axis)

    @property
    def bits(self) -> int:
        """The width of what is stored."""
        return (self.high - self.low).bit_length()


@dataclass(frozen=True)
class Value:
    """Stored integers and their type, or plain numbers."""

    array: Array
    type: Type | None = None

    @property
    def own(self) -> Type:
        if self.type is None:
            raise UnknownError("a composite of floats")
        return self.type

    @property
    def integers(self) -> Array:
        """`q - z`."""
        return self.array.astype(np.int64) - self.own.zero

    @property
    def real(self) -> Array:
        """`f32(s * f32(q - z))`."""
        return self.array if self.type is None else np.asarray(self.own.scale * self.integers.astype(F32))

    def at(self, *index: Any) -> "Value":
        """A piece of a value of one scale."""
        return Value(self.array[index], self.type)

    def shaped(self, *shape: int) -> "Value":
        return Value(self.array.reshape(shape), self.type)


def saturated(integers: Array, type_: Type) -> Value:
    return Value(np.clip(integers, type_.low, type_.high).astype(np.int64), type_)


def quantized(real: Array, type_: Type) -> Value:
    """`saturate(rne(f32(x / s)) + z)`."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.asarray(real, F32) / type_.scale).astype(np.float64)
    if np.isnan(steps).any():
        raise UnknownError("a quantized value that is not a number")
    return saturated(np.clip(steps, -(2.0**62), 2.0**62).astype(np.int64) + type_.zero, type_)


def _rounded_shift(integers: Array, shift: Array, ties: str) -> Array:
    """`a * 2^-n` in whole numbers, `a` Python's integers; a tie goes to the even one, up, or away from 0."""

    def one(a: int, n: int) -> int:
        if n <= 0:
            return a << -n
        floor, rest, half = a >> n, a & ((1 << n) - 1), 1 << (n - 1)
        is_up = {"even": floor & 1 == 1, "up": True, "away": a > 0}[ties]
        return floor + (rest > half or (rest == half and is_up))

    return np.asarray(np.frompyfunc(one, 2, 1)(integers.astype(object), np.asarray(shift).astype(object)), object)


def _multiplied(integers: Array, ratio: Array, is_double: bool) -> Array:
    """`(a * q + 2^(n-1)) >> n`, with `± 2^30` more for two roundings."""

    def one(a: int, m: float) -> int:
        fraction, exponent = math.frexp(m)
        q, n = math.floor(math.ldexp(fraction, 31) + 0.5), 31 - exponent
        if q == 1 << 31:
            q, n = q >> 1, n - 1
        if n > 62:
            return 0
        a = max(min(a, 2**31 - 1), -(2**31))
        more = (1 << 30 if a >= 0 else -(1 << 30)) if is_double and n > 31 else 0
        return (a * q + (1 << (n - 1)) + more) >> n

    found = np.frompyfunc(one, 2, 1)(integers.astype(object), np.asarray(ratio, np.float64).astype(object))
    return np.asarray(found, object)


class Steps:
    """The parts of one composite, each in the type that the composite has for its role."""

    def __init__(self, op: Any, giving: Mapping[str, SSAValue]) -> None:
        self.types: dict[str, Attribute] = {} if op.components is None else dict(op.components.data)
        self.types |= {role: element_of(value) for role, value in giving.items()}
        named = op.requantize
        self.mode, self.ties = ("f32", "even") if named is None else (str(named.mode), str(named.ties))

    def type_of(self, role: str, shape: tuple[int, ...]) -> Type:
        if role not in self.types:
            raise UnknownError(f"the type of '{role}'")
        return Type.of(self.types[role], shape)

    def mode_of(self, *values: Value) -> str:
        return "f32" if any(value.own.is_block for value in values) else self.mode

    def rescaled(self, integers: Array, scale: Array, type_: Type, mode: str, count: int = 1) -> Value:
        """Exact integers of a scale in another type: one requantization."""
        target = np.asarray(type_.scale * F32(count), F32)
        with np.errstate(all="ignore"):
            factor = np.asarray(scale / target, F32)
        if mode == "f32":
            floats = np.rint(np.asarray(integers.astype(np.float64).astype(F32)) * factor).astype(np.float64)
            steps = np.clip(floats, -(2.0**62), 2.0**62).astype(np.int64)
            one = np.broadcast_to(factor == 1, steps.shape)
            return saturated(np.where(one, integers, steps) + type_.zero, type_)
        ratio = np.asarray(scale, np.float64) / np.asarray(target, np.float64)
        return saturated(self._in_integers(integers, ratio, mode) + type_.zero, type_)

    def _in_integers(self, integers: Array, ratio: Array, mode: str) -> Array:
        if mode == "shift":
            return _rounded_shift(integers, 1 - np.frexp(ratio)[1], self.ties)
        return _multiplied(integers, ratio, mode == "double_round")

    def constant(self, role: str, number: float, shape: tuple[int, ...] = ()) -> Value:
        return quantized(np.full(shape, F32(number)), self.type_of(role, shape))

    def in_floats(self, role: str, function: Callable[..., Array], *values: Value) -> Value:
        with np.errstate(all="ignore"):
            real = np.asarray(function(*(value.real for value in values)), F32)
        return quantized(real, self.type_of(role, real.shape))

    def named(self, role: str, name: str, x: Value) -> Value:
        return self.in_floats(role, FUNCTIONS[name], x)

    def on_one_scale(self, role: str, function: Callable[[Array, Array], Array], a: Value, b: Value) -> Value:
        mode, type_ = self.mode_of(a, b), self.type_of(role, np.broadcast_shapes(a.array.shape, b.array.shape))
        if np.all(a.own.scale == b.own.scale):
            return self.rescaled(function(a.integers, b.integers), a.own.scale, type_, mode)
        if mode == "f32":
            return self.in_floats(role, function, a, b)
        if mode == "shift":
            scale = np.minimum(a.own.scale, b.own.scale)
        else:
            reach = [np.ldexp(each.own.scale, each.own.bits) for each in (a, b)]
            scale = np.ldexp(np.maximum(*reach), 1 - 28).astype(F32)
        left, right = (self._brought(each, scale, mode) for each in (a, b))
        return self.rescaled(function(left, right), scale, type_, mode)

    def _brought(self, value: Value, scale: Array, mode: str) -> Array:
        positions = 0 if mode == "shift" else max(28 - value.own.bits, 0)
        own = np.ldexp(value.own.scale, -positions).astype(np.float64)
        return self._in_integers(value.integers << positions, own / scale, mode).astype(np.int64)

    def mul(self, role: str, a: Value, b: Value) -> Value:
        type_ = self.type_of(role, np.broadcast_shapes(a.array.shape, b.array.shape))
        scale = np.asarray(a.own.scale * b.own.scale, F32)
        return self.rescaled(a.integers * b.integers, scale, type_, self.mode_of(a, b))

    def div(self, role: str, a: Value, b: Value) -> Value:
        return self.in_floats(role, np.divide, a, b)

    def summed(self, role: str, x: Value, axes: tuple[int, ...], is_mean: bool) -> Value:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.array.shape))
        type_, count = self.type_of(role, shape), math.prod(x.array.shape[axis] for axis in axes)
        scale = np.broadcast_to(x.own.scale, x.array.shape)
        first = scale.min(axis=axes, keepdims=True)
        if (scale == first).all():
            total = x.integers.sum(axis=axes, keepdims=True)
            return self.rescaled(total, first, type_, self.mode_of(x), count if is_mean else 1)
        order = [axis for axis in range(x.array.ndim) if axis not in axes] + list(axes)
        rows = x.real.astype(np.float64).transpose(order).reshape(*(x.array.shape[a] for a in order[: -len(axes)]), -1)
        ordered = np.add.accumulate(rows, axis=-1)[..., -1].astype(F32).reshape(shape)
        return quantized(ordered / F32(count) if is_mean else ordered, type_)

    def largest(self, x: Value, axis: int) -> Value:
        return Value(x.array.max(axis=axis, keepdims=True), x.type)

    def clip(self, role: str, x: Value, low: float, high: float) -> Value:
        type_ = self.type_of(role, x.array.shape)
        found = self.rescaled(x.integers, x.own.scale, type_, self.mode_of(x)).array
        bounds = (quantized(np.full(found.shape, F32(each)), type_).array for each in (low, high))
        return Value(np.clip(found, *bounds), type_)

    def products(self, role: str, x: Value, w: Value, integers: Array, scale: Array, bias: Value | None) -> Value:
        """Sums of products of the f32 `scale`; without a type for them, the accumulator."""
        if w.own.is_block or x.own.is_block:
            raise UnknownError("sums of blocks")
        if bias is not None:
            integers = integers + bias.array.astype(np.int64)
        if role not in self.types:
            return saturated(integers, Type(scale, np.int64(0), -(2**31), 2**31 - 1))
        return self.rescaled(integers, scale, self.type_of(role, integers.shape), self.mode)

    def matmul(self, role: str, x: Value, w: Value, *, is_transposed: bool = True, bias: Value | None = None) -> Value:
        turned = Value(np.swapaxes(w.array, -1, -2), w.type) if is_transposed else w
        integers, scale = w.integers, w.own.scale
        if is_transposed:
            integers = np.swapaxes(integers, -1, -2)
            scale = np.swapaxes(scale, -1, -2) if scale.ndim else scale
        total = x.integers @ integers
        return self.products(role, x, turned, total, np.asarray(x.own.scale * scale, F32), bias)


def exact_reals(value: Value) -> Array:
    """`s * (q - z)`, which f64 holds."""
    return np.asarray(value.own.scale, np.float64) * value.integers
