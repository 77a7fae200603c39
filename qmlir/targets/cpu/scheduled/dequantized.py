"""Constant weights of a matrix that an operation dequantizes: the integers and the scales of what it computes."""

import math
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, f32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.kernel.lowering.lowering import constant_array
from qmlir.dialects.kernel.ops import shaped
from qmlir.ir.builtin_types import as_integer
from qmlir.text.elements import integers_of

_BITS = (2, 4, 8)
"""Of the weights that loops make floats of: `f32s2` and so on."""


@dataclass(frozen=True)
class DequantizedWeights:
    """Constant weights `[N, K]` that are integers times a scale for each block of `block` terms: `[blocks, N]`."""

    integers: Array
    scales: Array
    block: int

    @property
    def bits(self) -> int | None:
        """The fewest bits that hold the integers, of those that loops take."""
        low, high = int(self.integers.min()), int(self.integers.max())
        fitting = (bits for bits in _BITS if integer_limits(bits)[0] <= low and high <= integer_limits(bits)[1])
        return next(fitting, None)

    def reals(self) -> Array:
        """The weights themselves in f32, each rounded once."""
        scales = np.repeat(self.scales.T, self.block, axis=1)
        return np.asarray(scales * self.integers.astype(np.float32), np.float32)


def _constant(value: SSAValue) -> Array | None:
    return constant_array(value.owner) if isinstance(value.owner, Operation) else None


def _read(op: GenericOp, place: int) -> Array | None:
    """The elements of a constant input as `op` reads them for each element of its result; `None` for another input."""
    known, shape = _constant(op.inputs[place]), shaped(op.results[0])[0]
    dims = [each.position for each in op.indexing_maps.data[place].data.results if isinstance(each, AffineDimExpr)]
    if known is None or len(dims) != known.ndim or len({*dims}) != len(dims):
        return None
    sizes = [shape[axis] if axis in dims else 1 for axis in range(len(shape))]
    return np.broadcast_to(known.transpose(np.argsort(dims)).reshape(sizes), shape)


def _zero_points(op: GenericOp, step: Operation, value: SSAValue) -> Array | None:
    """What `step` takes off `value`: one constant, or one for each weight."""
    if not isinstance(step, arith.SubiOp) or step.lhs is not value:
        return None
    if len(op.inputs) == 3:
        return _read(op, 1) if step.rhs is op.body.block.args[1] else None
    number = step.rhs.owner.value if isinstance(step.rhs.owner, arith.ConstantOp) else None
    return np.array(number.value.data) if isinstance(number, IntegerAttr) else None


def _integers(op: GenericOp) -> Array | None:
    """The integers of a body `scale * f32(extended - zero)`, without their zero point."""
    block = op.body.block
    first, *steps = (each for each in block.ops if not isinstance(each, arith.ConstantOp))
    known, element = _read(op, 0), as_integer(shaped(op.inputs[0])[1])
    if (
        known is None
        or element is None
        or not known.size
        or not first.operands
        or first.operands[0] is not block.args[0]
    ):
        return None
    value = block.args[0]
    if isinstance(first, arith.ExtUIOp | arith.ExtSIOp):
        value = first.results[0]
    else:
        steps = [first, *steps]
    zero_points = np.array(0)
    if len(steps) == 4:
        found = _zero_points(op, steps[0], value)
        if found is None:
            return None
        zero_points, value, steps = found, steps[0].results[0], steps[1:]
    if len(steps) != 3 or not isinstance(steps[2], YieldOp):
        return None
    number, product, last = steps
    is_real = isinstance(number, arith.SIToFPOp) and number.input is value and isinstance(product, arith.MulfOp)
    if not is_real or set(product.operands) != {block.args[len(op.inputs) - 1], *number.results}:
        return None
    if last.operands[0] is not product.results[0] or product.results[0].type != f32:
        return None
    wide = integers_of(known, element, is_unsigned=isinstance(first, arith.ExtUIOp))
    return wide - zero_points.astype(np.int64)


def dequantized_weights(value: SSAValue) -> DequantizedWeights | None:
    """What `value` is dequantized from, where it is that."""
    op = value.owner
    if not isinstance(op, GenericOp) or len(op.inputs) not in (2, 3) or len(shaped(value)[0]) != 2:
        return None
    if op.indexing_maps.data[-1].data != AffineMap.identity(2):
        return None
    if any(kind.data is not IteratorType.PARALLEL for kind in op.iterator_types):
        return None
    scales = _read(op, len(op.inputs) - 1)
    integers = None if scales is None else _integers(op)
    if scales is None or integers is None:
        return None
    changes = np.flatnonzero((scales[:, 1:] != scales[:, :-1]).any(axis=0)) + 1
    block = math.gcd(scales.shape[1], *changes.tolist())
    return DequantizedWeights(integers, np.ascontiguousarray(scales[:, ::block].T, np.float32), block)
