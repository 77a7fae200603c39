"""Runs programs compiled by numba on a team of threads: see `team`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..team import TeamRunner, addresses_of, new_words
from ..team_code import provide_team
from . import kernels
from .kernels import Kernel


class CompiledTogether:
    """Runs the steps of a program compiled by numba on several threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._steps: Kernel | None = None
        self._run = None if kernels.work.is_helper else TeamRunner(threads, *provide_team(), self)

    def __call__(self, steps: Any, *arrays: npt.NDArray[Any]) -> None:
        """Runs compiled `steps` on the team; a Python function runs on the calling thread."""
        if self._run is not None and isinstance(steps, Kernel):
            self._steps = steps  # the team keeps this object, and so the code, alive
            self._run(steps.address, *arrays)
        else:
            steps(new_words(1), 0, np.array(addresses_of(arrays), np.int64))


def together(digest: str, threads: int) -> CompiledTogether:
    """Returns the runner of a program's steps on `threads` threads; it takes the steps and their arrays."""
    return CompiledTogether(threads)
