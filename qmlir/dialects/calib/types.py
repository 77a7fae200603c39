"""The statistics that profiling leaves on a value: `#calib.stats<min = …, max = …, mean = …, std = …, count = …>`.

What calibrators need besides (sums, histogram, averages over batches) follows as bytes, `exact = "0x…"`, so that a
module holds the recorded statistics of its values without loss: `StatsAttr.of_statistics` and `StatsAttr.statistics`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BytesAttr, IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.statistics import Statistics, Summary
from qmlir.dialects.calib.packing import pack, unpack
from qmlir.dialects.quant.syntax import parse_real, real_text

_NUMBERS = ("min", "max", "mean", "std")


@irdl_attr_definition
class StatsAttr(ParametrizedAttribute):
    """Range, mean, standard deviation and count of the observed values, and the range for each index of one axis.

    Numbers are f64 and print exactly; per-axis ranges are kept as bytes. `exact` is empty where no more is known.
    """

    name = "calib.stats"

    numbers: BytesAttr = param_def()
    count: IntAttr = param_def()
    axis: IntAttr = param_def()
    minima: BytesAttr = param_def()
    maxima: BytesAttr = param_def()
    exact: BytesAttr = param_def()

    @staticmethod
    def of(
        summary: Summary,
        axis: int = -1,
        minima: npt.ArrayLike = (),
        maxima: npt.ArrayLike = (),
        exact: bytes = b"",
    ) -> "StatsAttr":
        """The attribute of a summary, with the range for each index of `axis` where that is given."""
        numbers = [summary.minimum, summary.maximum, summary.mean, summary.deviation]
        fields = _bytes(numbers), IntAttr(summary.count), IntAttr(axis), _bytes(minima), _bytes(maxima)
        return StatsAttr(*fields, BytesAttr(exact))

    @staticmethod
    def of_statistics(statistics: Statistics) -> "StatsAttr":
        """The attribute that holds all of `statistics`. Raises `ValueError` for statistics of no values."""
        axis = -1 if statistics.axis is None else statistics.axis
        exact = pack(statistics.moments, statistics.histogram, statistics.batches)
        return StatsAttr.of(statistics.summary, axis, statistics.axis_minima, statistics.axis_maxima, exact)

    @property
    def statistics(self) -> Statistics:
        """What `of_statistics` was given. Raises `ValueError` where the attribute holds a summary alone."""
        if not self.exact.data:
            raise ValueError("only a summary is known of the values, not their statistics")
        moments, histogram, batches = unpack(self.count.data, self.exact.data)
        axis = None if self.axis.data < 0 else self.axis.data
        low, high, *_ = np.frombuffer(self.numbers.data, dtype="<f8").tolist()
        return Statistics(low, high, moments, histogram, axis, self.axis_minima, self.axis_maxima, batches)

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
            raise VerifyException(f"count must be at least 1, found {self.count.data}")
        everything = np.concatenate([np.frombuffer(self.numbers.data, "<f8"), self.axis_minima, self.axis_maxima])
        if not np.isfinite(everything).all():
            raise VerifyException("statistics must be finite")
        if not summary.minimum <= summary.mean <= summary.maximum:
            raise VerifyException(
                f"min, mean and max must ascend, found {summary.minimum}, {summary.mean}, {summary.maximum}"
            )
        if summary.deviation < 0:
            raise VerifyException(f"std must not be negative, found {summary.deviation}")
        if self.axis_minima.size != self.axis_maxima.size:
            raise VerifyException(
                f"{self.axis_minima.size} minima and {self.axis_maxima.size} maxima: they must be as many"
            )
        if (self.axis.data < 0) != (self.axis_minima.size == 0):
            raise VerifyException("per-axis ranges need an axis, and an axis needs ranges")
        if (self.axis_minima > self.axis_maxima).any():
            raise VerifyException("each minimum must be at most its maximum")
        if self.exact.data:
            self._verify_exact()

    def _verify_exact(self) -> None:
        try:
            statistics = self.statistics
        except ValueError as error:
            raise VerifyException(f"the exact bytes are no statistics: {error}") from error
        if statistics.summary != self.summary:
            raise VerifyException(f"the exact bytes are of other values: they give {statistics.summary}")
        if statistics.histogram.total != self.count.data:
            raise VerifyException(f"the histogram holds {statistics.histogram.total} of {self.count.data} values")

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
            axis, minima, maxima, exact = -1, [], [], b""
            is_more = parser.parse_optional_punctuation(",") is not None
            if is_more and parser.parse_optional_keyword("axis") is not None:
                parser.parse_punctuation("=")
                axis = parser.parse_integer(False, False)
                minima, maxima = (_parse_list(parser, name) for name in ("mins", "maxs"))
                is_more = parser.parse_optional_punctuation(",") is not None
            if is_more:
                exact = _parse_exact(parser)
        return [_bytes(numbers), IntAttr(count), IntAttr(axis), _bytes(minima), _bytes(maxima), BytesAttr(exact)]

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
        parser.raise_error("expected a string of hexadecimal digits that starts with 0x", position)
