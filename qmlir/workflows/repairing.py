"""Passes that repair what rounding lost, and the verdict on them by samples that they have not seen."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import LiteralString, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, revised
from qmlir.ir.provenance import origins_of
from qmlir.passes.primitive.nn_equalize import equalize
from qmlir.passes.quantized.repairs import mark_repaired
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN, STORE
from qmlir.quantization.predicates import depthwise
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import LayerGain
from qmlir.quantization.settings import QuantizeSettings
from qmlir.quantization.weights import bias_beside, rounded_weights
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import AccuracyRecovery, Attempt, Calibrated, Decided, stages_of
from qmlir.workflows.comparison.compare import arguments_of
from qmlir.workflows.comparison.errors import sqnr
from qmlir.workflows.profiling import profile
from qmlir.workflows.recovery import EQUALIZE, Remedies, Repair
from qmlir.workflows.remedies import Remedy, find_remedy
from qmlir.workflows.validating import (
    HELD_OUT,
    EvenRuns,
    References,
    Share,
    Validating,
    Validation,
    ValidationOptions,
    compared,
    runs_to_compare,
)

_SCALES: LiteralString = "quant-search-scales{compensating bits=4}"
"""With more bits the range of the weights costs little, and their codes make up for it."""

EFFORTS: Mapping[int, LiteralString] = {
    1: "quant-correct-bias",
    2: f"{_SCALES},quant-gptq,quant-correct-bias",
    3: f"{_SCALES},quant-gptq,quant-round,quant-correct-bias",
}
"""The passes of each effort, which takes more time than those before it. Those are tried, too, and the best is kept."""

BLOCKS: Mapping[LiteralString, LiteralString] = {
    EFFORTS[3]: f"{_SCALES},quant-gptq,quant-round,quant-round{{blocks=3 weighted}},quant-correct-bias"
}
"""What is tried last, after the passes of an effort and the equalized model: it takes as long as all of these."""

EQUALIZES = 2
"""The least effort that tries it."""

MOST = 256
"""Runs that a repair goes by at most. Measured on a ResNet-8 with 4-bit weights: 64 give 24.9 dB, 256 25.7 dB."""

MOST_BESIDE = 16
"""Runs that biases are corrected by where no effort is asked for: a mean needs few, which have many places each."""

_EXACT_BITS = 16
"""Those of codes whose rounding shifts no mean: with 16 bits the means of channels stay."""

_LOST = -3000.0
"""Decibels below which noise is no number of f64."""

_IN_STEP = 1 << 30
"""Bytes of one value in all runs: the runs of a repair go forward together."""


_LAST: LiteralString = "quant-correct-bias"
"""The pass of all efforts that makes up for what the others have shifted."""


def repair_passes(effort: int, required: LiteralString = "") -> tuple[LiteralString, ...]:
    """The passes of the efforts up to `effort`, each to be tried; none for 0.

    Passes that are `required` choose the codes themselves, by the samples, so that only biases are left to repair.
    """
    if required and effort:
        return (f"{required},{_LAST}",)
    return tuple(passes for other, passes in sorted(registry.efforts().items()) if 0 < other <= effort)


def runs_to_repair(module: ModuleOp) -> int:
    """How many runs of `module` a repair goes by: fewer where values are large.

    What is made of constants alone, such as a table of tokens, is held once for all runs (`RunsInStep`).
    """
    once, each = set[SSAValue](), list[SSAValue]()
    for op in function_of(module, ENTRY).walk():
        if not op.regions and once.issuperset(op.operands):
            once.update(op.results)
        else:
            each.extend(op.results)
    types = (ranked_tensor(value.type) for value in each)
    sizes = (math.prod(size for size in type_.get_shape() if size != DYNAMIC_INDEX) for type_ in types if type_)
    return max(8, min(MOST, _IN_STEP // (8 * max((1, *sizes)))))


class Judges(Protocol):
    """Which runs calibrate, which of them a repair may go by, and which others judge it."""

    @property
    def runs(self) -> Sequence[Run]:
        """Those that judge."""
        ...

    @property
    def source(self) -> str:
        """What they are, for a reader."""
        ...

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Those of `runs` that calibrate."""
        ...

    def may_repair(self) -> bool:
        """Whether the repair may go by the run that `calibrating` gave last."""
        ...


class JudgesBeside:
    """Every fourth of the runs that calibrate judges a repair that goes by others: nothing is held out for it.

    So it is where no effort is asked for, and ranges are to stay what they are without a repair.
    """

    source = "that the correction has not used"

    def __init__(self, most: int, validated: Share | None = None):
        self._validated = validated
        self._even = EvenRuns(most)
        self._is_judge = False

    @property
    def runs(self) -> Sequence[Run]:
        """At most `most`, evenly of all: samples may be sorted by class."""
        return self._even.taken

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """All runs but those that are held out to validate."""
        left = runs if self._validated is None else self._validated.calibrating(runs)
        for place, run in enumerate(left, 1):
            self._is_judge = place % HELD_OUT == 0
            if self._is_judge:
                self._even.take(run)
            yield run

    def may_repair(self) -> bool:
        """Whether the last run is none of the fourth ones."""
        return not self._is_judge


class Repairing:
    """A repair in the course of quantizing: some runs of the calibration are kept for it, others judge it.

    Passes that are `required` run without a repair, too, and then go by no samples.
    """

    def __init__(
        self,
        candidates: Sequence[LiteralString],
        module: ModuleOp,
        judges: Judges,
        most: int = MOST,
        *,
        required: LiteralString = "",
    ):
        self.candidates: tuple[LiteralString, ...] = tuple(candidates)
        self._required: LiteralString = required
        self._judges = judges
        self._kept = EvenRuns(min(most, runs_to_repair(module)))

    def calibrating(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The runs that are left for calibration, some of which are kept."""
        for run in self._judges.calibrating(runs):
            if self._judges.may_repair():
                self._kept.take(run)
            yield run

    @property
    def is_judged(self) -> bool:
        """Whether there are runs that judge it."""
        return bool(self._judges.runs)

    def may_be_worth_it(self, profiled: ModuleOp) -> bool:
        """Whether the module has depthwise convolutions, whose biases are worth a correction, and it can be judged."""
        return self.is_judged and bool(depthwise(function_of(profiled, ENTRY)))

    def is_worth_it(self, profiled: ModuleOp, decided: ModuleOp) -> bool:
        """Whether such a convolution is quantized in `decided`, whose constants are floats still, and has a bias.

        It must read codes of fewer than 16 bits, here or before: wider codes do not shift a mean.
        """
        sensitive = {origins_of(op) for op in depthwise(function_of(profiled, ENTRY))}
        readers = {
            reader: min(weight.element.bits, data.bits)
            for weight in rounded_weights(function_of(decided, ENTRY))
            for reader, rows in weight.readers
            if (data := quantized_type(rows.data)) is not None
        }
        is_narrow = any(bits < _EXACT_BITS for bits in readers.values())
        return is_narrow and any(map(bias_beside, readers)) and any(origins_of(each) in sensitive for each in readers)

    def apply(
        self,
        references: References,
        profiled: ModuleOp,
        decided: ModuleOp,
        runs: Callable[[LiteralString], Callable[..., None]],
        equalized: Callable[[Data], tuple[ModuleOp, ModuleOp] | None] | None = None,
    ) -> tuple[ModuleOp, Repair]:
        """`decided` with the repair that brings it nearest to the float module of `references`, and what that gave.

        `profiled` is what was decided about: its operations are those of `decided`, on floats. `runs` gives for passes
        what runs stages of a pipeline that repairs by them. Both have their stages up to `rescale` behind them.
        `equalized` makes both of the equalized model, by samples, or nothing where nothing is to be equalized: on these
        the passes are tried that were best without.
        """
        signature = function_of(references.module, ENTRY)
        samples = [arguments_of(signature, each) for each in self._kept.taken]

        def judged(module: ModuleOp) -> Mapping[str, float]:
            return _decibels(references, module, self._judges.runs, self._judges.source)

        plain = decided.clone()
        run_pipeline(plain, f"{self._required},{STORE}" if self._required else STORE)
        runs(self.candidates[-1])(plain, "raise", "rescale")
        chosen: LiteralString = self.candidates[-1]
        best, known, layers = plain, judged(plain), tuple[LayerGain, ...]()
        unrepaired, found = known, dict[str, Mapping[str, float]]()

        def attempts() -> Iterator[tuple[LiteralString, LiteralString, ModuleOp, ModuleOp]]:
            for passes in self.candidates:
                yield passes, passes, profiled, decided.clone()
            others = None if equalized is None else equalized(samples)
            if others is not None:
                yield f"{EQUALIZE},{chosen}", chosen, *others
            if (passes := BLOCKS.get(self.candidates[-1])) is not None:
                yield passes, passes, profiled, decided.clone()

        for name, passes, floats, repaired in attempts():
            gains = list[LayerGain]()
            run = runs(passes)
            run(repaired, "repair", samples=samples, floats=floats, gained=gains.append, biases=set[Operation]())
            run(repaired, "raise", "rescale")
            found[name] = judged(repaired)
            before, after = noise_ratios(known, found[name])
            if after > before:
                best, known, chosen, layers = repaired, found[name], name, tuple(gains)
        mark_repaired(function_of(best, ENTRY), layers)
        ratios = {passes: noise_ratios(unrepaired, each) for passes, each in found.items()}
        others = tuple((passes, after) for passes, (_, after) in ratios.items() if passes != chosen)
        count = sum(each.samples for each in self._judges.runs)
        return best, Repair(chosen, count, self._judges.source, *ratios[chosen], layers, others, self._required)


def _decibels(references: References, quantized: ModuleOp, runs: Sequence[Run], source: str) -> dict[str, float]:
    """The SQNR of each output of floats; none where nothing can be compared."""
    rows = compared(references, quantized, runs, source, ValidationOptions()).outputs
    return {row.name: row.about_zero_db for row in rows if row.about_zero_db is not None and not row.is_part}


def noise_ratios(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[float, float]:
    """The decibels of all outputs together, by the mean of their relative noise, of two modules.

    Decibels themselves have no mean where an output is exact. What is exact in both, or lost in both, says nothing of
    the others, and counts where there are no others. The lowest of all where nothing can be compared.
    """
    both = [(before[name], after[name]) for name in before if name in after]
    told = [pair for pair in both if any(map(math.isfinite, pair)) or pair[0] != pair[1]] or both
    one, other = (_together([pair[side] for pair in told]) for side in (0, 1))
    return one, other


def _together(ratios: Sequence[float]) -> float:
    """The decibels of the mean noise of outputs with the decibels `ratios`; of several alike, exactly theirs."""
    if len(set(ratios)) <= 1:
        return next(iter(ratios), -math.inf)
    return sqnr(1.0, sum(math.inf if each < _LOST else 10 ** (-each / 10) for each in ratios) / len(ratios))


@dataclass
class _Equalized:
    """The equalized float model, decided about as the given one: what a repair may be tried on."""

    source: ModuleOp
    run: Callable[..., None]
    observers: Sequence[str]
    made: Decided | None = None

    def __call__(self, samples: Data) -> tuple[ModuleOp, ModuleOp] | None:
        """With the statistics of `samples`; `None` where nothing is to be equalized, or the recipe is not for that."""
        try:
            with revised(lambda _: None):  # all was said of the model that was given
                self.made = self._decided(samples)
        except DiagnosticError as error:  # such as a rule for what is amplified, where nothing is any more
            emit(Diagnostic(Severity.REMARK, f"the equalized model is not tried: {error.diagnostic.message}"))
        return None if self.made is None else (self.made.profiled, self.made.module)

    def _decided(self, samples: Data) -> Decided | None:
        source = run_pipeline(self.source.clone(), CLEAN)
        if not equalize(source):
            return None
        lowered = source.clone()
        self.run(lowered, "target", "lower")
        profiled = profile(lowered, samples, observers=self.observers)
        profiled = replace(profiled, extreme_samples={})  # their numbers are those of the samples of the repair
        self.run(lowered, "profile", "mask", "balance", taken=profiled)
        return Decided.of(source, profiled, lowered, self.run)


@dataclass(frozen=True)
class JudgedRecovery:
    """Which samples calibrate, repair and judge the repair, and the repairs that are tried on a decided module."""

    effort: int | None
    """The effort that was asked for; `None` where biases are corrected only if that is worth it."""

    required: LiteralString
    """The pass that has to run with or without a repair."""

    share: Share | None
    """What is held out of the calibration."""

    asked: Repairing | None = None
    """The repair of an effort that is asked for."""

    beside: Repairing | None = None
    """The repair that may be worth it where no effort is asked for."""

    @staticmethod
    def of(
        module: ModuleOp,
        lowered: ModuleOp,
        effort: int | None,
        required: LiteralString,
        share: Share | None,
        *,
        has_samples: bool,
    ) -> "JudgedRecovery":
        """The service `recovery` (`qmlir.workflows.calibrated.AccuracyRecovery`)."""
        passes = repair_passes(effort or 0, required)
        asked = Repairing(passes, lowered, share, required=required) if passes and share is not None else None
        beside: Repairing | None = None
        if has_samples and effort is None:
            judges = JudgesBeside(runs_to_compare(module), share)
            most = MOST if required else min(MOST_BESIDE, runs_to_compare(module))  # large runs tell as much in fewer
            beside = Repairing(repair_passes(1, required), lowered, judges, most, required=required)
        return JudgedRecovery(effort, required, share, asked, beside)

    @property
    def calibrating(self) -> Callable[[Iterable[Run]], Iterable[Run]] | None:
        """Takes all runs, and gives those that calibrate; `None` for all of them."""
        holds_out = self.asked or self.beside or self.share
        return None if holds_out is None else holds_out.calibrating

    def _chosen(self, profiled: ModuleOp, *, corrects: bool) -> Repairing | None:
        """The repair to try on a module with recorded statistics: always one if it `corrects` biases."""
        beside = self.beside
        if beside is None or not beside.is_judged:
            return self.asked
        return beside if corrects or self.required or beside.may_be_worth_it(profiled) else self.asked

    def _is_worth_it(self, repairing: Repairing, profiled: ModuleOp, decided: ModuleOp) -> bool:
        """Whether the repair is tried on the `decided` module; a repair that was asked for always is."""
        return repairing is not self.beside or bool(self.required) or repairing.is_worth_it(profiled, decided)

    def attempt(self, calibrated: Calibrated, settings: QuantizeSettings, *, corrects: bool = False) -> Attempt:
        """Decide types under `settings`, repair the weights, and raise the operations.

        With `corrects`, biases are corrected as effort 1 does, if no effort was asked for and that helps on samples
        that the correction has not used. Raises `DiagnosticError` for a recipe that does not fit the module.
        """
        passes = repair_passes(self.effort or 0, self.required)

        def repairs_by(text: LiteralString) -> Callable[..., None]:
            return stages_of(settings, calibrated.source, repair=text)

        run = repairs_by(passes[-1] if passes else "")
        profiled = calibrated.profiled_by(run)
        repairing = self._chosen(profiled, corrects=corrects)
        if repairing is None:
            return calibrated.finished(settings, calibrated.decided(run, profiled), run)
        run = repairs_by(repairing.candidates[-1])
        made = calibrated.decided(run, profiled)
        if not corrects and not self._is_worth_it(repairing, profiled, made.module):
            run_pipeline(made.module, STORE)
            return calibrated.finished(settings, made, run)
        equalizes = (self.effort or 0) >= EQUALIZES
        equalized = _Equalized(calibrated.source, run, calibrated.observers) if equalizes else None
        module, repair = repairing.apply(calibrated.references, profiled, made.module, repairs_by, equalized)
        if equalized is not None and equalized.made is not None and repair.is_equalized:
            made = equalized.made
        return Attempt(settings, module, made, repair)

    def remedied(
        self,
        calibrated: Calibrated,
        validating: Validating,
        lost: Validation,
        settings: QuantizeSettings,
        seconds: float,
    ) -> tuple[Remedies, tuple[Attempt, Validation] | None]:
        """The remedies that were tried, and the module under the best of them with its comparison."""

        def attempt(remedy: Remedy) -> tuple[tuple[Attempt, Validation], Validation]:
            made = self.attempt(calibrated, remedy.added_to(settings), corrects=remedy.corrects)
            validation = validating.compared(made.module)
            return (made, validation), validation

        may_correct = self.beside is not None and self.beside.is_judged
        return find_remedy(lost, settings, attempt, seconds, may_correct=may_correct)


RECOVERY: AccuracyRecovery = JudgedRecovery.of
