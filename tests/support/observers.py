"""A plug-in with observers of its own: right ones, and one for each thing that can be wrong with one."""

from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import Range
from qmlir.arithmetic.statistics import Observer, Statistics
from qmlir.registry import INTERFACE, Contribution


def _norms(x: Array) -> list[float]:
    """The largest magnitude of each sample."""
    return [float(each) for each in np.abs(x).reshape(len(x), -1).max(axis=1)]


def _raise(x: Array) -> Any:
    raise KeyError("observer")


NORMS = Observer(_norms, lambda one, other: one + other)
RAISES = Observer(_raise, lambda one, other: one)
NO_JSON = Observer(lambda x: {1, 2}, lambda one, other: one)
NO_NUMBER = Observer(lambda x: float("nan"), lambda one, other: one)
INEXACT = Observer(lambda x: (1, 2), lambda one, other: one)
NO_MERGE = Observer(lambda x: 1, lambda one, other: other["lost"])


def mean_norm(statistics: Statistics, grid: Any, /) -> Range:
    """The mean of what `norms` keeps."""
    reach = float(np.mean(statistics.kept["norms"]))
    return Range(max(statistics.minimum, -reach), min(statistics.maximum, reach))


_HERE = "tests.support.observers"
CONTRIBUTION = Contribution(
    observers={
        name: f"{_HERE}:{name.upper()}" for name in ("norms", "raises", "no_json", "no_number", "inexact", "no_merge")
    }
    | {"no_observer": f"{_HERE}:mean_norm", "lost": f"{_HERE}:NOWHERE"},
    calibrators={"mean_norm": f"{_HERE}:mean_norm"},
    built_for=INTERFACE,
)
