"""Canonicalization of casts: only what changes no number.

Upstream folds `dcast(qcast(x))` to `x`, which erases the rounding; we keep it.
"""

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits


def is_exact_round_trip(quantized: UniformQuantizedType) -> bool:
    """Whether quantizing what was dequantized gives back every integer that the storage can hold.

    A type that narrows its storage range, such as `i8<-127:127>`, is refused: a storage cast may bring -128 into it,
    which a quantization saturates.

    With n = stored - zero_point the product n * scale has a relative error of at most 2^-24 in f32, the quotient
    another 2^-24, so the quotient is within |n| * 2^-22.9 of n and rounds to n while |n| <= 2^21. A product that is
    subnormal is exact (a multiple of the smallest subnormal) where the scale is subnormal, and off by half of that
    at most otherwise, which the quotient takes below 1/2 as well; one that overflows is not exact. For f64 the same
    holds with 29 bits more, which covers every storage type.
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
    """`qcast(dcast(x)) -> x` where both casts have one type and its round trip is exact."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, DequantizeCastOp) or inner.input.type != op.result.type:
            return
        quantized = element_type(op.result.type)
        if isinstance(quantized, UniformQuantizedType) and is_exact_round_trip(quantized):
            rewriter.replace(op, [], [inner.input])


class FoldStorageCastPair(RewritePattern):
    """`scast(scast(x)) -> x` where the types meet again: a storage cast changes no number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StorageCastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, StorageCastOp) and inner.input.type == op.result.type:
            rewriter.replace(op, [], [inner.input])


PATTERNS: tuple[RewritePattern, ...] = (FoldRequantizeOfDequantized(), FoldStorageCastPair())
