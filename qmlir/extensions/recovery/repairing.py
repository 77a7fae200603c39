"""Accuracy recovery: passes that repair rounding errors, their evaluation on held-out samples, and remedies."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape
from shlex import quote
from typing import Generic, LiteralString, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir import registry
from qmlir.arithmetic.schemes import Storage
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.infer import bytes_of
from qmlir.extensions.recovery.efforts import EFFORTS, SCALES
from qmlir.extensions.recovery.nn_equalize import equalize
from qmlir.extensions.recovery.repairs import mark_repaired
from qmlir.extensions.recovery.rounded_weights import bias_beside, rounded_weights
from qmlir.interpreter.samples import Data
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, printable, revised
from qmlir.ir.gc_control import free_dropped_modules
from qmlir.ir.provenance import origins_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN, STORE, QuantizeOptions
from qmlir.quantization.given import fixed_values
from qmlir.quantization.predicates import depthwise
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.recipe import Recipe, make_recipe
from qmlir.quantization.recipe_text import table_text
from qmlir.quantization.report import LayerImprovement
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import AccuracyRecovery, Attempt, Calibrated, Decided, decided, stages_of
from qmlir.workflows.calibration_samples import HoldOut, runs_to_compare
from qmlir.workflows.comparison.compare import arguments_of
from qmlir.workflows.comparison.errors import sqnr
from qmlir.workflows.profiling import profile
from qmlir.workflows.recovery import EQUALIZE, Remedies, Remedy, Repair, Tried
from qmlir.workflows.validating import References, Validating, Validation, ValidationOptions

BLOCKS: Mapping[LiteralString, LiteralString] = {
    EFFORTS[3]: f"{SCALES},quant-gptq,quant-adaround,quant-adaround{{blocks=3 weighted}},quant-correct-bias"
}
"""The passes that are tried last, after the passes of the effort level and the equalized model, because they take as
long as all of those together.
"""

EQUALIZES = 2
"""The lowest effort level that also tries an equalized model (`nn-equalize`)."""

MOST = 256
"""The maximum number of runs that a repair uses. Measured on a ResNet-8 with 4-bit weights: 64 give 24.9 dB, 256 25.7
dB.
"""

MOST_BESIDE = 16
"""The maximum number of runs used to correct biases if no effort was requested. A mean needs few runs, because each run
has many positions.
"""

_EXACT_BITS = 16
"""The code width in bits from which on rounding does not shift means: 16 bits preserve the channel means."""

_LOST = -3000.0
"""An SQNR in decibels below which the noise overflows f64."""

_IN_STEP = 1 << 30
"""The maximum number of bytes of one value over all runs, since the runs of a repair advance together."""


_FREED = 1 << 26
"""The bytes of weights from which on dropped modules are freed before the next one is made; that takes up to a second.
"""

_LAST: LiteralString = "quant-correct-bias"
"""The pass, part of every effort, that compensates for mean shifts caused by the others."""


def repair_passes(effort: int, required: LiteralString = "") -> tuple[LiteralString, ...]:
    """Returns the candidate pipelines of all effort levels up to `effort`; none for 0.

    If there are `required` passes, these choose the quantized weights, so that only biases remain to be repaired. A
    repaired bias is part of the sums that `quant-fit-accumulators` bounds, so this pass runs again.
    """
    if required and effort:
        return (f"{required},{_LAST},{required}" if "quant-fit-accumulators" in required else f"{required},{_LAST}",)
    return tuple(passes for other, passes in sorted(registry.efforts().items()) if 0 < other <= effort)


def runs_to_repair(module: ModuleOp) -> int:
    """Returns the number of runs of `module` that a repair uses; large values reduce it.

    A value computed from constants alone, such as an embedding table, is held once for all runs (`Lockstep`).
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


def _needs_correction(made: Decided) -> bool:
    """Returns true if a depthwise convolution is quantized and some layer has a bias to correct.

    Constants must still be floats. Some contraction must read codes of fewer than 16 bits: wider codes do not shift a
    mean.
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
    """Returns the module with the repair that brings it closest to the float module, its decided types, and the gain.

    Tries each of the `candidates`, which are pass pipelines that use the repair samples of `hold_out`. The `required`
    passes need no samples, and run even if there is no repair. `runs(passes)` returns the function that runs the
    pipeline stages with `passes` as the repair. `equalized` decides types for the equalized model with the statistics
    of the repair samples, or returns `None` if nothing can be equalized; the best candidate is then also tried on that
    model. All returned modules have passed the stages up to `rescale`.
    """
    signature = function_of(references.module, ENTRY)
    samples = [arguments_of(signature, each) for each in hold_out.repairing]
    validating = Validating(references, ValidationOptions(), *hold_out.judging)

    def judged(module: ModuleOp) -> Mapping[str, float]:
        """Returns the SQNR of each float output that can be compared."""
        rows = validating.compared(module).outputs
        return {row.name: row.about_zero_db for row in rows if row.about_zero_db is not None and not row.is_part}

    plain = made.module.clone()
    run_pipeline(plain, f"{required},{STORE}" if required else STORE)
    runs(candidates[-1])(plain, "raise", "rescale")
    chosen: LiteralString = candidates[-1]
    best, known, layers = (plain, made), judged(plain), tuple[LayerImprovement, ...]()
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
        gains, module = list[LayerImprovement](), of.module.clone()
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
    count = sum(each.samples for each in validating.runs)
    return *best, Repair(chosen, count, validating.source, *ratios[chosen], layers, others, required)


def noise_ratios(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[float, float]:
    """Returns the SQNR in decibels of each of two modules, from the mean relative noise of their outputs.

    The arguments hold the SQNR of each output of the two modules. The function averages noise because decibels cannot
    be averaged if an output is exact (infinite SQNR). Outputs that are exact in both modules, or lost in both, are
    ignored unless there are no others. The result is negative infinity if nothing can be compared.
    """
    both = [(before[name], after[name]) for name in before if name in after]
    told = [pair for pair in both if any(map(math.isfinite, pair)) or pair[0] != pair[1]] or both
    one, other = (_together([pair[side] for pair in told]) for side in (0, 1))
    return one, other


def _together(ratios: Sequence[float]) -> float:
    """Returns the decibels of the mean noise of outputs with the decibels `ratios`.

    If all are equal, the result is exactly that value.
    """
    if len(set(ratios)) <= 1:
        return next(iter(ratios), -math.inf)
    return sqnr(1.0, sum(math.inf if each < _LOST else 10 ** (-each / 10) for each in ratios) / len(ratios))


def _equalized(
    source: ModuleOp, samples: Data, run: Callable[..., None], observers: Sequence[str], recipe: Recipe
) -> Decided | None:
    """Equalizes the float model and decides its types from the statistics of `samples`, as for the given model.

    Values whose parameters the recipe gives are not rescaled. Returns `None` if nothing can be equalized, or the recipe
    does not fit the equalized model.
    """
    try:
        with revised(lambda _: None):  # everything was reported for the given model
            equal = run_pipeline(source.clone(), CLEAN)
            if not equalize(equal, fixed_values(equal, recipe)):
                return None
            lowered = equal.clone()
            run(lowered, "target", "lower")
            profiled = profile(lowered, samples, observers=observers)
            profiled = replace(profiled, extreme_samples={})  # they number the samples of the repair
            run(lowered, "profile", "mask", "balance", taken=profiled)
            return decided(equal, profiled, lowered, run)
    except DiagnosticError as error:  # for example a rule that no longer matches any tensor
        emit(Diagnostic(Severity.REMARK, f"the equalized model is not tried: {error.diagnostic.message}"))
        return None


# Remedies for accuracy regressions, each tried on the samples that showed the regression before it is suggested.
#
# `find_remedy` spends at most as much time as quantization took. It tries 8 bits instead of fewer, the first bad
# operations in float, 16 bits for these operations, 16 bits for all activations, and corrected biases as with effort 1.
# It stops at the first remedy that restores agreement with the float model. If the first bad operation is a recurrent
# layer, all layers of its operator are tried in float together, as each accumulates errors over all time steps.

MOST_CAUSES = 3
"""The maximum number of bad operations kept in float together; each is found after the previous one is in float."""

_RECURRENT = ("LSTM", "GRU", "RNN")
"""Recurrent operators, which accumulate errors over all time steps."""

_BITS = 8
"""The bit width that is tried if a smaller one was requested."""


def _excluding(globs: Sequence[str]) -> Remedy:
    rules = [{"node": each, "quantize": False} for each in globs]
    return Remedy(" ".join(f"--exclude {quote(printable(each))}" for each in globs), {}, rules)


def _widening(names: Sequence[str]) -> Remedy:
    rules = [{"node": escape(name), "storage": f"i{2 * _BITS}"} for name in names]
    text = ", ".join(table_text(rule).replace("\n", " ") for rule in rules)
    return Remedy(f"--recipe with {printable(text)}", {}, rules)


_CORRECTING = Remedy("--effort 1", {}, corrects=True)
_WIDE = Remedy(f"--activations i{2 * _BITS}", {"activations": f"i{2 * _BITS}"})


def _wider(options: QuantizeOptions) -> Iterator[Remedy]:
    """Yields remedies that use 8 bits for each option that requests fewer."""
    for name in ("weights", "activations"):
        try:
            is_narrow = Storage.parse(getattr(options, name) or "i8").bits < _BITS
        except ValueError:
            continue  # a float format
        if is_narrow:
            yield Remedy(f"--{name} i8", {name: "i8"})


_Made = TypeVar("_Made")


def find_remedy(
    lost: Validation,
    options: QuantizeOptions,
    attempt: Callable[[Remedy], tuple[_Made, Validation]],
    seconds: float,
    *,
    may_correct: bool,
) -> tuple[Remedies, _Made | None]:
    """Tries remedies for an accuracy regression; returns all attempts and the result of `attempt` for the best one.

    Args:
        lost: The comparison that shows the regression.
        options: The options that caused it.
        attempt: Quantizes again under a remedy, and compares on the same samples.
        seconds: No remedy is started that would likely end later.
        may_correct: Whether `attempt` can correct biases.
    """
    trials = _Trials(attempt, lost, time.monotonic() + seconds)
    _ = trials.cured(options, may_correct=may_correct)
    return Remedies(lost, tuple(trials.tried)), trials.made


@dataclass
class _Trials(Generic[_Made]):
    """The remedies tried so far, and the result of the best one."""

    attempt: Callable[[Remedy], tuple[_Made, Validation]]
    lost: Validation
    end: float
    """The deadline, in seconds of `time.monotonic`."""

    longest: float = 0.0
    tried: list[Tried] = field(default_factory=list[Tried])
    made: _Made | None = None

    def cured(self, options: QuantizeOptions, *, may_correct: bool) -> bool:
        """Tries remedies, the most certain first, until one restores agreement; returns true if one did.

        If only a few predicted classes change and no output has degraded, only biases are corrected, as wider types
        would cost run time.
        """
        if not self.lost.faults:
            return may_correct and self._cures(_CORRECTING)
        if any(map(self._cures, _wider(options))):
            return True
        names: list[str] = []
        globs: list[str] = []
        cause = self.lost.cause
        for _ in range(MOST_CAUSES):
            if cause is None or not (more := [each for each in cause.nodes if each not in names]):
                break
            names += more
            globs += [cause.op_type] if cause.op_type in _RECURRENT else map(escape, more)
            count = len(self.tried)
            if self._cures(_excluding([*globs])):
                return True
            cause = self.tried[-1].validation.cause if len(self.tried) > count else None
        others = [*([_widening(names)] if names else []), _WIDE, *([_CORRECTING] if may_correct else [])]
        return any(map(self._cures, others))

    def _cures(self, remedy: Remedy) -> bool:
        """Tries a remedy, unless time is too short, or the model or its target rejects the remedy."""
        start = time.monotonic()
        if self.tried and start + self.longest > self.end:
            return False
        try:
            with revised(lambda _: None):  # already reported for the first result
                made, validation = self.attempt(remedy)
        except DiagnosticError:
            return False
        self.longest = max(self.longest, time.monotonic() - start)
        self.tried.append(Tried(remedy, validation))
        if Remedies(self.lost, tuple(self.tried)).best is self.tried[-1]:
            self.made = made
        return self.tried[-1].cures


# The service.


@dataclass(frozen=True)
class JudgedRecovery:
    """The repairs to try on a module whose types are decided, and the samples that they use."""

    effort: int | None
    """The requested effort; `None` corrects biases only if that is likely to help."""

    required: LiteralString
    """The passes that must run, with or without a repair."""

    hold_out: HoldOut | None
    """The split of the samples; `None` if there are none."""

    @staticmethod
    def of(
        module: ModuleOp, lowered: ModuleOp, effort: int | None, required: LiteralString, hold_out: HoldOut | None
    ) -> "JudgedRecovery":
        """Implements the service `recovery` (`qmlir.workflows.calibrated.AccuracyRecovery`)."""
        if hold_out is not None and effort != 0:
            # Few large runs suffice to estimate a mean.
            most = MOST if effort or required else min(MOST_BESIDE, runs_to_compare(module))
            hold_out.keep_for_repair(min(most, runs_to_repair(lowered)))
        return JudgedRecovery(effort, required, hold_out)

    @property
    def _may_correct(self) -> bool:
        """True if samples were kept for correcting biases although no effort was requested."""
        return self.effort is None and self.hold_out is not None and bool(self.hold_out.judging[0])

    def attempt(self, calibrated: Calibrated, options: QuantizeOptions, *, corrects: bool = False) -> Attempt:
        """Decides types under `options`, repairs the weights, and raises the operations.

        With `corrects`, biases are corrected as with effort 1, if no effort was requested and the correction helps on
        samples that it has not used. Raises `DiagnosticError` if the recipe does not fit the module.
        """
        source, effort = calibrated.source, self.effort or 0

        def stages(repair: LiteralString = "") -> Callable[..., None]:
            return stages_of(options, source, repair=repair)

        candidates, is_sure = repair_passes(effort, self.required), bool(corrects or self.required or effort)
        profiled = calibrated.profiled_by(stages(*candidates[-1:]))
        if self._may_correct and (is_sure or depthwise(function_of(profiled, ENTRY))):  # their biases need it most
            candidates = repair_passes(1, self.required)
        run = stages(*candidates[-1:])
        made = decided(source, calibrated.profile, profiled, run)
        if self.hold_out is None or not candidates or not (is_sure or _needs_correction(made)):
            if candidates:
                run_pipeline(made.module, STORE)
            return calibrated.finished(options, made, run)
        recipe = make_recipe(options.rules(), options.recipe)
        equalizing = partial(_equalized, source, run=run, observers=calibrated.observers, recipe=recipe)
        module, made, repair = repaired(
            made, candidates, calibrated.references, self.hold_out, stages,
            required=self.required, equalized=equalizing if effort >= EQUALIZES else None,
        )  # fmt: skip
        return Attempt(options, module, made, repair)

    def remedied(
        self, calibrated: Calibrated, validating: Validating, lost: Validation, options: QuantizeOptions, seconds: float
    ) -> tuple[Remedies, tuple[Attempt, Validation] | None]:
        """Tries remedies for an accuracy regression; returns them with the module and comparison of the best one."""

        weights = sum(bytes_of(op.result) for op in calibrated.source.walk() if isinstance(op, ConstantOp))

        def attempt(remedy: Remedy) -> tuple[tuple[Attempt, Validation], Validation]:
            if weights >= _FREED:
                free_dropped_modules()
            made = self.attempt(calibrated, remedy.added_to(options), corrects=remedy.corrects)
            validation = validating.compared(made.module)
            return (made, validation), validation

        return find_remedy(lost, options, attempt, seconds, may_correct=self._may_correct)


RECOVERY: AccuracyRecovery = JudgedRecovery.of
