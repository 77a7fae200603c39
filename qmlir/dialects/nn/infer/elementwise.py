"""Shapes of elementwise operations: NumPy's broadcasting, with sizes that may be unknown."""

from collections.abc import Sequence
from itertools import zip_longest

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException


def _broadcast_size(left: int, right: int) -> int:
    if left == 1:
        return right
    if right == 1 or left == right:
        return left
    if DYNAMIC_INDEX in (left, right):
        # The unknown size is 1 or the known one; either way the result has the known one.
        return max(left, right)
    raise VerifyException(f"sizes {left} and {right} cannot be broadcast")


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to together."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        pairs = zip_longest(reversed(result), reversed(shape), fillvalue=1)
        result = tuple(_broadcast_size(left, right) for left, right in pairs)[::-1]
    return result
