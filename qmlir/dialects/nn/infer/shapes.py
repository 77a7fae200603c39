"""How many numbers a range has."""

import math


def range_size(start: float, limit: float, delta: float) -> int:
    """How many numbers `start, start + delta, …` has before `limit`. Raises `ZeroDivisionError` for a step of 0."""
    if all(isinstance(number, int) for number in (start, limit, delta)):
        return max(-int(-(limit - start) // delta), 0)
    return max(math.ceil((limit - start) / delta), 0)
