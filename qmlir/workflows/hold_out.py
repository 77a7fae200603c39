"""The split of calibration samples into those that calibrate, repair weights, and evaluate the result."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.interpreter.samples import Run
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of

MOST = 16
"""The largest number of runs on which the quantized model is compared with the float model."""

MULTIPLY_ADDS = 12e9
"""The largest total number of multiply-adds in the compared runs. It limits a large model to fewer than `MOST` runs,
but to at least 2. The interpreter takes about 0.8 s per 1e9 multiply-adds for both models together."""

HELD_OUT = 4
"""One in this number of consecutive runs is held out, or evaluates a repair."""


def runs_to_compare(module: ModuleOp, function: str = ENTRY) -> int:
    """Returns the largest number of runs of `module` to compare, which is smaller if each run takes long."""
    products = sum(
        op.multiply_adds() for op in function_of(module, function).walk() if isinstance(op, MultipliesAndAdds)
    )
    return max(2, min(MOST, int(MULTIPLY_ADDS / products))) if products > 0 else MOST


@dataclass
class EvenSampler:
    """Selects at most `most` runs, evenly spread over a stream of unknown length.

    The stream is divided into segments of equal length, and one run of each is taken. So all classes are included if
    samples are sorted by class. The position of the run in its segment is random, with a fixed seed, so that periodic
    samples do not bias the selection. If more than `most` runs were taken, the segment length is doubled, and one run
    of each pair is dropped.
    """

    most: int
    taken: list[Run] = field(default_factory=list[Run], init=False)
    _seen: int = field(default=0, init=False)
    _next: int = field(default=0, init=False)
    _stretch: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(0)

    def take(self, run: Run) -> None:
        """Processes the next run of the stream, which may become one of the `taken` runs."""
        if self._seen == self._next:
            self.taken.append(run)
            if len(self.taken) > self.most:
                pairs = (self.taken[position : position + 2] for position in range(0, len(self.taken), 2))
                self.taken = [pair[self._random.integers(len(pair))] for pair in pairs]
                self._stretch *= 2
            self._next = len(self.taken) * self._stretch + int(self._random.integers(self._stretch))
        self._seen += 1


def _is_chosen(position: int) -> bool:
    """Returns true for one of each `HELD_OUT` consecutive runs.

    It is a random one, with a fixed seed, so that periodic samples are not excluded. Of the first four it is the last,
    so that some run calibrates.
    """
    stretch, at = divmod(position, HELD_OUT)
    return at == int(np.random.default_rng(stretch).integers(HELD_OUT))


@dataclass
class HoldOut:
    """The split of runs into those that calibrate and those that are held out, made during calibration."""

    most: int
    """The largest number of runs that are compared."""

    first: int | None = None
    """Number of runs that calibrate before one in four runs is held out; `None` if no run is held out."""

    most_repair: int = 0
    """The largest number of runs that a repair uses; 0 without a repair."""

    held_out: list[Run] = field(default_factory=list[Run], init=False)

    def __post_init__(self) -> None:
        self._lent, self._judges = EvenSampler(self.most), EvenSampler(self.most)
        self._repair = EvenSampler(self.most_repair)

    def keep_for_repair(self, most: int) -> None:
        """Keeps at most `most` runs for a repair. Must be called before calibration begins."""
        self.most_repair, self._repair = most, EvenSampler(most)

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Yields the runs that calibrate, and keeps the others.

        If runs are held out from the start, a repair uses all other runs. Otherwise every fourth calibrating run
        evaluates the repair, which uses the other three, so that ranges are the same with and without a repair.
        """
        calibrating = 0
        for position, run in enumerate(runs):
            at = -1 if self.first is None else position - self.first
            if at >= 0 and len(self.held_out) < self.most and _is_chosen(at):
                self.held_out.append(run)
                continue
            if not self.held_out:
                self._lent.take(run)
            if self.most_repair:
                is_judge = self.first != 0 and calibrating % HELD_OUT == HELD_OUT - 1
                (self._judges if is_judge else self._repair).take(run)
            calibrating += 1
            yield run

    @property
    def compared(self) -> tuple[Sequence[Run], str]:
        """The runs on which the quantized model is compared, and a description of their origin."""
        if self.held_out:
            return self.held_out, "held out of the calibration"
        return self._lent.taken, "that calibration used"

    @property
    def repairing(self) -> Sequence[Run]:
        """The runs that a repair uses."""
        return self._repair.taken

    @property
    def judging(self) -> tuple[Sequence[Run], str]:
        """The runs that evaluate a repair, and a description of their origin."""
        return self.compared if self.first == 0 else (self._judges.taken, "that the correction has not used")
