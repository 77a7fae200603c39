"""Sums that stay in the highest bits: an epilogue that takes them some powers of two too large gives the same bits.

Weights of few bits are multiplied where they are the highest bits of bytes. A bias that is as many times too large, and
a scale that is as many times too small, save the shift of each sum, and let sums begin with the bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

Array = npt.NDArray[Any]

_LARGEST_INPUT = 255
"""What loops over such weights read: bytes without a sign."""


@dataclass(frozen=True)
class ScaledSum:
    """The beginning of an epilogue: a bias is added to the sum, and what a float says is multiplied by a scale."""

    block: Block
    bias: int
    scale: int
    """The epilogue operands."""

    def shift(self, spare: int) -> None:
        """Let the body take the sum `2^spare` times as large."""
        builder, sums = Builder(InsertPoint.at_start(self.block)), self.block.args[0]
        count = builder.insert(arith.ConstantOp.from_int_and_width(spare, i32))
        shifted = builder.insert(arith.ShLIOp(sums, count.result))
        sums.replace_uses_with_if(shifted.result, lambda use: use.operation is not shifted)


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _operand_beside(op: arith.AddiOp | arith.MulfOp, value: SSAValue, block: Block) -> int | None:
    """The number of the epilogue operand that `op` takes beside `value`, and nothing else takes."""
    other = op.rhs if op.lhs is value else op.lhs
    if not isinstance(other, BlockArgument) or other.block is not block or _only_user(other) is not op:
        return None
    return other.index - 1


def scaled_sum_of(block: Block) -> ScaledSum | None:
    """How an epilogue begins, where it does so."""
    sums = block.args[0]
    addition = _only_user(sums)
    if not isinstance(addition, arith.AddiOp):
        return None
    conversion = _only_user(addition.result)
    if not isinstance(conversion, arith.SIToFPOp) or conversion.result.type != f32:
        return None
    product = _only_user(conversion.result)
    if not isinstance(product, arith.MulfOp):
        return None
    bias, scale = _operand_beside(addition, sums, block), _operand_beside(product, conversion.result, block)
    return None if bias is None or scale is None else ScaledSum(block, bias, scale)


def shifted_bias(bias: Array, weights: Sequence[Array], spare: int) -> Array | None:
    """The bias `2^spare` times as large, `None` where a sum of a channel with it may not fit 32 bits then."""
    limit = 1 << (31 - spare)
    for start, channel in zip(bias.astype(np.int64), weights, strict=True):
        terms = channel.astype(np.int64)
        low, high = (_LARGEST_INPUT * int(part.sum()) for part in (np.minimum(terms, 0), np.maximum(terms, 0)))
        if start + low < -limit or start + high >= limit:
            return None
    return (bias.astype(np.int64) << spare).astype(bias.dtype)


def shifted_scale(scale: Array, spare: int) -> Array | None:
    """The scale `2^spare` times as small, `None` where it is not a number of full precision then."""
    small = np.ldexp(scale, -spare).astype(scale.dtype)
    is_normal = np.isfinite(scale) & ((np.abs(small) >= np.finfo(scale.dtype).tiny) | (scale == 0))
    return small if bool(is_normal.all()) else None
