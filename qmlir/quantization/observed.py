"""The recorded statistics of a value, or at least its observed range."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import calibrate
from qmlir.arithmetic.schemes import Grid
from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.dialects.quant.types import CalibratedQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.quantization.choice import Choice
from qmlir.quantization.profiles.attached import statistics_of


@dataclass(frozen=True)
class Observed:
    """The range of a value, and where there are any its statistics, from which calibrators narrow the range."""

    minimum: float
    maximum: float
    statistics: Statistics | None = None

    @staticmethod
    def of_constant(array: Array) -> "Observed":
        """What is known of a constant: everything. Without elements it is known as a zero is."""
        known = Statistics.of(array if array.size else np.zeros(1))
        ends = known.minimum, known.maximum
        # Each batch has the same range.
        batches = BatchRanges(1.0, 1, (Fraction(ends[0]), Fraction(ends[1])), ends, ends)
        return Observed(*ends, replace(known, batches=batches))

    def range(self, choice: Choice) -> tuple[float, float]:
        """The range that the calibrator of `choice` gives; that of the type where there are no statistics.

        Raises `ValueError` for a calibrator that a rule names and that needs statistics, where there are none.
        """
        if self.statistics is None:
            if choice.needs_statistics:
                raise ValueError(f"calibrator '{choice.calibrator}' needs statistics, but the profile has only a range")
            return self.minimum, self.maximum
        grid = Grid(choice.storage, choice.scheme, choice.rule)
        low, high = calibrate(choice.data_calibrator, self.statistics, grid, choice.calibrator_options)
        return low, high


def observed_range(value: SSAValue) -> tuple[float, float] | None:
    """The smallest and the largest observed number of `value`, `None` where it was not profiled."""
    element = element_of(value)
    return (element.minimum, element.maximum) if isinstance(element, CalibratedQuantizedType) else None


def observed(value: SSAValue) -> Observed | None:
    """The observed range of `value` and its statistics, `None` where it was not profiled."""
    ends = observed_range(value)
    return None if ends is None else Observed(*ends, statistics_of(value))


def was_infinite(value: SSAValue) -> bool:
    """Whether minus or plus infinity was observed of `value`."""
    seen = observed(value)
    return seen is not None and seen.statistics is not None and any(seen.statistics.infinities)
