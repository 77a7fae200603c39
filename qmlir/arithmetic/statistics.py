"""Statistics of values that stream and merge: count, minimum, maximum, mean and standard deviation.

Two summaries merge into the summary of both samples (Chan, Golub and LeVeque 1979), so that memory does not grow with
the number of samples and several processes can share the work.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Summary:
    """What is known of `count` values: their range, mean and (population) standard deviation, in f64."""

    count: int
    minimum: float
    maximum: float
    mean: float
    deviation: float

    @staticmethod
    def of(values: npt.NDArray[Any]) -> "Summary":
        """The summary of at least one finite value."""
        exact = np.asarray(values, dtype=np.float64)
        if exact.size == 0:
            raise ValueError("no values to summarize")
        if not np.isfinite(exact).all():
            raise ValueError("values to summarize must be finite")
        low, high = float(exact.min()), float(exact.max())
        # The rounding of the sum must not put the mean outside the range.
        mean = min(max(float(exact.mean()), low), high)
        return Summary(exact.size, low, high, mean, float(exact.std()))

    def merged(self, other: "Summary") -> "Summary":
        """The summary of the values of both."""
        count = self.count + other.count
        distance = other.mean - self.mean
        mean = self.mean + distance * (other.count / count)
        squares = self.count * self.deviation**2 + other.count * other.deviation**2
        squares += distance**2 * (self.count * other.count / count)
        low, high = min(self.minimum, other.minimum), max(self.maximum, other.maximum)
        return Summary(count, low, high, min(max(mean, low), high), math.sqrt(squares / count))
