"""Calibration samples: their split, and checks that they look like the data for which the model was trained.

Ranges are observed on samples. If the samples are constant, repeated or wrongly scaled, the quantized model is
inaccurate for real data, yet still agrees with the float model on these samples. `SampleWatch` inspects samples as they
are read, and `warn_of_scale` inspects the outputs of the float model.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise.ops import DivOp, MulOp
from qmlir.interpreter.jobs import content_digest
from qmlir.interpreter.samples import Run
from qmlir.ir.diagnostics import printable, warn
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import inputs_of
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.profiles.profile import Profile
from qmlir.specialization.inputs import function_of

# The split into samples that calibrate, repair weights, and evaluate the result.

MOST = 16
"""The largest number of runs on which the quantized model is compared with the float model."""

MULTIPLY_ADDS = 12e9
"""The largest total number of multiply-adds in the compared runs. It limits a large model to fewer than `MOST` runs,
but to at least 2. The interpreter takes about 0.8 s per 1e9 multiply-adds for both models together."""

HELD_OUT = 4
"""One in this number of consecutive runs is held out, or evaluates a repair."""


def runs_within(module: ModuleOp, multiply_adds: float, fewest: int, most: int) -> int:
    """Returns how many runs of `module` take at most `multiply_adds` together, limited to `fewest` to `most`."""
    operations = function_of(module, ENTRY).walk()
    each = sum(op.multiply_adds() for op in operations if isinstance(op, MultipliesAndAdds))
    return max(fewest, min(most, int(multiply_adds / each))) if each > 0 else most


def runs_to_compare(module: ModuleOp) -> int:
    """Returns the largest number of runs of `module` to compare, which is smaller if each run takes long."""
    return runs_within(module, MULTIPLY_ADDS, 2, MOST)


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


# Checks of the samples.

FEW = 16
"""Fewer samples than this number rarely cover the ranges of other inputs. A warning asks for at least this number."""

_HASHED = 1024
"""Number of leading runs that are checked for duplicates."""

_REPEATED = 0.5
"""The fraction of duplicates from which a warning is emitted: a series may contain a few equal samples."""

_APART = 50.0
"""Inputs whose largest magnitudes differ by this factor are scaled differently, usually by 255."""

_BYTE = 255.0
_LARGE, _CERTAIN = 50.0, 100.0
"""Magnitude of an input, and margin of the largest logit over the next, that only unscaled inputs have: the softmax of
such logits is 1 to 43 digits."""


class SampleWatch:
    """Inspects calibration samples as they are read."""

    def __init__(self, function: FuncOp) -> None:
        self._names = [port.name for port in inputs_of(function)]
        self._ends = [(math.inf, -math.inf)] * len(self._names)
        self._elements = [0] * len(self._names)
        self._is_float = [False] * len(self._names)
        self._largest: list[list[tuple[float, int]]] = [[] for _ in self._names]
        """The two largest magnitudes among the runs for each float input, each with the first sample of its run."""
        self._seen: set[str] = set()
        self._hashed = 0
        self._samples = 0

    def watching(
        self, chosen: Callable[[Iterable[Run]], Iterable[Run]] | None
    ) -> Callable[[Iterable[Run]], Iterator[Run]]:
        """Returns a function that selects the same runs as `chosen` (all if `None`) and inspects each of them."""

        def watched(runs: Iterable[Run]) -> Iterator[Run]:
            for run in runs if chosen is None else chosen(runs):
                self._look(run)
                yield run

        return watched

    def _look(self, run: Run) -> None:
        self._samples += run.samples
        for position, array in enumerate(run.arguments):
            low, high = self._ends[position]
            if array.size and low >= high and array.dtype.kind in "fiub":  # still constant
                self._ends[position] = min(low, float(array.min())), max(high, float(array.max()))
            self._elements[position] = max(self._elements[position], array.size // run.samples)
            self._is_float[position] = array.dtype.kind == "f"
            if self._is_float[position]:
                self._largest[position] = sorted([*self._largest[position], (_largest([array]), run.first)])[-2:]
        if self._hashed < _HASHED:
            self._hashed += 1
            self._seen.add(content_digest(run.arguments))

    def tell(self, given: Collection[str] = (), *, is_needed: bool = True) -> None:
        """Warns of problems with the samples as a whole, such as constant or repeated samples.

        Args:
            given: The inputs with given quantization parameters, about whose samples no warning is emitted.
            is_needed: False if no range depends on the samples, so that their number does not matter.
        """
        for name, largest in zip(self._names, self._largest, strict=True):
            if (
                name not in given
                and len(largest) == 2
                and largest[0][0] > 0
                and largest[1][0] >= _APART * largest[0][0]
            ):
                (second, _), (first, sample) = largest
                alone = (
                    f"sample {sample} reaches {first:g} in input {printable(name)}, and all others at most {second:g}"
                )
                warn(f"{alone}; scale it like the others, or remove it")
        if self._samples == 1 and is_needed:
            warn(f"calibrating with 1 sample, whose ranges rarely fit other inputs; pass at least {FEW} samples")
        constant = [low == high for low, high in self._ends]
        repeats = self._hashed - len(self._seen)
        if is_needed and repeats >= max(1, _REPEATED * self._hashed) and not all(constant):
            warn(f"{repeats} of {self._hashed} calibration samples are duplicates and add nothing to the ranges")
        for name, is_constant, (low, _), elements, is_float in zip(
            self._names, constant, self._ends, self._elements, self._is_float, strict=True
        ):
            # A scalar may be a setting, and integers a mask or token types: then another input varies.
            if name not in given and is_constant and (all(constant) or (is_float and elements > 1)):
                where = f"input {printable(name)} is {low:g} in all calibration samples"
                warn(f"{where}, so its range fits no other value; pass representative samples")


def _largest(arrays: Iterable[Array]) -> float:
    return max((float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in arrays), default=0.0)


def _reach(profile: Profile, name: str) -> float:
    """Returns the largest magnitude of an input during calibration; 0 if the profile has no values of it."""
    known = profile.values.get(name)
    return 0.0 if known is None or not known.count else max(abs(known.minimum), abs(known.maximum))


def warn_of_other_scale(function: FuncOp, profile: Profile, runs: Sequence[Run]) -> None:
    """Warns of inputs whose validation samples are on another scale than the calibration samples."""
    for position, port in enumerate(inputs_of(function)):
        calibrated = _reach(profile, port.name)
        given = _largest(run.arguments[position] for run in runs)
        if min(calibrated, given) > 0 and not 1 / _APART < calibrated / given < _APART:
            name = printable(port.name)
            reach = f"{calibrated:g} in the calibration samples and {given:g} in the validation samples"
            warn(f"input {name} reaches {reach}; scale both as the model expects")


def warn_of_scale(function: FuncOp, profile: Profile, outputs: Sequence[Mapping[str, Array]]) -> None:
    """Warns of inputs that are probably on another scale than the model expects, judging by its `outputs` on samples.

    For example, pixels in [0, 255] instead of [0, 1] cause larger logits than training produces. Conversely, a model
    that divides its input by 255 does not expect pixels in [0, 1].
    """
    inputs = inputs_of(function)
    sizes = [_reach(profile, port.name) for port in inputs]
    certain = _certain_output(outputs) if max(sizes, default=0.0) >= _LARGE else ""
    for port, largest, argument in zip(inputs, sizes, function.body.blocks[0].args, strict=True):
        divided = [use.operation for use in argument.uses if isinstance(use.operation, MulOp | DivOp)]
        reach = f"input {printable(port.name)} reaches {largest:g} in the calibration samples"
        if 0 < largest <= _BYTE / _APART and any(map(_divides_by_255, divided)):
            warn(f"{reach}, but the model divides it by 255; pass samples in [0, 255]")
        elif largest >= _LARGE and certain:
            margin = f"a margin above {_CERTAIN:g}, more than training does"
            cause = f"gives the logits of output {printable(certain)} {margin}"
            warn(f"{reach}, which {cause}; scale the samples as in training, such as by 1/255")


def _divides_by_255(op: MulOp | DivOp) -> bool:
    factor = constant_array(op.operands[1])
    if factor is None or factor.size == 0:
        return False
    factors = np.asarray(factor, np.float64)
    return bool(np.allclose(factors if isinstance(op, DivOp) else factors * _BYTE**2, _BYTE, rtol=0.01))


def _certain_output(outputs: Sequence[Mapping[str, Array]]) -> str:
    """Returns the first output whose largest logit is far above the next one in half of the rows.

    Considers outputs of 3 or more logits or probabilities. Returns an empty string if there is none.
    """
    for name in outputs[0] if len(outputs) > 1 else ():
        arrays = [each[name] for each in outputs if name in each]
        if all(each.ndim == 2 and each.shape[-1] > 2 and each.dtype.kind == "f" for each in arrays):
            rows = np.sort(np.concatenate(arrays).astype(np.float64), axis=-1)
            if rows.min() >= 0 and np.allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-3):
                rows = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
            if np.median(rows[:, -1] - rows[:, -2]) >= _CERTAIN:
                return name
    return ""
