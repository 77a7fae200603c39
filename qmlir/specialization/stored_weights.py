"""Weights that stay stored: constants that one row is multiplied by as they are dequantized."""

import math

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, Use

from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.contraction import FullyConnectedOp, MatMulOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.integers import same_integers
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of

_LEAST, _BYTE = 8, 4
"""The terms of a block from which on loops widen its weights, and how many there may be in a byte."""


def stays_stored(op: Operation) -> bool:
    """Whether `op` dequantizes constant weights of one row, which loops widen in registers.

    They wait for memory, of which f32 has four times as many bytes: 1x2048x2048 with 4 bits in blocks of 32 takes 193
    us, in f32 292 (Zen 4), and 280 and 606 with caches that other memory has filled. With 64 rows of 512x512 they take
    525 us and 298: there the weights become f32 once.
    """
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp):
        return False
    type_, shape = element_type(op.input.type), shape_of(op.input)
    if isinstance(type_, UniformFloatType):
        found = same_integers(type_)
        type_ = None if found is None else found[0]
    if not isinstance(type_, UniformQuantizedType) or len(shape) != 2 or element_of(op.result) != f32:
        return False
    low, high = integer_limits(8)
    is_byte = type_.storage_min - np.max(type_.zero_points) >= low
    is_byte &= type_.storage_max - np.min(type_.zero_points) <= high
    return bool(is_byte) and bool(op.result.uses) and all(_is_row(use, type_, shape) for use in op.result.uses)


def _is_row(use: Use, type_: UniformQuantizedType, shape: tuple[int, ...]) -> bool:
    """Whether one row is multiplied by weights of a type, in whose blocks loops sum."""
    op = use.operation
    if not isinstance(op, MatMulOp | FullyConnectedOp) or use.index != 1:
        return False
    axis = 1 if isinstance(op, FullyConnectedOp) or op.is_rhs_transposed else 0
    row = shape_of(op.operands[0])
    blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
    block = shape[axis] if type_.granularity is Granularity.TENSOR else blocks.get(axis, shape[axis])
    return len(row) > 1 and math.prod(row[:-1]) == 1 and block >= _LEAST and block % _BYTE == 0
