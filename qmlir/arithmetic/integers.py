"""Integers of so many bits: what they may be, and what others are modulo their width."""


def integer_limits(bits: int, *, is_signed: bool = True) -> tuple[int, int]:
    """The smallest and the largest integer of `bits` bits; one signed bit holds -1 and 0."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)


def wrapped(number: int, bits: int, *, is_signed: bool = True) -> int:
    """The integer of `bits` bits that equals `number` modulo `2^bits`."""
    low, _ = integer_limits(bits, is_signed=is_signed)
    return (number - low) % (1 << bits) + low
