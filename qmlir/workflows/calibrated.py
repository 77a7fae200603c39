"""A float module that was lowered and profiled once, from which any settings of types make a quantized module.

`Calibrated` keeps the profile, the samples that evaluate repairs, and the outputs of the float module. So `quantize`
can decide types again under other settings without running the calibration samples a second time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

from xdsl.dialects.builtin import ModuleOp

from qmlir.interpreter.samples import Data, Run
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, revised
from qmlir.ir.verification import verify
from qmlir.passes.primitive.nn_equalize import equalize
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import CLEAN, STORE, given_recipe, literal_steps, quantize_pipeline
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.report import WidenedValues, float_reasons, widened
from qmlir.quantization.settings import QuantizeSettings, understood
from qmlir.workflows.profiling import profile
from qmlir.workflows.repairing import EQUALIZES, MOST, MOST_BESIDE, JudgesBeside, Repair, Repairing, repair_passes
from qmlir.workflows.validating import ENOUGH, References, Share, ValidationOptions, runs_to_compare


def stages_of(
    settings: QuantizeSettings,
    module: ModuleOp,
    *,
    is_trained: bool = False,
    repair: LiteralString = "",
    unrolls: bool = False,
) -> Callable[..., None]:
    """`run(changed, *stages, **given)`, which runs stages of the pipeline `quantize` for `module` by `settings`.

    Where it `is_trained`, or there is a `repair`, constants stay floats behind casts until they are stored. With
    `unrolls`, long recurrent layers are lowered to the parts of all of their steps.
    """
    settings = understood(settings)
    pipeline = quantize_pipeline(settings, module, is_trained=is_trained or bool(repair))
    options: dict[str, Any] = {"repair": literal_steps(f"{repair},{STORE}")} if repair else {}
    options |= {"unrolls": True} if unrolls else {}
    recipe = given_recipe(settings)

    def run(changed: ModuleOp, *stages: str, **given: Any) -> None:
        run_pipeline(changed, pipeline.passes(*stages, **options), given_recipe=recipe, **given)
        verify(changed)

    return run


@dataclass(frozen=True)
class Judging:
    """Which samples calibrate, repair, judge the repair and validate."""

    shorten: LiteralString
    """The pass that has to run with or without a repair."""

    share: Share | None = None
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
        shorten: LiteralString,
        validation: ValidationOptions | None,
    ) -> "Judging":
        """That of `lowered`, made of `module`, where there are samples."""
        passes = repair_passes(effort or 0, shorten)
        share: Share | None = None
        if passes or (validation is not None and validation.data is None):
            share = Share(runs_to_compare(module), enough=0 if passes else ENOUGH)
        asked = Repairing(passes, lowered, share, required=shorten) if passes and share is not None else None
        beside: Repairing | None = None
        if effort is None:
            judges = JudgesBeside(runs_to_compare(module), share)
            most = MOST if shorten else min(MOST_BESIDE, runs_to_compare(module))  # large runs tell as much in fewer
            beside = Repairing(repair_passes(1, shorten), lowered, judges, most, required=shorten)
        return Judging(shorten, share, asked, beside)

    @property
    def calibrating(self) -> Callable[[Iterable[Run]], Iterable[Run]] | None:
        """Takes all runs, and gives those that calibrate; `None` for all of them."""
        holds_out = self.asked or self.beside or self.share
        return None if holds_out is None else holds_out.calibrating

    @property
    def may_correct(self) -> bool:
        """Whether samples were kept by which biases can be corrected though no effort was asked for."""
        return self.beside is not None and self.beside.is_judged

    def chosen(self, profiled: ModuleOp, *, corrects: bool) -> Repairing | None:
        """The repair to try on a module with recorded statistics: always one if it `corrects` biases."""
        beside = self.beside
        if beside is None or not beside.is_judged:
            return self.asked
        return beside if corrects or self.shorten or beside.may_be_worth_it(profiled) else self.asked

    def is_worth_it(self, repairing: Repairing, profiled: ModuleOp, decided: ModuleOp) -> bool:
        """Whether the repair is tried on the `decided` module; a repair that was asked for always is."""
        return repairing is not self.beside or bool(self.shorten) or repairing.is_worth_it(profiled, decided)


@dataclass
class _Watch:
    """What is noted of decisions."""

    used: set[int] = field(default_factory=set[int])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    wide: list[WidenedValues] = field(default_factory=list[WidenedValues])

    def __call__(self, recipe: Recipe, decided: Sequence[Decisions]) -> None:
        self.used.update(recipe.used)
        self.reasons.update(float_reasons(decided))
        self.wide[:] = widened(recipe, decided)


@dataclass(frozen=True)
class Decided:
    """A module with decided types, and the modules and the profile that led to it."""

    source: ModuleOp
    profile: Profile
    profiled: ModuleOp
    module: ModuleOp
    watch: _Watch = field(default_factory=_Watch)

    @staticmethod
    def of(source: ModuleOp, profile: Profile, profiled: ModuleOp, run: Callable[..., None]) -> "Decided":
        """Decide the types of `profiled`, the lowered `source` with its statistics, by the stages of `run`."""
        found = Decided(source, profile, profiled, profiled.clone())
        run(found.module, "decide", watch=found.watch)
        run(found.module, "propagate")
        return found


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
class Attempt:
    """A quantized module, made under some settings."""

    settings: QuantizeSettings
    module: ModuleOp
    """It is complete but for the stage `store`, so that its values still have the keys of the float module."""

    decided: Decided
    repair: Repair | None


@dataclass(frozen=True)
class Calibrated:
    """A float module, its lowered form, and the statistics that decide types."""

    source: ModuleOp
    lowered: ModuleOp
    profile: Profile
    references: References
    judging: Judging
    effort: int | None
    """The effort that was asked for; `None` where biases are corrected only if that is worth it."""

    observers: Sequence[str] = ()

    def attempt(self, settings: QuantizeSettings, *, corrects: bool = False) -> Attempt:
        """Decide types under `settings`, repair the weights, and raise the operations.

        `settings` must have the targets, `keep_composites` and `accumulator_bits` that the module was lowered by. With
        `corrects`, biases are corrected as effort 1 does, if no effort was asked for and that helps on samples that the
        correction has not used. Raises `DiagnosticError` for a recipe that does not fit the module.
        """
        judging = self.judging
        passes = repair_passes(self.effort or 0, judging.shorten)

        def repairs_by(text: LiteralString) -> Callable[..., None]:
            return stages_of(settings, self.source, repair=text)

        run = repairs_by(passes[-1] if passes else "")
        profiled = self.lowered.clone()
        run(profiled, "profile", "mask", "balance", taken=self.profile)
        repairing = judging.chosen(profiled, corrects=corrects)
        if repairing is not None:
            run = repairs_by(repairing.candidates[-1])
        made = Decided.of(self.source, self.profile, profiled, run)
        if repairing is not None and (corrects or judging.is_worth_it(repairing, profiled, made.module)):
            equalized = _Equalized(self.source, run, self.observers) if (self.effort or 0) >= EQUALIZES else None
            module, repair = repairing.apply(self.references, profiled, made.module, repairs_by, equalized)
            if equalized is not None and equalized.made is not None and repair.is_equalized:
                made = equalized.made
            return Attempt(settings, module, made, repair)
        module = made.module
        if repairing is not None:
            run_pipeline(module, STORE)
        run(module, *(("repair",) if judging.shorten else ()), "raise", "rescale")
        return Attempt(settings, module, made, None)

    def stored(self, attempt: Attempt) -> ModuleOp:
        """The module of `attempt` after its last stage, which changes it in place."""
        stages_of(attempt.settings, self.source)(attempt.module, "store")
        return attempt.module
