"""A float module and samples in, a quantized module out: lowered, profiled, decided, raised, and then validated."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import IO, Any, LiteralString, Unpack

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.nn.ops.dynamic import DynamicQuantizeOp
from qmlir.dialects.nn.requantize import computes_quantized
from qmlir.interpreter.samples import Data, Run
from qmlir.interpreter.sources import Preprocess, limited, preprocessed
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, revised, text_error
from qmlir.ir.provenance import describe
from qmlir.ir.verification import verify
from qmlir.passes.primitive.nn_equalize import equalize
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import (
    CLEAN,
    STORE,
    given_recipe,
    kept_composites,
    literal_steps,
    quantize_pipeline,
    short_sums_text,
    target_text,
)
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.observed import observed
from qmlir.quantization.profiles.carried import carried_profile, statistics_of_tensors
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.recipe import Recipe, effort_in
from qmlir.quantization.report import WidenedValues, coverage, float_reasons, widened
from qmlir.quantization.settings import QuantizeSettings, names_in, tells_settings, understood
from qmlir.target import targets_of
from qmlir.text.tables import counted
from qmlir.workflows.cluster.opening import Cluster
from qmlir.workflows.loading import takes_model
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantized import Quantized as Quantized
from qmlir.workflows.repairing import EQUALIZES, MOST, MOST_BESIDE, JudgesBeside, Repair, Repairing, repair_passes
from qmlir.workflows.validating import ENOUGH, References, Share, ValidationOptions, runs_to_compare, validate


def stages_of(
    settings: QuantizeSettings, module: ModuleOp, *, is_trained: bool = False, repair: LiteralString = ""
) -> Callable[..., None]:
    """`run(changed, *stages, **given)`, which runs stages of the pipeline `quantize` for `module` by `settings`.

    Where it `is_trained`, or there is a `repair`, constants stay floats behind casts until they are stored.
    """
    settings = understood(settings)
    pipeline = quantize_pipeline(settings, module, is_trained=is_trained or bool(repair))
    options = {"repair": literal_steps(f"{repair},{STORE}")} if repair else {}
    recipe = given_recipe(settings)

    def run(changed: ModuleOp, *stages: str, **given: Any) -> None:
        run_pipeline(changed, pipeline.passes(*stages, **options), given_recipe=recipe, **given)
        verify(changed)

    return run


@dataclass(frozen=True)
class _Runs:
    """Who runs the samples that calibrate."""

    processes: int
    cluster: "Cluster | None"
    resume: str | PathLike[str] | None
    progress: IO[str] | None


def _refuse(data: Data | None, profiled: Profile | None, observers: Sequence[str], repairing_effort: int) -> None:
    """Raise `DiagnosticError` for what does not go together; `repairing_effort` is 0 where nothing is repaired."""
    if data is not None and profiled is not None:
        raise text_error("quantize takes samples or a profile, one of them")
    if observers and data is None:
        raise text_error(f"quantize takes samples with observers ({', '.join(observers)}), which record what they give")
    if repairing_effort and data is None:
        raise text_error(f"effort {repairing_effort} repairs by samples, and there are none: give data, or effort 0")


@dataclass(frozen=True)
class _Judging:
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
    ) -> "_Judging":
        """That of `lowered`, made of `module`, where there are samples."""
        passes = repair_passes(effort or 0, shorten)
        share: Share | None = None
        if passes or (validation is not None and validation.data is None):
            share = Share(runs_to_compare(module), enough=0 if passes else ENOUGH)
        asked = Repairing(passes, lowered, share, required=shorten) if passes and share is not None else None
        beside: Repairing | None = None
        if effort is None:
            judges = JudgesBeside(runs_to_compare(module), share)
            most = MOST if shorten else MOST_BESIDE
            beside = Repairing(repair_passes(1, shorten), lowered, judges, most, required=shorten)
        return _Judging(shorten, share, asked, beside)

    @property
    def calibrating(self) -> Callable[[Iterable[Run]], Iterable[Run]] | None:
        """Takes all runs, and gives those that calibrate; `None` for all of them."""
        holds_out = self.asked or self.beside or self.share
        return None if holds_out is None else holds_out.calibrating

    def chosen(self, profiled: ModuleOp) -> Repairing | None:
        """The repair to try, by what was recorded."""
        beside = self.beside
        if beside is not None and (beside.may_be_worth_it(profiled) or (self.shorten and beside.is_judged)):
            return beside
        return self.asked

    def is_worth_it(self, repairing: Repairing, profiled: ModuleOp, decided: ModuleOp) -> bool:
        """Whether it is tried, by what was decided: what is asked for always is."""
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
class _Decided:
    """A module whose types are decided, and what it was made of."""

    source: ModuleOp
    profile: Profile
    profiled: ModuleOp
    module: ModuleOp
    watch: _Watch = field(default_factory=_Watch)

    @staticmethod
    def of(source: ModuleOp, profile: Profile, profiled: ModuleOp, run: Callable[..., None]) -> "_Decided":
        """What `run` decides of `profiled`, the lowered `source` with its statistics."""
        found = _Decided(source, profile, profiled, profiled.clone())
        run(found.module, "decide", watch=found.watch)
        run(found.module, "propagate")
        return found


@dataclass
class _Equalized:
    """The equalized float model, decided about as the given one: what a repair may be tried on."""

    source: ModuleOp
    run: Callable[..., None]
    observers: Sequence[str]
    made: _Decided | None = None

    def __call__(self, samples: Data) -> tuple[ModuleOp, ModuleOp] | None:
        """With the statistics of `samples`; `None` where nothing is to be equalized, or the recipe is not for that."""
        try:
            with revised(lambda _: None):  # all was said of the model that was given
                self.made = self._decided(samples)
        except DiagnosticError as error:  # such as a rule for what is amplified, where nothing is any more
            emit(Diagnostic(Severity.REMARK, f"the equalized model is not tried: {error.diagnostic.message}"))
        return None if self.made is None else (self.made.profiled, self.made.module)

    def _decided(self, samples: Data) -> _Decided | None:
        source = run_pipeline(self.source.clone(), CLEAN)
        if not equalize(source):
            return None
        lowered = source.clone()
        self.run(lowered, "target", "lower")
        profiled = profile(lowered, samples, observers=self.observers)
        profiled = replace(profiled, extreme_samples={})  # their numbers are those of the samples of the repair
        self.run(lowered, "profile", "mask", "balance", taken=profiled)
        return _Decided.of(source, profiled, lowered, self.run)


def _quantized(
    module: ModuleOp,
    data: Data | None,
    profiled: Profile | None,
    validation: ValidationOptions | None,
    observers: Sequence[str],
    runs: _Runs,
    effort: int | None,
    settings: QuantizeSettings,
) -> Quantized:
    """What `quantize` does; validated with `validation` only.

    All of `data` calibrates where no share is held out: without `validation`, or where that has samples of its own.
    """
    shorten = short_sums_text(understood(settings))
    effort = effort if effort is not None else effort_in(settings.get("recipe", ""))
    passes = repair_passes(effort or 0, shorten)
    _refuse(data, profiled, observers, (effort or 0) if passes else 0)
    _warn_of_quantized(module, settings)
    _warn_of_idle_keep(module, settings)

    def repairs_by(text: LiteralString) -> Callable[..., None]:
        return stages_of(settings, module, repair=text)

    run = repairs_by(passes[-1] if passes else "")
    lowered = module.clone()
    run(lowered, "target", "lower")
    judging = _Judging(shorten)
    if data is not None:
        if any(observed(each.value) for each in keyed_values(lowered)):
            message = "the ranges that the model carries have no effect: those of the samples replace them"
            emit(Diagnostic(Severity.WARNING, message))
        judging = _Judging.of(module, lowered, effort, shorten, validation)
        profiled = profile(
            lowered, data, observers=observers, chosen=judging.calibrating, processes=runs.processes,
            cluster=runs.cluster, resume=runs.resume, progress=runs.progress,
        )  # fmt: skip
    elif profiled is None:
        profiled = _carried(lowered, module)
    run(lowered, "profile", "mask", "balance", taken=profiled)
    repairing = judging.chosen(lowered)
    if repairing is not None:
        run = repairs_by(repairing.candidates[-1])
    made = _Decided.of(module, profiled, lowered, run)
    references = References(module)
    repair: Repair | None = None
    if repairing is not None and judging.is_worth_it(repairing, lowered, made.module):
        equalized = _Equalized(module, run, observers) if (effort or 0) >= EQUALIZES else None
        lowered, repair = repairing.apply(references, lowered, made.module, repairs_by, equalized)
        if equalized is not None and equalized.made is not None and repair.is_equalized:
            made = equalized.made
    else:
        lowered = made.module
        if repairing is not None:
            run_pipeline(lowered, STORE)
        run(lowered, *(("repair",) if shorten else ()), "raise", "rescale")
    validated = None if validation is None else validate(references, lowered, validation, judging.share)
    run(lowered, "store")
    return Quantized(
        lowered, made.source, _asked(settings, module), made.profile, made.profiled, frozenset(made.watch.used),
        made.watch.reasons, tuple(made.watch.wide), validated, repair, effort,
    )  # fmt: skip


def _warn_of_quantized(module: ModuleOp, settings: QuantizeSettings) -> None:
    """Warn of what is quantized already and stays what it is, which the caller may not have meant.

    Raises `DiagnosticError` if nothing is left to quantize, and settings ask for anything else.
    """
    if not computes_quantized(module):
        return
    found = coverage(module)
    dynamic = [op for op in module.walk() if isinstance(op, DynamicQuantizeOp)]
    if found.operations and found.quantized_operations == found.operations:
        message = "the model is quantized already, and keeps its types"
        others = ("keep", "target", "states", "processes")  # they may be those of the whole project
        usual = {"granularity": "channel"}
        asked = sorted(name for name, value in settings.items() if value and value != usual.get(name))
        if asked := [name for name in asked if name not in others]:
            listed = ", ".join(f"'{name}'" for name in asked)
            raise text_error(f"{message}: {listed} cannot have an effect; help: quantize the float model")
        message += ": quantize takes the float model"
    elif dynamic:
        message = (
            f"the model is quantized already, dynamically in {counted(len(dynamic), 'place')} (the first: "
            f"{describe(dynamic[0])}): products of their results keep their integers; quantize takes the float model"
        )
    else:
        return
    emit(Diagnostic(Severity.WARNING, message))


def _warn_of_idle_keep(module: ModuleOp, settings: QuantizeSettings) -> None:
    """Warn of `keep` without a name where targets are named, which say themselves what stays whole."""
    named = target_text(settings) or ",".join(each.name for each in targets_of(module))
    if named and "keep" in settings and not names_in("keep", settings["keep"]):
        message = f"an empty 'keep' has no effect: the target {named} says which composites stay whole; help: no target"
        emit(Diagnostic(Severity.WARNING, message))


def _asked(settings: QuantizeSettings, module: ModuleOp) -> QuantizeSettings:
    """`settings` with the defaults that are those of this version: what does the same again says them."""
    settings = understood(settings)
    if target_text(settings) or targets_of(module):
        return settings
    return {"granularity": "channel", "keep": kept_composites(), **settings}


def _carried(lowered: ModuleOp, module: ModuleOp) -> Profile:
    """The statistics that `lowered`, made of `module`, carries."""
    if not any(observed(each.value) for each in keyed_values(lowered)):
        raise text_error(
            "there are no samples, and the model carries no statistics: quantize takes samples, a profile of the "
            "lowered model, or a model with statistics; 'qmlir profile MODEL --data PATH -o FILE.onnx' writes one, and "
            "tools may annotate tensors with scales and zero points, or give them metadata: 'qmlir.min' and 'qmlir.max'"
        )
    return carried_profile(lowered, statistics_of_tensors(module))


@takes_model
@tells_settings(module="Model", data="Data | None", validation="Data | None", cluster="str | Client | None")
def quantize(
    module: ModuleOp,
    data: Data | None = None,
    *,
    profiled: Profile | None = None,
    samples: int | None = None,
    validation: Data | None = None,
    validate: bool = True,
    min_sqnr: float | None = None,
    min_agreement: float | None = None,
    observers: Sequence[str] = (),
    preprocess: Preprocess | None = None,
    processes: int = 1,
    cluster: "Cluster | None" = None,
    resume: str | PathLike[str] | None = None,
    progress: IO[str] | None = None,
    effort: int | None = None,
    **settings: Unpack[QuantizeSettings],
) -> Quantized:
    """Post-training quantization: a quantized module of a float `module`, which is not changed, or of the path of one.

    What comes back prints its summary, and functions that take a model take it; the module itself is its `module`.

    The module is lowered, profiled on `data`, or on its first `samples`, its types are decided, and its operations are
    raised. `profiled` is a profile of the lowered module, in place of `data` (`qmlir.profile` with `passes=None`).
    With neither, the statistics that the module carries are used: types with ranges, and `calib.stats` beside values.
    `observers` of packages record something of their own in `data`, for a calibrator. Inputs and outputs of the module
    stay float, but for `states`; between them it computes on integers, but for operations that stay in float.
    `preprocess`, a function or its name, makes the input of each item of the data.
    `effort` repairs what rounding loses: 1 corrects biases, 2 chooses the codes of weights by the error of
    their products (GPTQ), too, with 4 bits and fewer also their scales, and 3 learns codes behind activations
    (AdaRound). From 2 on the whole is tried on the equalized model, too (`nn-equalize`), which is then the `source` of
    the result. Every fourth sample is held out; of an effort and those below it the repair is kept that helps most
    there, and none where none helps.
    A recipe may name an `effort` at its top, which holds where none is given here.
    Without an effort biases are corrected where depthwise convolutions amplify what rounding loses (`amplified`), if
    that helps on samples that the correction has not used; all of them calibrate.
    `processes`, `cluster` and `resume` are those of `qmlir.profile`: they say who runs the samples that calibrate, and
    do not change the result. A terminal as `progress` gets a bar, any other stream a line every ten seconds.

    The outputs are compared with those of `module` on a few samples: on those of `validation`; or on a share of more
    than 256 samples of `data`, which is held out of the calibration; or on some that calibrate. Lost answers are a
    warning that names the first cause, and a `DiagnosticError` where an output has less than `min_sqnr` decibels or
    gives less than the share `min_agreement` of the samples the same class. `validate=False` leaves all of that out.

    Raises `DiagnosticError` for data, a profile or a recipe that does not fit.
    """
    given = None if validation is None else preprocessed(validation, preprocess)
    options = ValidationOptions(given, min_sqnr, min_agreement)
    return _quantized(
        module,
        None if data is None else limited(preprocessed(data, preprocess), samples),
        profiled,
        options if validate or options.is_asked_for else None,
        observers,
        _Runs(processes, cluster, resume, progress),
        effort,
        settings,
    )
