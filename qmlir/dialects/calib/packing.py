"""Statistics as bytes: what `#calib.stats` holds besides its readable fields, exact and compact.

Whole numbers of any size take seven bits a byte, negative ones folded between the positive; a run of empty bins of the
histogram is a zero and its length. Floats are f64, least byte first.
"""

import struct
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from qmlir.arithmetic.histogram import Histogram
from qmlir.arithmetic.moments import Moments, dyadic_from_list, dyadic_to_list
from qmlir.arithmetic.statistics import BatchRanges

FORMAT = 1
"""The first byte: what the others mean."""

_LARGEST_EXPONENT = 1 << 13
"""Denominators of sums of squares of f64 are at most 2^2148; a larger one is not statistics."""

_FLOAT = struct.Struct("<d")

_KEPT = 4096
"""Statistics that `unpack` keeps: those of a large model, each of a few kilobytes."""


@dataclass
class _Writer:
    data: bytearray = field(default_factory=bytearray)

    def whole(self, number: int) -> None:
        while number >= 0x80:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def signed(self, number: int) -> None:
        self.whole(2 * number if number >= 0 else -2 * number - 1)

    def real(self, number: float) -> None:
        self.data += _FLOAT.pack(number)

    def fraction(self, number: Fraction) -> None:
        numerator, exponent = dyadic_to_list(number)
        self.signed(numerator)
        self.whole(exponent)


@dataclass
class _Reader:
    data: bytes
    place: int = 0

    def whole(self) -> int:
        first = self.data[self.place]
        if first < 0x80:  # most counts of a histogram are one byte
            self.place += 1
            return first
        end = self.place
        while self.data[end] & 0x80:
            end += 1
        number = 0
        for byte in reversed(self.data[self.place : end + 1]):
            number = number << 7 | byte & 0x7F
        self.place = end + 1
        return number

    def signed(self) -> int:
        folded = self.whole()
        return -(folded + 1 >> 1) if folded & 1 else folded >> 1

    def real(self) -> float:
        (number,) = _FLOAT.unpack_from(self.data, self.place)
        self.place += _FLOAT.size
        return number

    def fraction(self) -> Fraction:
        numerator, exponent = self.signed(), self.whole()
        if exponent > _LARGEST_EXPONENT:
            raise ValueError(f"a sum has the denominator 2^{exponent}")
        return dyadic_from_list([numerator, exponent])


def pack(moments: Moments, histogram: Histogram, batches: BatchRanges | None) -> bytes:
    """What `unpack` reads. The count of the moments is a readable field, and left out."""
    writer = _Writer()
    writer.data.append(FORMAT)
    writer.whole(moments.zeros)
    for total in (moments.total, moments.sizes, moments.squares):
        writer.fraction(total)
    writer.whole(histogram.bins)
    writer.signed(histogram.exponent)
    writer.signed(histogram.first)
    writer.whole(histogram.counts.size)
    empty = 0
    for count in histogram.counts.tolist():
        if count == 0:
            empty += 1
            continue
        if empty:
            writer.whole(0)
            writer.whole(empty)
            empty = 0
        writer.whole(count)
    writer.whole(0 if batches is None else 1)
    if batches is not None:
        writer.real(batches.momentum)
        writer.whole(batches.count)
        for total in batches.totals:
            writer.fraction(total)
        for number in (*batches.first, *batches.moving):
            writer.real(number)
    return bytes(writer.data)


def _counts(reader: _Reader) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    size = reader.whole()
    if size > 1 << 16:
        raise ValueError(f"a histogram has {size} bins")
    counts = np.zeros(size, np.int64)
    place = 0
    while place < size:
        count = reader.whole()
        if count == 0:
            place += reader.whole()
            continue
        counts[place] = count
        place += 1
    counts.flags.writeable = False
    return counts


@lru_cache(maxsize=_KEPT)
def unpack(count: int, data: bytes) -> tuple[Moments, Histogram, BatchRanges | None]:
    """The moments of `count` values, the histogram and the averages over batches. Raises `ValueError`.

    Every pass between the profile and the decisions asks again: what was read last is kept.
    """
    try:
        if not data or data[0] != FORMAT:
            raise ValueError(f"they start with {data[:1].hex() or 'nothing'}, not {FORMAT:02x}")
        reader = _Reader(data, 1)
        zeros = reader.whole()
        moments = Moments(count, zeros, reader.fraction(), reader.fraction(), reader.fraction())
        histogram = Histogram(reader.whole(), reader.signed(), reader.signed(), _counts(reader))
        batches = None
        if reader.whole():
            momentum, number = reader.real(), reader.whole()
            totals = reader.fraction(), reader.fraction()
            first, moving = ((reader.real(), reader.real()) for _ in range(2))
            batches = BatchRanges(momentum, number, totals, first, moving)
        if reader.place != len(data):
            raise ValueError(f"{len(data) - reader.place} bytes are left over")
    except (IndexError, struct.error, OverflowError) as error:
        raise ValueError("they are cut off") from error
    return moments, histogram, batches
