"""What products of few terms make too much of: the rounding of 8 bits, which they leave larger than it was.

A product of many terms averages the rounding of its data out, and its result grows with the data. A depthwise
convolution has nine terms of one channel, and where its kernel takes differences of neighbours, or its channel is far
smaller than the range of them all, what comes out is hardly larger than the rounding of what went in. How large both
are is known: the scale of the data and the weights give the one, the recorded deviation of the result the other.
"""

import math
from collections.abc import Set

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.contraction import ConvOp
from qmlir.dialects.nn.ops.elementwise import BinaryOp, UnaryOp
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.observed import observed
from qmlir.quantization.residual import computed_operands

_LEVELS = 256

ENOUGH = 30.0
"""How far a result has to be above the rounding of its data, in decibels: as far as a layer in 8 bits is."""


def depthwise(function: FuncOp) -> Set[Operation]:
    """The depthwise convolutions of `function` with constant weights: products of so few terms that errors add up.

    A channel's rounded weights shift the mean of its result, and no other channel makes up for that.
    """
    return {op for op in function.walk() if isinstance(op, ConvOp) and _is_depthwise(op)}


def _is_depthwise(op: ConvOp) -> bool:
    weights = constant_array(op.weight)
    return weights is not None and weights.ndim >= 3 and weights.shape[1] == 1 and op.group_count != 1


def amplifying(function: FuncOp) -> Set[Operation]:
    """The depthwise convolutions of `function` whose results are below 30 dB over the rounding of their data."""
    return {op for op in function.walk() if isinstance(op, ConvOp) and _amplifies(op)}


# Rounding to steps of s adds noise with the mean square s^2 / 12 to each number, independently. A channel of the result
# has that times the sum of its squared weights; the mean is over channels, as the recorded deviation is.
def _amplifies(op: ConvOp) -> bool:
    weights, data, result = constant_array(op.weight), observed(op.data), observed(op.result)
    if weights is None or not _is_depthwise(op) or data is None or result is None or result.statistics is None:
        return False
    step = (max(data.maximum, 0.0) - min(data.minimum, 0.0)) / (_LEVELS - 1)
    noise = step**2 / 12 * float(np.square(weights, dtype=np.float64).sum()) / len(weights)
    signal = result.statistics.deviation**2
    return signal > 0 and noise > 0 and 10 * math.log10(signal / noise) < ENOUGH


def amplified_results(function: FuncOp) -> Set[Operation]:
    """What computes the data of such convolutions in `function`, from products on: elementwise, of one value each."""
    found: set[Operation] = set()
    todo: list[SSAValue] = [op.operands[0] for op in amplifying(function)]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        found.add(op)
        operands = computed_operands(op)
        if isinstance(op, UnaryOp | BinaryOp) and len(operands) == 1:
            todo += operands
    return found
