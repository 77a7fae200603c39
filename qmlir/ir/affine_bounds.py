"""What values an affine expression takes over a box of dimensions: bounds, and whether it stays inside an axis."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr


def bounds_of(expression: AffineExpr, ranges: Sequence[int]) -> tuple[int, int]:
    """A lower and an upper bound of an expression whose dimensions run from 0 to below `ranges`."""
    match expression:
        case AffineConstantExpr():
            return expression.value, expression.value
        case AffineDimExpr():
            return 0, max(ranges[expression.position] - 1, 0)
        case AffineBinaryOpExpr():
            a, b = bounds_of(expression.lhs, ranges), bounds_of(expression.rhs, ranges)
            match expression.kind:
                case AffineBinaryOpKind.Add:
                    return a[0] + b[0], a[1] + b[1]
                case AffineBinaryOpKind.Mul:
                    products = [x * y for x in a for y in b]
                    return min(products), max(products)
                case AffineBinaryOpKind.Mod:
                    return 0, b[1] - 1
                case AffineBinaryOpKind.FloorDiv:
                    return a[0] // b[0], a[1] // b[0]
                case AffineBinaryOpKind.CeilDiv:
                    return -(-a[0] // b[0]), -(-a[1] // b[0])
        case _:
            raise NotImplementedError(f"{expression} has symbols")


_MOST_POINTS = 1 << 22
"""Points at which an expression is computed one by one."""


def lies_outside(expression: AffineExpr, ranges: Sequence[int], size: int) -> bool:
    """Whether an expression whose dimensions run from 0 to below `ranges` leaves 0 to below `size` somewhere.

    Bounds decide most; those of a remainder or of a difference may be too wide, and then every point does. Where there
    are too many, nothing is known: it is taken for inside.
    """
    low, high = bounds_of(expression, ranges)
    if 0 in ranges or (low >= 0 and high < size):
        return False
    used = sorted(expression.used_dims())
    if math.prod(ranges[axis] for axis in used) > _MOST_POINTS:
        return False
    # An expression of NumPy arrays is computed as one of numbers is.
    grid: Any = np.ix_(*(np.arange(ranges[axis]) for axis in used))
    places: dict[int, Any] = dict(zip(used, grid, strict=True))
    values = np.asarray(expression.eval([places.get(axis, 0) for axis in range(len(ranges))], ()))
    return bool((values < 0).any() or (values >= size).any())
