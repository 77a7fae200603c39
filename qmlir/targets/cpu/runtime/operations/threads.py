"""The team of threads of a program that numba compiled: see `team`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..team import TeamRunner, addresses_of, new_words
from ..team_code import provide_team
from . import kernels
from .kernels import Kernel


class CompiledTogether:
    """What runs the steps of a program that numba compiled on some threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._steps: Kernel | None = None
        self._run = None if kernels.work.is_helper else TeamRunner(threads, *provide_team(), self)

    def __call__(self, steps: Any, *arrays: npt.NDArray[Any]) -> None:
        """Run `steps`, compiled or in Python, which then runs on this thread."""
        if self._run is not None and isinstance(steps, Kernel):
            self._steps = steps  # kept by whom keeps this
            self._run(steps.address, *arrays)
        else:
            steps(new_words(1), 0, np.array(addresses_of(arrays), np.int64))


def together(digest: str, threads: int) -> CompiledTogether:
    """What runs the steps of the program of a digest on so many threads: it takes the steps, and their arrays."""
    return CompiledTogether(threads)
