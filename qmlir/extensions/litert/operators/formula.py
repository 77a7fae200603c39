"""`NodeFormula`: the arithmetic of an operator, written as elementwise operations on plain values."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.requantization import FRACTION_BITS, fixed_point
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.extensions.litert.node import LiteNode
from qmlir.ir.builtin_types import element_of


class NodeFormula:
    """Adds elementwise operations to a node; numbers become constants."""

    def __init__(self, node: LiteNode):
        self.node = node

    def constant(self, number: float, element: Attribute = f32) -> SSAValue:
        """Adds a scalar constant."""
        return self.node.add_constant(np.asarray(number, self.node.graph.dtype_of(element)), element)

    def __call__(self, operation: type[NnOp], *values: SSAValue | float) -> SSAValue:
        """Adds an operation; numbers become constants of the type of the first value."""
        like = next(value for value in values if isinstance(value, SSAValue))
        element = element_of(like)
        operands = [each if isinstance(each, SSAValue) else self.constant(each, element) for each in values]
        return self.node.add(operation, *operands).results[0]

    def clip(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """Clamps to `[low, high]`."""
        return self.node.add(elementwise.ClipOp, value, minimum=float(low), maximum=float(high)).result

    def rounded_away(self, value: SSAValue) -> SSAValue:
        """Rounds to the nearest integer, ties away from zero. All differences are exact."""
        size = self(elementwise.AbsOp, value)
        whole = self(elementwise.FloorOp, size)
        is_up = self(elementwise.GreaterOrEqualOp, self(elementwise.SubOp, size, whole), 0.5)
        element = element_of(value)
        rounded = self(elementwise.AddOp, whole, self.node.cast(is_up, element))
        return self(elementwise.MulOp, rounded, self(elementwise.SignOp, value))

    def chosen(self, condition: SSAValue, yes: SSAValue | float, no: SSAValue) -> SSAValue:
        """Selects elements of `yes` or `no` by a condition."""
        if not isinstance(yes, SSAValue):
            yes = self.constant(yes, element_of(no))
        return self.node.add(elementwise.WhereOp, condition, yes, no).result

    def limits(self, value: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
        """Returns the minimum and the maximum along axes, at most and at least 0."""
        low = self.node.add(reduction.ReduceMinOp, value, axes=list(axes)).results[0]
        high = self.node.add(reduction.ReduceMaxOp, value, axes=list(axes)).results[0]
        return self(elementwise.MinOp, low, 0.0), self(elementwise.MaxOp, high, 0.0)

    def rescaled(self, value: SSAValue, ratio: float) -> SSAValue:
        """Multiplies integers in f64, below 2^21, by a ratio of at most 1/2 as LiteRT's fixed-point kernels do.

        This is `MultiplyByQuantizedMultiplier`: the product with a multiplier of 31 bits is rounded half up, and then
        shifted, with ties away from zero. All intermediate numbers are exact in f64.
        """
        multiplier, shift = fixed_multiplier(ratio)
        product = self(elementwise.AddOp, self(elementwise.MulOp, value, float(multiplier)), 2.0**30)
        high = self(elementwise.FloorOp, self(elementwise.MulOp, product, 2.0**-FRACTION_BITS))
        return high if shift == 0 else self.rounded_away(self(elementwise.MulOp, high, 2.0**-shift))


def fixed_multiplier(ratio: float) -> tuple[int, int]:
    """Returns the multiplier of 31 bits and the right shift after the upper half of the product."""
    multiplier, shift = fixed_point(ratio)
    return int(multiplier), int(shift) - FRACTION_BITS
