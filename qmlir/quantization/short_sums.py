"""Which terms of a contraction are one sum in 16 bits, in the order in which loops over bytes read them.

A step of such loops takes four terms that lie beside each other, of which two neighbours are one sum; the same places
of some steps may be added to it before it is widened. Data is channels-last: the terms of a convolution are the
channels of one tap after the other, and taps along the last axis lie beside each other where nothing is between them.
What is packed in another order after all is not proven to fit, and takes other loops (`qmlir.analysis.short_sums`).
"""

import math

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.short_rounding import NEIGHBOURS
from qmlir.dialects.nn.ops import contraction as ops
from qmlir.dialects.nn.ops.movement import ReshapeOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.ir.builtin_types import shape_of
from qmlir.quantization.rounded_weights import RoundedWeight

STEPS = (1, 2, 4)
"""How many steps there are loops for."""

_GROUP, _BITS = 4, 8

_TRANSFORMED = 8
"""The channels from which on convolutions by windows of 3 along each axis are computed by Winograd's algorithms."""


def sums_of_terms(op: Operation, steps: int) -> Array:
    """The number of the sum of each term of a row of the weights of `op`, `[terms]`, where `steps` steps are added."""
    if not isinstance(op, ops.ConvOp):
        assert isinstance(op, ops.FullyConnectedOp | ops.MatMulOp)
        is_rows = isinstance(op, ops.FullyConnectedOp) or op.is_rhs_transposed
        terms = shape_of(op.operands[1])[1 if is_rows else 0]
        # An image that was made one row lies in memory with its channels last, and so do the weights of the row.
        return _sums_of_runs(1, terms, steps)[_channels_last(op.operands[0], terms)]
    _, depth, *taps = shape_of(op.weight)
    last = taps[-1] if op.group_count == 1 and op.windows.dilations[-1] == 1 else 1
    found = _sums_of_runs(math.prod(taps) // last, last * depth, steps)
    return np.moveaxis(found.reshape(*taps, depth), -1, 0).reshape(-1)


def _channels_last(row: SSAValue, terms: int) -> Array:
    """Where each of so many elements of a row lies: an image `[N, C, H, W]` that was reshaped has channels last."""
    owner = row.owner
    shape = shape_of(owner.operands[0]) if isinstance(owner, ReshapeOp) else ()
    if len(shape) < 4 or math.prod(shape[1:]) != terms or DYNAMIC_INDEX in shape[1:]:
        return np.arange(terms)
    return np.moveaxis(np.arange(terms).reshape(*shape[2:], shape[1]), -1, 0).reshape(-1)


def _sums_of_runs(runs: int, terms: int, steps: int) -> Array:
    """The same of runs of terms that lie beside each other."""
    each = _GROUP // NEIGHBOURS
    place = np.arange(terms)
    own = place // (_GROUP * steps) * each + place % _GROUP // NEIGHBOURS
    return (np.arange(runs)[:, None] * (int(own.max(initial=-1)) + 1) + own).reshape(-1)


def may_be_short(weight: RoundedWeight, *, windows: bool) -> bool:
    """Whether loops over bytes take `weight`, whose data are bytes; with `windows` also for those that do so by no
    choice of ours: windows of 3 along each axis that move by 1."""
    op, data = weight.readers[0][0], quantized_type(weight.rows.data)
    if not isinstance(op, ops.ConvOp | ops.FullyConnectedOp | ops.MatMulOp) or data is None:
        return False
    is_of_bytes = data.bits == _BITS and weight.element.bits <= _BITS
    if not is_of_bytes or not isinstance(op, ops.ConvOp):
        return is_of_bytes
    outputs, depth, *taps = shape_of(op.weight)
    if depth == 1 and op.group_count > 1:
        return False
    is_transformed = {*taps} == {3} and {*op.windows.strides, *op.windows.dilations, op.group_count} == {1}
    return windows or not is_transformed or min(outputs, depth) < _TRANSFORMED
