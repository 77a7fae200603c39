"""Weights that stay stored: constants that data are multiplied by as they are dequantized."""

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
"""The terms of a block from which on loops widen its weights, and how many there may be in a byte."""

_FEWEST = 4096
"""Weights of small floats from which on they stay for other products than those of one row.

As f32, 16 KB, fewer take no more than the code that makes floats of them: 144 windows of 3x3 take 156 us so, and 197 in
f8E4M3 (28x28, a Xeon with AVX512-VNNI).
"""


def stays_stored(op: Operation) -> bool:
    """Whether `op` dequantizes constant weights which loops make floats of, each time that they run.

    Floats of 8 bits and fewer do, as weights of a product or a convolution: a quarter of the memory of f32, or an
    eighth. Integers do as weights of one row, which waits for memory: 1x2048x2048 with 4 bits in blocks of 32 takes 193
    us, in f32 292 (Zen 4), and 280 and 606 with caches that other memory has filled. More rows use each weight more
    often, and get them as f32 once.
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
    """Whether a byte holds every number less its zero point."""
    low, high = integer_limits(8)
    lowest, highest = type_.storage_min - np.max(type_.zero_points), type_.storage_max - np.min(type_.zero_points)
    return bool(low <= lowest and highest <= high)


def _is_weight(use: Use) -> bool:
    """Whether it is what data is multiplied by."""
    return use.index == 1 and isinstance(use.operation, ConvOp | FullyConnectedOp | MatMulOp)


def _is_row(use: Use, type_: UniformType, shape: tuple[int, ...]) -> bool:
    """Whether one row is multiplied by weights of a type, in whose blocks loops sum."""
    op = use.operation
    if not _is_weight(use) or not isinstance(op, MatMulOp | FullyConnectedOp) or len(shape) != 2:
        return False
    axis = 1 if isinstance(op, FullyConnectedOp) or op.is_rhs_transposed else 0
    row = shape_of(op.operands[0])
    blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
    block = shape[axis] if type_.granularity is Granularity.TENSOR else blocks.get(axis, shape[axis])
    return len(row) > 1 and math.prod(row[:-1]) == 1 and block >= _LEAST and block % _BYTE == 0
