"""Canonicalization of casts that never changes a value.

Upstream folds `dcast(qcast(x))` to `x`, which removes the rounding; qmlir keeps it. However, if `x` is itself the
result of a `dcast`, it can take only finitely many values. A rescale folds if it maps each of these values to itself,
or to the same final integer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits


def is_exact_round_trip(quantized: UniformQuantizedType) -> bool:
    """Returns whether `qcast(dcast(x))` is the identity for every integer that the storage can hold.

    A type that narrows its storage range, such as `i8<-127:127>`, is excluded: a storage cast may introduce -128, which
    a quantization saturates.

    Let n = stored - zero_point. The product n * scale has a relative error of at most 2^-24 in f32, and the quotient
    another 2^-24. The quotient is therefore within |n| * 2^-22.9 of n, and rounds to n if |n| <= 2^21. If the scale is
    subnormal, a subnormal product is exact, because it is a multiple of the smallest subnormal. Otherwise, it is off by
    at most half of the smallest subnormal, so the error of the quotient also stays below 1/2. An overflowing product is
    not exact. For f64, the bounds have 29 more bits, which covers every storage type.
    """
    if (quantized.storage_min, quantized.storage_max) != storage_limits(quantized.storage):
        return False
    farthest = np.maximum(quantized.storage_max - quantized.zero_points, quantized.zero_points - quantized.storage_min)
    match quantized.expressed:
        case Float32Type():
            limit, largest = 2**21, float(np.finfo(np.float32).max)
        case Float64Type():
            limit, largest = 2**33, float(np.finfo(np.float64).max)
        case _:
            return False
    # Half the largest float leaves room for the rounding of the product.
    return bool((farthest <= limit).all() and (quantized.scales <= largest / 2 / farthest).all())


class FoldRequantizeOfDequantized(RewritePattern):
    """Folds `qcast(dcast(x)) -> x` if both casts have the same quantized type and its round trip is exact."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, DequantizeCastOp) or inner.input.type != op.result.type:
            return
        quantized = element_type(op.result.type)
        if isinstance(quantized, UniformQuantizedType) and is_exact_round_trip(quantized):
            rewriter.replace(op, [], [inner.input])


ENUMERATED_BITS = 16
"""The maximum width, in bits, of types whose values are checked exhaustively."""


def _dequantized(value: SSAValue) -> tuple[SSAValue, UniformQuantizedType] | None:
    """Returns the stored operand of a dequantize cast and its type, if its values are few enough to enumerate."""
    if not isinstance(value.owner, DequantizeCastOp):
        return None
    stored = value.owner.input
    element = element_type(stored.type)
    if not isinstance(element, UniformQuantizedType) or element.bits > ENUMERATED_BITS:
        return None
    return (stored, element) if element.granularity is Granularity.TENSOR else None


def _rescaled(value: SSAValue) -> tuple[SSAValue, SSAValue, UniformQuantizedType, UniformQuantizedType] | None:
    """Matches `dcast(qcast(dcast(x)))`; returns the inner float, `x`, the type of `x`, and the intermediate type."""
    if not isinstance(value.owner, DequantizeCastOp) or not isinstance(value.owner.input.owner, QuantizeCastOp):
        return None
    between = element_type(value.owner.input.type)
    real = value.owner.input.owner.input
    source = _dequantized(real)
    if source is None or not isinstance(between, UniformQuantizedType):
        return None
    return (real, *source, between) if between.granularity is Granularity.TENSOR else None


@lru_cache(maxsize=1024)
def is_kept(
    source: UniformQuantizedType, between: UniformQuantizedType, target: UniformQuantizedType | None, *, is_inside: bool
) -> bool:
    """Returns whether a rescale to `between` leaves every value of `source` unchanged.

    Values are compared as floats or, with `target`, as integers after quantization to that type. `is_inside` restricts
    the check to values inside the limits of the type, rather than all that its storage holds.
    """
    low, high = (source.storage_min, source.storage_max) if is_inside else storage_limits(source.storage)
    reals = dequantize(np.arange(low, high + 1).astype(storage_dtype(source)), source)
    if not np.isfinite(reals).all():
        return False
    passed = dequantize(quantize(reals, between), between)
    if target is not None and np.isfinite(passed).all():
        reals, passed = quantize(reals, target), quantize(passed, target)
    return passed.tobytes() == reals.tobytes()


def _nowhere(value: SSAValue) -> bool:
    return False


@dataclass(frozen=True)
class FoldExactRescale(RewritePattern):
    """Folds `dcast(qcast(dcast(x))) -> dcast(x)` if the intermediate type represents all values of `x`.

    `is_inside` returns whether a value is known to be within the limits of its type.
    """

    is_inside: Callable[[SSAValue], bool] = _nowhere

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DequantizeCastOp, rewriter: PatternRewriter, /) -> None:
        found = _rescaled(op.result)
        if found is None or found[0].type != op.result.type:
            return
        real, stored, source, between = found
        if is_kept(source, between, None, is_inside=self.is_inside(stored)):
            rewriter.replace(op, [], [real])


@dataclass(frozen=True)
class FoldRescaleChain(RewritePattern):
    """Folds `qcast(dcast(qcast(dcast(x)))) -> qcast(dcast(x))` if this never changes the integer."""

    is_inside: Callable[[SSAValue], bool] = _nowhere

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        found, target = _rescaled(op.input), element_type(op.result.type)
        if found is None or not isinstance(target, UniformQuantizedType) or found[0].type != op.input.type:
            return
        real, stored, source, between = found
        is_tensor = target.granularity is Granularity.TENSOR
        if is_tensor and is_kept(source, between, target, is_inside=self.is_inside(stored)):
            op.operands[0] = real
            rewriter.handle_operation_modification(op)


class FoldStorageCastPair(RewritePattern):
    """Folds `scast(scast(x)) -> x` if the types of `x` and the result match: a storage cast changes no values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StorageCastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, StorageCastOp) and inner.input.type == op.result.type:
            rewriter.replace(op, [], [inner.input])


RESCALES: tuple[RewritePattern, ...] = (FoldRequantizeOfDequantized(), FoldExactRescale(), FoldRescaleChain())
"""Patterns that fold repeated quantizations."""

PATTERNS: tuple[RewritePattern, ...] = (*RESCALES, FoldStorageCastPair())
