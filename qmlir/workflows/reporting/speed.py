"""How fast the float and the quantized program are, measured in turns so that both see the same machine."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Run = Callable[[Mapping[str, Array]], object]

SECONDS = 1.5
"""How long both are measured together."""

ROUNDS = (5, 200)
"""Turns at least, whatever they take, and at most."""


@dataclass(frozen=True)
class Speed:
    """The medians of a run, in seconds."""

    reference: float
    quantized: float
    rounds: int


def measure(
    reference: Run, quantized: Run, inputs: Mapping[str, Array], clock: Callable[[], float] = time.perf_counter
) -> Speed:
    """Run both on `inputs` in turns. One run of each, which may compile, does not count."""
    for run in (reference, quantized):
        run(inputs)
    times: tuple[list[float], list[float]] = ([], [])
    end = clock() + SECONDS
    while len(times[0]) < ROUNDS[0] or (clock() < end and len(times[0]) < ROUNDS[1]):
        for run, found in zip((reference, quantized), times, strict=True):
            start = clock()
            run(inputs)
            found.append(clock() - start)
    return Speed(*(float(np.float64(median(each))) for each in times), rounds=len(times[0]))
