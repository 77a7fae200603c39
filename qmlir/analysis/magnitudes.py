"""How large the floats of a body may become: bounds from integers that are bounded and from constants."""

import math as python_math
from functools import reduce

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from qmlir.analysis.contraction_ranges import constant_of
from qmlir.analysis.value_ranges import ValueRanges
from qmlir.dialects.kernel.contraction import EpilogueOp

_ROUNDING = 1 + float(np.finfo(np.float32).eps)
"""Twice what the rounding of an operation adds in f32, or in a wider type; f64 computes the bounds."""


class Magnitudes:
    """The largest magnitudes of values of one function; infinite where nothing is known."""

    def __init__(self, ranges: ValueRanges):
        self.ranges = ranges

    def of_integer(self, value: SSAValue) -> float:
        """That of an integer."""
        return float(max(map(abs, self.ranges[value].values)))

    def of_float(self, value: SSAValue) -> float:
        """That of a float."""
        if isinstance(value, BlockArgument):
            return _of_operand(value)
        return self._of_result(value.owner) if isinstance(value.owner, Operation) else python_math.inf

    def _of_result(self, op: Operation) -> float:
        match op:
            case arith.ConstantOp(value=FloatAttr() as constant):
                number = abs(float(constant.value.data))
                return python_math.inf if python_math.isnan(number) else number
            case arith.SIToFPOp():
                return self.of_integer(op.input) * _ROUNDING
            case arith.MulfOp():
                return self._product(op.lhs, op.rhs)
            case arith.AddfOp() | arith.SubfOp():
                return (self.of_float(op.lhs) + self.of_float(op.rhs)) * _ROUNDING
            case math.FmaOp():
                return (self._product(op.a, op.b) + self.of_float(op.c)) * _ROUNDING
            case math.RoundEvenOp():
                return self.of_float(op.operand) + 1
            case _:
                return python_math.inf

    def _product(self, *values: SSAValue) -> float:
        found = [self.of_float(value) for value in values]
        return python_math.inf if python_math.inf in found else reduce(float.__mul__, found) * _ROUNDING


def _of_operand(argument: BlockArgument) -> float:
    """That of an epilogue operand, which may be a constant."""
    block: Block = argument.block
    op = block.parent_op()
    if not isinstance(op, EpilogueOp) or argument.index == 0:
        return python_math.inf
    known = constant_of(op.epilogue[argument.index - 1])
    if known is None or known.dtype.kind != "f" or not np.isfinite(known).all():
        return python_math.inf
    return float(np.abs(known).max(initial=0.0))
