"""The split of calibration samples: some calibrate, some repair weights, and others judge the result."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.interpreter.samples import Run
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of

MOST = 16
"""Runs that are compared at most."""

MULTIPLY_ADDS = 12e9
"""Those of all runs that are compared: fewer than `MOST` runs of a large model, but 2 of any. The interpreter takes
about .8 s for 1e9 of them in both models together."""

ENOUGH = 256
"""Runs that calibration has for itself: only of what comes after them a share is held out."""

HELD_OUT = 4
"""One of this many runs in a row is held out, or judges a repair."""


def runs_to_compare(module: ModuleOp, function: str = ENTRY) -> int:
    """How many runs of `module` are compared at most: fewer where each takes long."""
    products = sum(
        op.multiply_adds() for op in function_of(module, function).walk() if isinstance(op, MultipliesAndAdds)
    )
    return max(2, min(MOST, int(MULTIPLY_ADDS / products))) if products > 0 else MOST


@dataclass
class EvenRuns:
    """At most `most` runs that lie evenly among all, of which it is not known how many there are.

    One run of each stretch of equal length is taken, so that all classes are among them if samples are sorted by class.
    Its place in the stretch is random, with a fixed seed, so that no period of the samples matters. If there are more
    than `most`, stretches double, and one of each two runs is dropped.
    """

    most: int
    taken: list[Run] = field(default_factory=list[Run], init=False)
    _seen: int = field(default=0, init=False)
    _next: int = field(default=0, init=False)
    _stretch: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(0)

    def take(self, run: Run) -> None:
        """Look at the next of all runs."""
        if self._seen == self._next:
            self.taken.append(run)
            if len(self.taken) > self.most:
                pairs = (self.taken[place : place + 2] for place in range(0, len(self.taken), 2))
                self.taken = [pair[self._random.integers(len(pair))] for pair in pairs]
                self._stretch *= 2
            self._next = len(self.taken) * self._stretch + int(self._random.integers(self._stretch))
        self._seen += 1


def _is_chosen(place: int) -> bool:
    """True for one of each `HELD_OUT` runs in a row: a random one by a fixed seed, so that no period of the samples
    keeps some of them out. Of the first four it is the last, so that something calibrates.
    """
    stretch, at = divmod(place, HELD_OUT)
    return at == int(np.random.default_rng(stretch).integers(HELD_OUT))


@dataclass
class HoldOut:
    """The split of the runs, made while calibration goes over all of them."""

    most: int
    """Runs that are compared at most."""

    first: int | None = None
    """Runs that all calibrate before one of each four is held out; `None` if none is held out."""

    most_repair: int = 0
    """Runs that a repair goes by at most; 0 without a repair."""

    held_out: list[Run] = field(default_factory=list[Run], init=False)

    def __post_init__(self) -> None:
        self._lent, self._judges = EvenRuns(self.most), EvenRuns(self.most)
        self._repair = EvenRuns(self.most_repair)

    def keep_for_repair(self, most: int) -> None:
        """Keep at most `most` runs for a repair, before calibration begins."""
        self.most_repair, self._repair = most, EvenRuns(most)

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The runs that are left for calibration.

        If all of them may be held out, a repair goes by all others. If not, every fourth one that calibrates judges
        the repair, which goes by the other three: ranges stay what they are without a repair.
        """
        calibrating = 0
        for place, run in enumerate(runs):
            at = -1 if self.first is None else place - self.first
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
        """The runs that the quantized model is compared on, and their origin, for a reader."""
        if self.held_out:
            return self.held_out, "held out of the calibration"
        return self._lent.taken, "that calibration used"

    @property
    def repairing(self) -> Sequence[Run]:
        """The runs that a repair goes by."""
        return self._repair.taken

    @property
    def judging(self) -> tuple[Sequence[Run], str]:
        """The runs that judge a repair, and their origin, for a reader."""
        return self.compared if self.first == 0 else (self._judges.taken, "that the correction has not used")
