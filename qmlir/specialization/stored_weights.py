"""Weights that stay in their storage type and are dequantized inside the loops that use them."""

import math

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, Use

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType, UniformType
from qmlir.ir.builtin_types import element_of, shape_of

_LEAST, _BYTE = 8, 4
"""The smallest block size for which loops convert weights, and the maximum number of weights in a byte."""

_FEWEST = 4096
"""The minimum number of low-precision float weights that stay stored in contractions with more than one row.

Fewer weights take at most 16 KB as f32, which is no more than the code that converts them: 144 windows of 3x3 take
156 us in f32 and 197 us in f8E4M3 (28x28, a Xeon with AVX512-VNNI).
"""


def stays_stored(op: Operation) -> bool:
    """Returns True if `op` dequantizes constant weights that loops should convert to floats each time they run.

    This holds for low-precision floats (8 bits or fewer) as weights of a contraction: they take a quarter or an eighth
    of the memory of f32. It also holds for integer weights that are multiplied by a single row, since such a
    contraction is memory-bound: 1x2048x2048 with 4-bit weights (block size 32) takes 193 us, compared with 292 us in
    f32 (Zen 4); with cold caches, 280 and 606 us. With more rows, each weight is used more often, and converting once
    to f32 is faster.
    """
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp) or not op.result.uses:
        return False
    type_, shape = element_type(op.input.type), shape_of(op.input)
    if element_of(op.result) != f32:
        return False
    if isinstance(type_, UniformFloatType):
        is_large = math.prod(shape) >= _FEWEST
        return all((is_large and _is_weight(use)) or _is_row(use, type_, shape) for use in op.result.uses)
    if not isinstance(type_, UniformQuantizedType) or not _is_byte(type_):
        return False
    return all(_is_row(use, type_, shape) for use in op.result.uses)


def _is_byte(type_: UniformQuantizedType) -> bool:
    """Returns True if a signed byte holds every stored value minus its zero point."""
    low, high = integer_limits(8)
    lowest, highest = type_.storage_min - np.max(type_.zero_points), type_.storage_max - np.min(type_.zero_points)
    return bool(low <= lowest and highest <= high)


def _is_weight(use: Use) -> bool:
    """Returns True if the use is the weight operand of a contraction."""
    return use.index == 1 and isinstance(use.operation, ConvOp | FullyConnectedOp | MatMulOp)


def _is_row(use: Use, type_: UniformType, shape: tuple[int, ...]) -> bool:
    """Returns True if a single row is multiplied by these weights, and loops can sum them block by block."""
    op = use.operation
    if not _is_weight(use) or not isinstance(op, MatMulOp | FullyConnectedOp) or len(shape) != 2:
        return False
    axis = 1 if isinstance(op, FullyConnectedOp) or op.is_rhs_transposed else 0
    row = shape_of(op.operands[0])
    blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
    block = shape[axis] if type_.granularity is Granularity.TENSOR else blocks.get(axis, shape[axis])
    return len(row) > 1 and math.prod(row[:-1]) == 1 and block >= _LEAST and block % _BYTE == 0
