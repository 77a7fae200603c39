"""The statistics that profiling records for a value: `#calib.stats<min = …, max = …, mean = …, std = …, count = …>`.

Further data for calibrators follows as a dictionary, `recorded = {…}`, so that a module holds the recorded statistics
of its values without loss (`StatsAttr.of_statistics` and `StatsAttr.statistics`). The dictionary contains:

- the number of zeros, and the sums of the values and of their squares;
- the histogram: maximum number of bins, exponent of the bin width, index of the first bin, and counts;
- if recorded, the averages over batches and the number of infinities.

The counts are dense elements, so large ones are stored outside the text, like weights. Data of package observers is
JSON: `kept = "{…}"`.

Version 0.1 wrote `exact = "0x…"` with exact sums instead. This form can still be read.
"""

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.statistics import AGREEMENT, BatchRanges, Histogram, Moments, Statistics, Summary, sum_of
from qmlir.dialects.quant.syntax import parse_real
from qmlir.ir.builtin_types import as_dense, dense
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.data import parse_data
from qmlir.text.elements import dense_array, float_text
from qmlir.text.weights import ExternalWeightsAttr

_NUMBERS = ("min", "max", "mean", "std")

_KEPT = 4096
"""The number of cached results of `_read`: enough for a large model, at a few kilobytes each."""

_MOST_BINS = 1 << 16


def _whole(number: int) -> IntegerAttr[Any]:
    return IntegerAttr(number, i64)


def _reals(numbers: Iterable[float]) -> ArrayAttr[Attribute]:
    return ArrayAttr(FloatAttr(number, f64) for number in numbers)


def recorded_of(
    moments: Moments, histogram: Histogram, batches: BatchRanges | None, infinities: tuple[int, int] = (0, 0)
) -> DictionaryAttr:
    """Returns all recorded data except for the count, which is a separate field of the attribute."""
    counts = histogram.counts.astype(np.int32 if histogram.counts.max(initial=0) < 1 << 31 else np.int64)
    found: dict[str, Attribute] = {
        "zeros": _whole(moments.zeros),
        "sums": _reals([moments.total, moments.squares]),
        "bins": _whole(histogram.bins),
        "exponent": _whole(histogram.exponent),
        "first": _whole(histogram.first),
        "counts": dense(counts.tobytes(), TensorType(i32 if counts.itemsize == 4 else i64, [counts.size])),
    }
    if batches is not None:
        numbers = (batches.momentum, *batches.totals, *batches.first, *batches.moving)
        found["batches"] = ArrayAttr([_whole(batches.count), *_reals(numbers)])
    if any(infinities):
        found["infinities"] = ArrayAttr(map(_whole, infinities))
    return DictionaryAttr(found)


def _integer(value: Attribute | None, name: str) -> int:
    if not isinstance(value, IntegerAttr):
        raise ValueError(f"field '{name}' must be an integer")
    return cast(IntegerAttr[Any], value).value.data


def _array(value: Attribute | None, name: str, size: int) -> list[Attribute]:
    found = list(cast(ArrayAttr[Attribute], value)) if isinstance(value, ArrayAttr) else []
    if len(found) != size:
        raise ValueError(f"field '{name}' must be a list of {size} numbers")
    return found


def _numbers(values: Sequence[Attribute], name: str) -> list[float]:
    numbers = [cast(FloatAttr[Any], each).value.data for each in values if isinstance(each, FloatAttr)]
    if len(numbers) != len(values) or not all(map(math.isfinite, numbers)):
        raise ValueError(f"field '{name}' must have finite floats")
    return numbers


@lru_cache(maxsize=_KEPT)
def _read(count: int, recorded: DictionaryAttr) -> tuple[Moments, Histogram, BatchRanges | None, tuple[int, int]]:
    """Restores the arguments of `recorded_of`, including the count. Raises `ValueError` if the data is invalid.

    Every pass between profiling and decisions calls it, so recent results are cached.
    """
    fields = recorded.data
    known = {name: _integer(fields.get(name), name) for name in ("zeros", "bins", "exponent", "first")}
    total, squares = _numbers(_array(fields.get("sums"), "sums", 2), "sums")
    counts = as_dense(fields["counts"]) if "counts" in fields else None
    if counts is None or counts.get_element_type() not in (i32, i64) or len(counts.get_shape()) != 1:
        raise ValueError("field 'counts' must be a list of dense i32 or i64")
    array = dense_array(counts).astype(np.int64)
    if array.size > _MOST_BINS or not -_MOST_BINS <= known["first"] <= _MOST_BINS or (array < 0).any():
        raise ValueError(f"invalid histogram of {array.size} counts from bin {known['first']}")
    array.flags.writeable = False
    histogram = Histogram(known["bins"], known["exponent"], known["first"], array)
    batches, infinities = None, (0, 0)
    if "batches" in fields:
        number, *others = _array(fields["batches"], "batches", 8)
        momentum, *ends = _numbers(others, "batches")
        pairs = ((ends[0], ends[1]), (ends[2], ends[3]), (ends[4], ends[5]))
        batches = BatchRanges(momentum, _integer(number, "batches"), *pairs)
    if "infinities" in fields:
        low, high = (_integer(each, "infinities") for each in _array(fields["infinities"], "infinities", 2))
        infinities = low, high
    if unknown := sorted(fields.keys() - {*known, "sums", "counts", "batches", "infinities"}):
        raise ValueError(f"unknown field '{unknown[0]}'")
    return Moments(count, known["zeros"], total, squares), histogram, batches, infinities


# --- Version 0.1 ------------------------------------------------------------------------------------------------------


@dataclass
class _OldReader:
    """Reads `exact`: integers of any size in seven bits per byte, signed ones zigzag-coded, and little-endian f64."""

    data: bytes
    position: int = 0

    def whole(self) -> int:
        end = self.position
        while self.data[end] & 0x80:
            end += 1
        number = 0
        for byte in reversed(self.data[self.position : end + 1]):
            number = number << 7 | byte & 0x7F
        self.position = end + 1
        return number

    def signed(self) -> int:
        folded = self.whole()
        return -(folded + 1 >> 1) if folded & 1 else folded >> 1

    def real(self) -> float:
        (number,) = struct.unpack_from("<d", self.data, self.position)
        self.position += 8
        return number

    def total(self) -> float:
        return sum_of([self.signed(), self.whole()])

    def counts(self) -> list[int]:
        """Reads the counts of a histogram; a run of empty bins is a zero followed by its length."""
        size = self.whole()
        if size > _MOST_BINS:
            raise ValueError(f"invalid number of histogram bins: {size}")
        counts: list[int] = []
        while len(counts) < size:
            count = self.whole()
            counts += [count] if count else [0] * min(self.whole(), size)
        return counts[:size]


def _recorded_of_exact(count: int, data: bytes) -> DictionaryAttr:
    """Converts the bytes of version 0.1. Raises `ValueError` if they are invalid."""
    if data[:1] != b"\1":
        raise ValueError(f"expected format 01, but got {data[:1].hex() or 'nothing'}")
    reader = _OldReader(data, 1)
    try:
        zeros, total, _, squares = reader.whole(), reader.total(), reader.total(), reader.total()
        bins, exponent, first = reader.whole(), reader.signed(), reader.signed()
        histogram = Histogram(bins, exponent, first, np.array(reader.counts(), np.int64))
        batches, infinities, has = None, (0, 0), reader.whole()
        if has & 1:
            momentum, number = reader.real(), reader.whole()
            pairs = (reader.total(), reader.total()), *((reader.real(), reader.real()) for _ in range(2))
            batches = BatchRanges(momentum, number, *pairs)
        if has & 2:
            infinities = reader.whole(), reader.whole()
    except (IndexError, struct.error, OverflowError) as error:
        raise ValueError("unexpected end of data") from error
    if reader.position != len(data):
        raise ValueError(f"{len(data) - reader.position} trailing bytes")
    return recorded_of(Moments(count, zeros, total, squares), histogram, batches, infinities)


@irdl_attr_definition
class StatsAttr(ParametrizedAttribute):
    """The range, mean, standard deviation and count of the observed values, and the range for each index of one axis.

    Numbers are f64 and are printed exactly; per-axis ranges are stored as bytes. `recorded` is empty if only the
    summary is known, and `kept` is empty if no package observer ran.
    """

    name = "calib.stats"

    numbers: BytesAttr = param_def()
    count: IntAttr = param_def()
    axis: IntAttr = param_def()
    minima: BytesAttr = param_def()
    maxima: BytesAttr = param_def()
    recorded: DictionaryAttr = param_def()
    kept: StringAttr = param_def()

    @staticmethod
    def of(
        summary: Summary,
        axis: int = -1,
        minima: npt.ArrayLike = (),
        maxima: npt.ArrayLike = (),
        recorded: DictionaryAttr | None = None,
        kept: Mapping[str, Any] | None = None,
    ) -> "StatsAttr":
        """Returns the attribute for a summary, with a range for each index of `axis` if these are given."""
        numbers = [summary.minimum, summary.maximum, summary.mean, summary.deviation]
        fields = _bytes(numbers), IntAttr(summary.count), IntAttr(axis), _bytes(minima), _bytes(maxima)
        data = StringAttr(json.dumps(kept, sort_keys=True) if kept else "")
        return StatsAttr(*fields, recorded or DictionaryAttr({}), data)

    @staticmethod
    def of_statistics(statistics: Statistics) -> "StatsAttr":
        """Returns the attribute that holds all of `statistics`. Raises `ValueError` if no values were observed."""
        axis = -1 if statistics.axis is None else statistics.axis
        recorded = recorded_of(statistics.moments, statistics.histogram, statistics.batches, statistics.infinities)
        ranges = statistics.axis_minima, statistics.axis_maxima
        return StatsAttr.of(statistics.summary, axis, *ranges, recorded, statistics.kept)

    @property
    def is_complete(self) -> bool:
        """Whether the attribute holds more than a summary, and its counts were not omitted when it was printed."""
        return bool(self.recorded.data) and not isinstance(self.recorded.data.get("counts"), ExternalWeightsAttr)

    @property
    def statistics(self) -> Statistics:
        """The complete statistics. Raises `ValueError` if the attribute holds only a summary."""
        if not self.is_complete:
            raise ValueError("the statistics of these values were not stored, only their summary")
        moments, histogram, batches, infinities = _read(self.count.data, self.recorded)
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
        """The minimum for each index of the axis; empty without an axis."""
        return np.frombuffer(self.minima.data, dtype="<f8")

    @property
    def axis_maxima(self) -> npt.NDArray[np.float64]:
        """The maximum for each index of the axis; empty without an axis."""
        return np.frombuffer(self.maxima.data, dtype="<f8")

    def verify(self) -> None:
        summary = self.summary
        if self.count.data < 1:
            raise VerifyException(f"count must be >= 1, but got {self.count.data}")
        everything = np.concatenate([np.frombuffer(self.numbers.data, "<f8"), self.axis_minima, self.axis_maxima])
        if not np.isfinite(everything).all():
            raise VerifyException("statistics must be finite")
        if not summary.minimum <= summary.mean <= summary.maximum:
            found = f"{summary.minimum}, {summary.mean}, {summary.maximum}"
            raise VerifyException(f"expected min <= mean <= max, but got {found}")
        if summary.deviation < 0:
            raise VerifyException(f"std must be >= 0, but got {summary.deviation}")
        if self.axis_minima.size != self.axis_maxima.size:
            found = f"{self.axis_minima.size} and {self.axis_maxima.size}"
            raise VerifyException(f"expected the same number of minima and maxima, but got {found}")
        if (self.axis.data < 0) != (self.axis_minima.size == 0):
            raise VerifyException("axis and per-axis ranges must be given together")
        if (self.axis_minima > self.axis_maxima).any():
            raise VerifyException("each per-axis minimum must be at most its maximum")
        if self.is_complete:
            self._verify_recorded()
        elif self.kept.data and not self.recorded.data:
            raise VerifyException("data kept by observers requires recorded statistics")

    def _verify_recorded(self) -> None:
        try:
            statistics = self.statistics
        except ValueError as error:
            raise VerifyException(f"cannot decode the recorded statistics: {error}") from error
        if statistics.histogram.total != self.count.data:
            found = statistics.histogram.total
            raise VerifyException(f"the histogram must count all {self.count.data} values, but counts {found}")
        summary, tolerance = self.summary, AGREEMENT * max(-self.summary.minimum, self.summary.maximum)
        found = statistics.mean - summary.mean, statistics.deviation - summary.deviation
        if not all(abs(each) <= tolerance for each in found):
            raise VerifyException(f"the recorded statistics contradict the summary: they give {statistics.summary}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            numbers: list[float] = []
            for name in _NUMBERS:
                _parse_name(parser, name)
                numbers.append(parse_real(parser))
                parser.parse_punctuation(",")
            _parse_name(parser, "count")
            count = parser.parse_integer(False)
            axis, minima, maxima, recorded, kept = -1, [], [], DictionaryAttr({}), ""
            is_more = parser.parse_optional_punctuation(",") is not None
            if is_more and parser.parse_optional_keyword("axis") is not None:
                parser.parse_punctuation("=")
                axis = parser.parse_integer(False, False)
                minima, maxima = (_parse_list(parser, name) for name in ("mins", "maxs"))
                is_more = parser.parse_optional_punctuation(",") is not None
            if is_more:
                recorded = _parse_recorded(parser, count)
                if parser.parse_optional_punctuation(",") is not None:
                    _parse_name(parser, "kept")
                    kept = parser.parse_str_literal()
        known = [_bytes(numbers), IntAttr(count), IntAttr(axis), _bytes(minima), _bytes(maxima)]
        return [*known, recorded, StringAttr(kept)]

    def print_parameters(self, printer: Printer) -> None:
        numbers = np.frombuffer(self.numbers.data, dtype="<f8").tolist()
        fields = [f"{name} = {float_text(number, f64)}" for name, number in zip(_NUMBERS, numbers, strict=True)]
        fields.append(f"count = {self.count.data}")
        if self.axis.data >= 0:
            fields.append(f"axis = {self.axis.data}")
            for name, values in (("mins", self.axis_minima), ("maxs", self.axis_maxima)):
                fields.append(f"{name} = [{', '.join(float_text(number, f64) for number in values.tolist())}]")
        with printer.in_angle_brackets():
            printer.print_string(", ".join(fields))
            if self.recorded.data:
                printer.print_string(", recorded = ")
                printer.print_attribute(self.recorded)
            if self.kept.data:
                printer.print_string(", kept = ")
                printer.print_string_literal(self.kept.data)


def _bytes(values: npt.ArrayLike) -> BytesAttr:
    return BytesAttr(np.asarray(values, dtype="<f8").tobytes())


def _parse_name(parser: AttrParser, name: str) -> None:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


def _parse_list(parser: AttrParser, name: str) -> list[float]:
    parser.parse_punctuation(",")
    _parse_name(parser, name)
    return parser.parse_comma_separated_list(AttrParser.Delimiter.SQUARE, lambda: parse_real(parser))


def _parse_recorded(parser: AttrParser, count: int) -> DictionaryAttr:
    if parser.parse_optional_keyword("exact") is None:
        _parse_name(parser, "recorded")
        return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())
    parser.parse_punctuation("=")
    position = parser.pos
    text = parser.parse_str_literal()
    try:
        data = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        data = b""
    if not text.startswith("0x") or not data:
        parser.raise_error("expected a string of hexadecimal digits starting with 0x", position)
    try:
        return _recorded_of_exact(count, data)
    except ValueError as error:
        parser.raise_error(f"cannot decode the exact statistics: {error}", position)
