"""The statistics that profiling leaves on a value: `#calib.stats<min = …, max = …, mean = …, std = …, count = …>`.

What calibrators need besides (sums, histogram, averages over batches) follows as bytes, `exact = "0x…"`, so that a
module holds the recorded statistics of its values without loss: `StatsAttr.of_statistics` and `StatsAttr.statistics`.
What observers of packages keep is JSON: `kept = "{…}"`. Infinities are counted apart from all of this.

As bytes, whole numbers of any size take seven bits a byte, negative ones folded between the positive; a run of empty
bins of the histogram is a zero and its length. Floats are f64, least byte first.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BytesAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.histogram import Histogram
from qmlir.arithmetic.moments import Moments, dyadic_from_list, dyadic_to_list
from qmlir.arithmetic.statistics import BatchRanges, Statistics, Summary
from qmlir.dialects.quant.syntax import parse_real, real_text
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.data import parse_data

_NUMBERS = ("min", "max", "mean", "std")


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
            raise ValueError(f"invalid denominator of a sum: 2^{exponent}")
        return dyadic_from_list([numerator, exponent])


_HAS_BATCHES, _HAS_INFINITIES = 1, 2


def pack(
    moments: Moments, histogram: Histogram, batches: BatchRanges | None, infinities: tuple[int, int] = (0, 0)
) -> bytes:
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
    writer.whole((0 if batches is None else _HAS_BATCHES) | (_HAS_INFINITIES if any(infinities) else 0))
    if batches is not None:
        writer.real(batches.momentum)
        writer.whole(batches.count)
        for total in batches.totals:
            writer.fraction(total)
        for number in (*batches.first, *batches.moving):
            writer.real(number)
    for number in infinities if any(infinities) else ():
        writer.whole(number)
    return bytes(writer.data)


def _counts(reader: _Reader) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    size = reader.whole()
    if size > 1 << 16:
        raise ValueError(f"invalid number of histogram bins: {size}")
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
def unpack(count: int, data: bytes) -> tuple[Moments, Histogram, BatchRanges | None, tuple[int, int]]:
    """The moments of `count` values, the histogram, the averages over batches, the infinities. Raises `ValueError`.

    Every pass between the profile and the decisions asks again: what was read last is kept.
    """
    try:
        if not data or data[0] != FORMAT:
            raise ValueError(f"expected format {FORMAT:02x}, but got {data[:1].hex() or 'nothing'}")
        reader = _Reader(data, 1)
        zeros = reader.whole()
        moments = Moments(count, zeros, reader.fraction(), reader.fraction(), reader.fraction())
        histogram = Histogram(reader.whole(), reader.signed(), reader.signed(), _counts(reader))
        batches, infinities = None, (0, 0)
        has = reader.whole()
        if has & _HAS_BATCHES:
            momentum, number = reader.real(), reader.whole()
            totals = reader.fraction(), reader.fraction()
            first, moving = ((reader.real(), reader.real()) for _ in range(2))
            batches = BatchRanges(momentum, number, totals, first, moving)
        if has & _HAS_INFINITIES:
            infinities = reader.whole(), reader.whole()
        if reader.place != len(data):
            raise ValueError(f"{len(data) - reader.place} trailing bytes")
    except (IndexError, struct.error, OverflowError) as error:
        raise ValueError("unexpected end of data") from error
    return moments, histogram, batches, infinities


@irdl_attr_definition
class StatsAttr(ParametrizedAttribute):
    """Range, mean, standard deviation and count of the observed values, and the range for each index of one axis.

    Numbers are f64 and print exactly; per-axis ranges are kept as bytes. `exact` is empty where no more is known, and
    `kept` where no observer of a package ran.
    """

    name = "calib.stats"

    numbers: BytesAttr = param_def()
    count: IntAttr = param_def()
    axis: IntAttr = param_def()
    minima: BytesAttr = param_def()
    maxima: BytesAttr = param_def()
    exact: BytesAttr = param_def()
    kept: StringAttr = param_def()

    @staticmethod
    def of(
        summary: Summary,
        axis: int = -1,
        minima: npt.ArrayLike = (),
        maxima: npt.ArrayLike = (),
        exact: bytes = b"",
        kept: Mapping[str, Any] | None = None,
    ) -> "StatsAttr":
        """The attribute of a summary, with the range for each index of `axis` where that is given."""
        numbers = [summary.minimum, summary.maximum, summary.mean, summary.deviation]
        fields = _bytes(numbers), IntAttr(summary.count), IntAttr(axis), _bytes(minima), _bytes(maxima)
        return StatsAttr(*fields, BytesAttr(exact), StringAttr(json.dumps(kept, sort_keys=True) if kept else ""))

    @staticmethod
    def of_statistics(statistics: Statistics) -> "StatsAttr":
        """The attribute that holds all of `statistics`. Raises `ValueError` for statistics of no values."""
        axis = -1 if statistics.axis is None else statistics.axis
        exact = pack(statistics.moments, statistics.histogram, statistics.batches, statistics.infinities)
        ranges = statistics.axis_minima, statistics.axis_maxima
        return StatsAttr.of(statistics.summary, axis, *ranges, exact, statistics.kept)

    @property
    def statistics(self) -> Statistics:
        """What `of_statistics` was given. Raises `ValueError` where the attribute holds a summary alone."""
        if not self.exact.data:
            raise ValueError("the statistics of these values were not stored, only their summary")
        moments, histogram, batches, infinities = unpack(self.count.data, self.exact.data)
        axis = None if self.axis.data < 0 else self.axis.data
        low, high, *_ = np.frombuffer(self.numbers.data, dtype="<f8").tolist()
        ranges = self.axis_minima, self.axis_maxima
        return Statistics(low, high, moments, histogram, axis, *ranges, batches, self._kept(), infinities)

    def _kept(self) -> dict[str, Any]:
        try:
            kept = parse_data(self.kept.data or "{}", "data of observers", allow_nonfinite=True)
            return {name: each.value for name, each in kept.entries().items()}
        except DiagnosticError as error:
            raise ValueError(error.diagnostic.message) from error

    @property
    def summary(self) -> Summary:
        """The summary of all values."""
        low, high, mean, deviation = np.frombuffer(self.numbers.data, dtype="<f8").tolist()
        return Summary(self.count.data, low, high, mean, deviation)

    @property
    def axis_minima(self) -> npt.NDArray[np.float64]:
        """The smallest value for each index of the axis, empty without one."""
        return np.frombuffer(self.minima.data, dtype="<f8")

    @property
    def axis_maxima(self) -> npt.NDArray[np.float64]:
        """The largest value for each index of the axis, empty without one."""
        return np.frombuffer(self.maxima.data, dtype="<f8")

    def verify(self) -> None:
        summary = self.summary
        if self.count.data < 1:
            raise VerifyException(f"count must be >= 1, but got {self.count.data}")
        everything = np.concatenate([np.frombuffer(self.numbers.data, "<f8"), self.axis_minima, self.axis_maxima])
        if not np.isfinite(everything).all():
            raise VerifyException("statistics must be finite")
        if not summary.minimum <= summary.mean <= summary.maximum:
            raise VerifyException(
                f"expected min <= mean <= max, but got {summary.minimum}, {summary.mean}, {summary.maximum}"
            )
        if summary.deviation < 0:
            raise VerifyException(f"std must be >= 0, but got {summary.deviation}")
        if self.axis_minima.size != self.axis_maxima.size:
            raise VerifyException(
                f"expected the same number of minima and maxima, but got {self.axis_minima.size} and "
                f"{self.axis_maxima.size}"
            )
        if (self.axis.data < 0) != (self.axis_minima.size == 0):
            raise VerifyException("axis and per-axis ranges must be given together")
        if (self.axis_minima > self.axis_maxima).any():
            raise VerifyException("each per-axis minimum must be at most its maximum")
        if self.exact.data:
            self._verify_exact()
        elif self.kept.data:
            raise VerifyException("data kept by observers requires exact statistics")

    def _verify_exact(self) -> None:
        try:
            statistics = self.statistics
        except ValueError as error:
            raise VerifyException(f"cannot decode the exact statistics: {error}") from error
        if statistics.summary != self.summary:
            raise VerifyException(f"the exact statistics contradict the summary: they give {statistics.summary}")
        if statistics.histogram.total != self.count.data:
            raise VerifyException(
                f"the histogram must count all {self.count.data} values, but counts {statistics.histogram.total}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            numbers: list[float] = []
            for name in _NUMBERS:
                numbers.append(_parse_field(parser, name))
                parser.parse_punctuation(",")
            parser.parse_keyword("count")
            parser.parse_punctuation("=")
            count = parser.parse_integer(False)
            axis, minima, maxima, exact, kept = -1, [], [], b"", ""
            is_more = parser.parse_optional_punctuation(",") is not None
            if is_more and parser.parse_optional_keyword("axis") is not None:
                parser.parse_punctuation("=")
                axis = parser.parse_integer(False, False)
                minima, maxima = (_parse_list(parser, name) for name in ("mins", "maxs"))
                is_more = parser.parse_optional_punctuation(",") is not None
            if is_more:
                exact = _parse_exact(parser)
                if parser.parse_optional_punctuation(",") is not None:
                    parser.parse_keyword("kept")
                    parser.parse_punctuation("=")
                    kept = parser.parse_str_literal()
        known = [_bytes(numbers), IntAttr(count), IntAttr(axis), _bytes(minima), _bytes(maxima), BytesAttr(exact)]
        return [*known, StringAttr(kept)]

    def print_parameters(self, printer: Printer) -> None:
        numbers = np.frombuffer(self.numbers.data, dtype="<f8").tolist()
        fields = [f"{name} = {real_text(number)}" for name, number in zip(_NUMBERS, numbers, strict=True)]
        fields.append(f"count = {self.count.data}")
        if self.axis.data >= 0:
            fields.append(f"axis = {self.axis.data}")
            for name, values in (("mins", self.axis_minima), ("maxs", self.axis_maxima)):
                fields.append(f"{name} = [{', '.join(map(real_text, values.tolist()))}]")
        if self.exact.data:
            fields.append(f'exact = "0x{self.exact.data.hex().upper()}"')
        with printer.in_angle_brackets():
            printer.print_string(", ".join(fields))
            if self.kept.data:
                printer.print_string(", kept = ")
                printer.print_string_literal(self.kept.data)


def _bytes(values: npt.ArrayLike) -> BytesAttr:
    return BytesAttr(np.asarray(values, dtype="<f8").tobytes())


def _parse_field(parser: AttrParser, name: str) -> float:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return parse_real(parser)


def _parse_list(parser: AttrParser, name: str) -> list[float]:
    parser.parse_punctuation(",")
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return parser.parse_comma_separated_list(AttrParser.Delimiter.SQUARE, lambda: parse_real(parser))


def _parse_exact(parser: AttrParser) -> bytes:
    parser.parse_keyword("exact")
    parser.parse_punctuation("=")
    position = parser.pos
    text = parser.parse_str_literal()
    try:
        if not text.startswith("0x") or not text[2:]:
            raise ValueError
        return bytes.fromhex(text[2:])
    except ValueError:
        parser.raise_error("expected a string of hexadecimal digits starting with 0x", position)
