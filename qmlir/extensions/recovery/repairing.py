"""Passes that repair what rounding lost, and the verdict on them by samples that they have not seen."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import LiteralString

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.extensions.recovery.nn_equalize import equalize
from qmlir.extensions.recovery.remedies import Remedy, find_remedy
from qmlir.extensions.recovery.repairs import mark_repaired
from qmlir.extensions.recovery.rounded_weights import bias_beside, rounded_weights
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, revised
from qmlir.ir.provenance import origins_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN, STORE, QuantizeOptions
from qmlir.quantization.predicates import depthwise
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import LayerGain
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import AccuracyRecovery, Attempt, Calibrated, Decided, decided, stages_of
from qmlir.workflows.comparison.compare import arguments_of
from qmlir.workflows.comparison.errors import sqnr
from qmlir.workflows.hold_out import HoldOut, runs_to_compare
from qmlir.workflows.profiling import profile
from qmlir.workflows.recovery import EQUALIZE, Remedies, Repair
from qmlir.workflows.validating import References, Validating, Validation, ValidationOptions, compared

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


def _may_need_correction(profiled: ModuleOp) -> bool:
    """True if the module has depthwise convolutions, whose biases are worth a correction."""
    return bool(depthwise(function_of(profiled, ENTRY)))


def _needs_correction(made: Decided) -> bool:
    """True if such a convolution is quantized, and has a bias. Constants must be floats still.

    It must read codes of fewer than 16 bits, here or before: wider codes do not shift a mean.
    """
    sensitive = {origins_of(op) for op in depthwise(function_of(made.profiled, ENTRY))}
    readers = {
        reader: min(weight.element.bits, data.bits)
        for weight in rounded_weights(function_of(made.module, ENTRY))
        for reader, rows in weight.readers
        if (data := quantized_type(rows.data)) is not None
    }
    is_narrow = any(bits < _EXACT_BITS for bits in readers.values())
    return is_narrow and any(map(bias_beside, readers)) and any(origins_of(each) in sensitive for each in readers)


def repaired(
    made: Decided,
    candidates: Sequence[LiteralString],
    references: References,
    hold_out: HoldOut,
    runs: Callable[[LiteralString], Callable[..., None]],
    *,
    required: LiteralString = "",
    equalized: Callable[[Data], Decided | None] | None = None,
) -> tuple[ModuleOp, Decided, Repair]:
    """The module with the repair that brings it nearest to the float module, its decided types, and the gain.

    Each of the `candidates` is tried, passes that go by the samples of `hold_out`. The `required` passes go by no
    samples, and run without a repair, too. `runs` returns, for passes, the function that runs stages of a pipeline that
    repairs by them. `equalized` decides about the equalized model with the statistics of these samples, or returns
    `None` if nothing is to be equalized: the candidate that was best is tried on it. All modules have their stages up
    to `rescale` behind them.
    """
    signature = function_of(references.module, ENTRY)
    samples = [arguments_of(signature, each) for each in hold_out.repairing]
    judges, source = hold_out.judging

    def judged(module: ModuleOp) -> Mapping[str, float]:
        return _decibels(references, module, judges, source)

    plain = made.module.clone()
    run_pipeline(plain, f"{required},{STORE}" if required else STORE)
    runs(candidates[-1])(plain, "raise", "rescale")
    chosen: LiteralString = candidates[-1]
    best, known, layers = (plain, made), judged(plain), tuple[LayerGain, ...]()
    unrepaired, found = known, dict[str, Mapping[str, float]]()

    def attempts() -> Iterator[tuple[LiteralString, LiteralString, Decided]]:
        for passes in candidates:
            yield passes, passes, made
        others = None if equalized is None else equalized(samples)
        if others is not None:
            yield f"{EQUALIZE},{chosen}", chosen, others
        if (passes := BLOCKS.get(candidates[-1])) is not None:
            yield passes, passes, made

    for name, passes, of in attempts():
        gains, module = list[LayerGain](), of.module.clone()
        run = runs(passes)
        run(module, "repair", samples=samples, floats=of.profiled, gained=gains.append, biases=set[Operation]())
        run(module, "raise", "rescale")
        found[name] = judged(module)
        before, after = noise_ratios(known, found[name])
        if after > before:
            best, known, chosen, layers = (module, of), found[name], name, tuple(gains)
    mark_repaired(function_of(best[0], ENTRY), layers)
    ratios = {passes: noise_ratios(unrepaired, each) for passes, each in found.items()}
    others = tuple((passes, after) for passes, (_, after) in ratios.items() if passes != chosen)
    count = sum(each.samples for each in judges)
    return *best, Repair(chosen, count, source, *ratios[chosen], layers, others, required)


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


def _equalized(source: ModuleOp, samples: Data, run: Callable[..., None], observers: Sequence[str]) -> Decided | None:
    """The equalized float model, with the statistics of `samples`, decided about as the given one.

    `None` if nothing is to be equalized, or the recipe is not for that.
    """
    try:
        with revised(lambda _: None):  # all was said of the model that was given
            equal = run_pipeline(source.clone(), CLEAN)
            if not equalize(equal):
                return None
            lowered = equal.clone()
            run(lowered, "target", "lower")
            profiled = profile(lowered, samples, observers=observers)
            profiled = replace(profiled, extreme_samples={})  # their numbers are those of the samples of the repair
            run(lowered, "profile", "mask", "balance", taken=profiled)
            return decided(equal, profiled, lowered, run)
    except DiagnosticError as error:  # such as a rule for what is amplified, where nothing is any more
        emit(Diagnostic(Severity.REMARK, f"the equalized model is not tried: {error.diagnostic.message}"))
        return None


@dataclass(frozen=True)
class JudgedRecovery:
    """The repairs that are tried on a decided module, and the samples that they go by."""

    effort: int | None
    """The effort that was asked for; `None` where biases are corrected only if that is worth it."""

    required: LiteralString
    """The pass that has to run with or without a repair."""

    hold_out: HoldOut | None
    """The split of the samples; `None` if there are none."""

    @staticmethod
    def of(
        module: ModuleOp, lowered: ModuleOp, effort: int | None, required: LiteralString, hold_out: HoldOut | None
    ) -> "JudgedRecovery":
        """The service `recovery` (`qmlir.workflows.calibrated.AccuracyRecovery`)."""
        if hold_out is not None and effort != 0:
            # Large runs tell as much of a mean in fewer.
            most = MOST if effort or required else min(MOST_BESIDE, runs_to_compare(module))
            hold_out.keep_for_repair(min(most, runs_to_repair(lowered)))
        return JudgedRecovery(effort, required, hold_out)

    @property
    def _may_correct(self) -> bool:
        """True if samples were kept by which biases can be corrected though no effort was asked for."""
        return self.effort is None and self.hold_out is not None and bool(self.hold_out.judging[0])

    def attempt(self, calibrated: Calibrated, options: QuantizeOptions, *, corrects: bool = False) -> Attempt:
        """Decide types under `options`, repair the weights, and raise the operations.

        With `corrects`, biases are corrected as effort 1 does, if no effort was asked for and that helps on samples
        that the correction has not used. Raises `DiagnosticError` for a recipe that does not fit the module.
        """
        source, effort = calibrated.source, self.effort or 0

        def stages(repair: LiteralString = "") -> Callable[..., None]:
            return stages_of(options, source, repair=repair)

        candidates, is_sure = repair_passes(effort, self.required), bool(corrects or self.required or effort)
        profiled = calibrated.profiled_by(stages(*candidates[-1:]))
        if self._may_correct and (is_sure or _may_need_correction(profiled)):
            candidates = repair_passes(1, self.required)
        run = stages(*candidates[-1:])
        made = decided(source, calibrated.profile, profiled, run)
        if self.hold_out is None or not candidates or not (is_sure or _needs_correction(made)):
            if candidates:
                run_pipeline(made.module, STORE)
            return calibrated.finished(options, made, run)
        equalizing = partial(_equalized, source, run=run, observers=calibrated.observers)
        module, made, repair = repaired(
            made, candidates, calibrated.references, self.hold_out, stages,
            required=self.required, equalized=equalizing if effort >= EQUALIZES else None,
        )  # fmt: skip
        return Attempt(options, module, made, repair)

    def remedied(
        self,
        calibrated: Calibrated,
        validating: Validating,
        lost: Validation,
        options: QuantizeOptions,
        seconds: float,
    ) -> tuple[Remedies, tuple[Attempt, Validation] | None]:
        """The remedies that were tried, and the module under the best of them with its comparison."""

        def attempt(remedy: Remedy) -> tuple[tuple[Attempt, Validation], Validation]:
            made = self.attempt(calibrated, remedy.added_to(options), corrects=remedy.corrects)
            validation = validating.compared(made.module)
            return (made, validation), validation

        return find_remedy(lost, options, attempt, seconds, may_correct=self._may_correct)


RECOVERY: AccuracyRecovery = JudgedRecovery.of
