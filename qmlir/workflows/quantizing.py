"""Quantization of a float module with samples: lowering, profiling, type decisions, raising and validation."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import IO, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import Storage
from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.requantize import computes_quantized
from qmlir.interpreter.datasets import Preprocess, limited, preprocessed
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import DiagnosticError, text_error, warn
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import describe
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.casts import data_places
from qmlir.quantization.given import given_keys, keys_without_ranges
from qmlir.quantization.profiles.keys import ENTRY, functions_of, keyed_values
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.profiles.statistics import carried_profile, observed, statistics_of_tensors
from qmlir.quantization.recipe import Recipe, effort_in, make_recipe
from qmlir.quantization.recipe_text import AUTO, Effort
from qmlir.quantization.report import coverage
from qmlir.quantization.retyping import slots_of
from qmlir.quantization.settings import QuantizeSettings, tells_settings
from qmlir.quantization.stored_ports import port_storages
from qmlir.specialization.inputs import function_of
from qmlir.target import targets_of
from qmlir.text.tables import counted
from qmlir.workflows.calibrated import AccuracyRecovery, Calibrated, Recovery, stages_of
from qmlir.workflows.calibration_samples import HoldOut, runs_to_compare, warn_of_other_scale, warn_of_scale
from qmlir.workflows.choices import ENOUGH
from qmlir.workflows.evaluating import LabelAccuracy, Labels, accuracy_of, check_labels, with_labels
from qmlir.workflows.loading import takes_model
from qmlir.workflows.profiling import profile as profile_of
from qmlir.workflows.quantized import Quantized as Quantized
from qmlir.workflows.recovery import Remedies
from qmlir.workflows.validating import References, Validating, ValidationOptions
from qmlir.workflows.workers import Cluster


def _refuse(data: Data | None, profiled: Profile | None, observers: Sequence[str], repairing_effort: int) -> None:
    """Raises `DiagnosticError` for arguments that cannot be combined; `repairing_effort` is 0 without a repair."""
    if data is not None and profiled is not None:
        raise text_error("pass either samples (--data, data=) or a profile (--profile, profile=), not both")
    if observers and data is None:
        raise text_error(f"observers ({', '.join(observers)}) require samples; pass --data (data=)")
    if repairing_effort and data is None:
        raise text_error(f"effort {repairing_effort} requires samples; pass --data (data=), or --effort 0 (effort=0)")


def _accuracy_recovery(effort: Effort | None) -> AccuracyRecovery | None:
    """Returns the service `recovery`, or `None`. Raises `DiagnosticError` if it does not have the effort."""
    found: AccuracyRecovery | None = registry.service("recovery")
    levels = sorted({0, *registry.efforts()})
    if effort not in (None, AUTO, *levels):
        raise text_error(f"effort must be one of {', '.join(map(str, levels))} or {AUTO}, but got {effort}")
    if effort and found is None:
        raise text_error(f"effort {effort} requires the extension 'recovery', which is left out")
    return found


def _warn_of_samples(calibrated: Calibrated, validating: Validating, *, is_given: bool) -> None:
    """Warns of samples that are scaled differently than the model expects, or than the given validation samples."""
    function = function_of(calibrated.source, ENTRY)
    if is_given:
        warn_of_other_scale(function, calibrated.profile, validating.runs)
    try:
        outputs = list(validating.references.of(validating.runs))
    except DiagnosticError:
        return  # the comparison reports why the float model cannot run
    warn_of_scale(function, calibrated.profile, outputs)


def _warn_of_quantized(module: ModuleOp, settings: QuantizeSettings) -> None:
    """Warns of parts that are quantized already and keep their types, which the caller may not expect.

    Raises `DiagnosticError` if nothing is left to quantize but settings ask for other types.
    """
    if not computes_quantized(module):
        return
    found = coverage(module)
    dynamic = [op for op in module.walk() if isinstance(op, DynamicQuantizeOp)]
    if found.operations and found.quantized_operations == found.operations:
        message = "the model is quantized already, and keeps its types"
        others = ("keep_composites", "device", "states", "processes")  # these may be settings of a whole project
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
    warn(message)


def _warn_of_idle_keep(module: ModuleOp, options: QuantizeOptions) -> None:
    """Warns if `keep_composites` is empty but targets are set, as these define which composites stay whole."""
    named = ",".join(options.device or (each.name for each in targets_of(module)))
    if named and not options.keep_composites:
        said = "an empty 'keep_composites' has no effect"
        warn(f"{said}: the target {named} says which composites stay whole; help: no target")


def _labeled(
    data: Data | None, validation: Data | None, labels: Labels | bool | None
) -> tuple[Data | None, Data | None, Array | None]:
    """Returns the samples without their labels, and the labels of `validation`, or else of `data`."""
    if labels is None or labels is False:
        return data, validation, None
    if data is None and validation is None:
        raise text_error("labels require samples; pass --data (data=) or --validation (validation=)")
    if isinstance(data, Iterator):  # it is read twice
        data = list(data)
    if validation is not None:
        validation, classes = with_labels(validation, labels)
        return data, validation, classes
    assert data is not None
    data, classes = with_labels(data, labels)
    return data, None, classes


def _carried(lowered: ModuleOp, module: ModuleOp, *, is_given: bool) -> Profile:
    """Returns the statistics that `lowered`, made from `module`, carries; `is_given` is True if rules give
    parameters."""
    if not is_given and not any(observed(each.value) for each in keyed_values(lowered)):
        raise text_error(
            "no calibration data: pass samples with --data PATH (data=), or a profile with --profile FILE (profile=); "
            "the model itself carries no ranges (quantization annotations, or metadata 'qmlir.min' and 'qmlir.max')"
        )
    return carried_profile(lowered, statistics_of_tensors(module))


def _reads_ranges(lowered: ModuleOp, recipe: Recipe) -> bool:
    """Returns True if `recipe` leaves any activation of `lowered` to be quantized by a range that samples record."""
    if not recipe.has_floats:
        return True
    functions = functions_of(lowered)
    for function in functions:
        recipe.find_floats(function)
    numbers = (op for function in functions for op in function.walk() if isinstance(op, Quantizable))
    others = (op for op in numbers if op not in recipe.floats and op.accepts_quantized_values() and data_places(op))
    return any(recipe.quantizes(op, (*slots_of(op).values(), Slot.OUTPUT)) for op in others)


@dataclass(frozen=True)
class _KnownRanges:
    """The values of a lowered module whose ranges do not depend on samples."""

    annotated: frozenset[str]
    """The keys of the values whose ranges the model carries."""

    keeps_annotations: bool
    recipe: Recipe
    ports: Mapping[SSAValue, Storage]
    """The storages of inputs and outputs that callers pass as integers."""

    @staticmethod
    def of(lowered: ModuleOp, options: QuantizeOptions, *, keeps_annotations: bool) -> "_KnownRanges":
        annotated = frozenset(each.key for each in keyed_values(lowered) if observed(each.value) is not None)
        ports = port_storages(lowered, **options.ports, states=options.states)
        return _KnownRanges(annotated, keeps_annotations, make_recipe(options.rules(), options.recipe), ports)

    def without_samples(self, lowered: ModuleOp) -> set[str]:
        """Returns the keys of the values that need no samples, if rules give parameters or annotations are kept."""
        if not self.recipe.gives_parameters and not self.keeps_annotations:
            return set()
        replaced = set[str]() if self.keeps_annotations else self.annotated - given_keys(lowered, self.recipe)
        missing = keys_without_ranges(lowered, self.recipe, self.ports)
        return {each.key for each in keyed_values(lowered)} - {*missing, *replaced}

    def kept_in(self, profile: Profile) -> Profile:
        """Returns `profile` without entries for annotated values, if these keep their ranges; otherwise warns."""
        number = len(self.annotated & {*profile.values, *profile.ranges})
        if self.keeps_annotations and not self.annotated:
            warn("--keep-annotations (keep_annotations) has no effect: the model carries no ranges")
        if self.keeps_annotations:
            values, ranges = (
                {key: each for key, each in known.items() if key not in self.annotated}
                for known in (profile.values, profile.ranges)
            )
            return replace(profile, values=values, ranges=ranges)
        if number:
            warn(
                f"the ranges that the model carries for {counted(number, 'value')} have no effect: those of the "
                "samples replace them; help: pass --keep-annotations (keep_annotations=True) to keep them"
            )
        return profile


_OF_INTEGERS = ("accumulator", "scheme", "calibrator", "requantize", "accumulator_bits", "accumulator_pairs")
"""The settings that change nothing if no activation is quantized by a recorded range."""


def _warn_of_idle_settings(settings: QuantizeSettings, recipe: Recipe) -> None:
    """Warns of `settings` without an effect, because all activations are f32 or quantized at run time."""
    read = ("scheme",) if recipe.is_dynamic else ()
    if idle := [name for name in _OF_INTEGERS if settings.get(name) and name not in read]:
        verb, kind = (
            "has" if len(idle) == 1 else "have",
            "f32, or quantized at run time" if recipe.is_dynamic else "f32",
        )
        warn(f"{', '.join(map(repr, idle))} {verb} no effect: all activations are {kind}; help: omit {', '.join(idle)}")


@takes_model
@tells_settings(
    module="Model",
    data="Data | None",
    validation="Data | None",
    labels="Labels | bool | None",
    cluster="str | Client | Executor | None",
)
def quantize(
    module: ModuleOp,
    data: Data | None = None,
    *,
    profile: Profile | None = None,
    samples: int | None = None,
    validation: Data | None = None,
    labels: Labels | bool | None = None,
    validate: bool = True,
    min_sqnr: float | None = None,
    min_agreement: float | None = None,
    observers: Sequence[str] = (),
    preprocess: Preprocess | None = None,
    processes: int = 1,
    cluster: "Cluster | None" = None,
    resume: str | PathLike[str] | None = None,
    progress: IO[str] | None = None,
    effort: Effort | None = None,
    keep_annotations: bool = False,
    **settings: Unpack[QuantizeSettings],
) -> Quantized:
    """Quantizes a float model with calibration samples, without training.

    The float model is not changed. qmlir records the ranges of its values on `data`, decides their types, and converts
    its operations to integers. Inputs and outputs stay float, except `states`. The summary lists each operation that
    stays in float, with the reason.

    Then the result is compared with the float model: on `validation`, if given; otherwise on held-out samples, if
    `data` has more than 256 samples; otherwise on samples that were used for calibration. If the outputs no longer
    agree, qmlir warns and names the first bad layer. It also tries remedies, for about as long as quantization took,
    and names the first one that helps.

    Args:
        module: The float model: a module, or a path or ONNX model that `load` accepts.
        data: Calibration samples, in a form that `qmlir.profile` accepts. `None` uses `profile`, the ranges that the
            model carries, or the parameters that a recipe gives.
        profile: Statistics to use instead of `data`: the result of `qmlir.profile` with `passes=None`.
        samples: Number of samples of `data` to use, from the first one. `None` uses all.
        validation: Samples for the comparison with the float model, in the same forms as `data`.
        labels: Class indices of the samples, for the top-1 accuracy of the float and the quantized model on all of
            `validation`, or else of `data`: integers, or a file that holds them (`NAME=FILE` selects an array of an
            `.npz` file). `True` takes them from pairs `(inputs, label)`.
        validate: `False` skips the comparison, unless `min_sqnr` or `min_agreement` is set.
        min_sqnr: Minimum signal-to-noise ratio (SQNR) of each output, in dB.
        min_agreement: Minimum fraction of samples whose top-1 class is that of the float model, in [0, 1].
        observers: Names of observers in installed packages, which record additional statistics for their calibrators.
        preprocess: Function that converts an item of the samples to the model's input, or its name:
            `package.module:function` or `file.py:function`.
        processes: Number of processes that run the samples. It does not change the result.
        cluster: Address of a Dask scheduler (`tcp://host:port`), a Dask client, or a `concurrent.futures.Executor`,
            whose workers run the samples. It does not change the result.
        resume: Folder for the results of finished tasks, so that an interrupted calibration can continue.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.
        effort: Level of accuracy recovery: 0 does nothing, 1 corrects biases, 2 also uses GPTQ and cross-layer
            equalization, 3 also learns the rounding of weights (AdaRound). At 1 and above, one in four samples is
            held out, and only changes that help on these are kept. `"auto"` applies the remedy that restores the
            agreement with the float model. `None` uses the `effort` of the recipe; without one, only biases of models
            with depthwise convolutions are corrected.
        keep_annotations: Keep the ranges that the model carries (quantization annotations, or metadata `qmlir.min` and
            `qmlir.max`), and use the samples only for the other values. By default, samples replace them.

    Returns:
        The quantized model. Printing it shows the summary.

    Raises:
        DiagnosticError: `data`, `profile`, the recipe or a setting does not fit the model or each other; the model has
            no ranges and neither `data` nor `profile` is given; or an output is below `min_sqnr` or `min_agreement`.
        TypeError: An argument is not a setting. The message suggests a similar name.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data, weights="i4", exclude=["Relu"])
        >>> quantized.coverage.operations, quantized.coverage.quantized_operations
        (2, 1)
    """
    start = time.monotonic()
    data, validation, scored = _labeled(data, validation, labels)
    given = None if validation is None else preprocessed(validation, preprocess)
    bounds = ValidationOptions(given, min_sqnr, min_agreement)
    validates = validate or bounds.is_asked_for
    calibrating = None if data is None else limited(preprocessed(data, preprocess), samples)
    options = QuantizeOptions.of(settings, module)
    asked = effort if effort is not None else effort_in(options.recipe)
    level = None if asked == AUTO else asked
    start_recovery = _accuracy_recovery(asked)
    _refuse(calibrating, profile, observers, level or 0)
    _warn_of_quantized(module, settings)
    if "keep_composites" in settings:
        _warn_of_idle_keep(module, options)

    evaluated, is_limited = (calibrating, samples is not None) if given is None else (given, False)
    if scored is not None and evaluated is not None:
        check_labels(module, evaluated, scored, is_limited=is_limited)

    run = stages_of(options, module, unrolls=bool(level))
    lowered = module.clone()
    run(lowered, "target", "lower")
    known = _KnownRanges.of(lowered, options, keeps_annotations=keep_annotations)
    reads_ranges = _reads_ranges(lowered, known.recipe)
    if not reads_ranges:
        _warn_of_idle_settings(settings, known.recipe)
        options = replace(options, accumulator_bits=32, accumulator_pairs=0)
    hold_out: HoldOut | None = None
    if calibrating is not None:  # all of it calibrates without a comparison, or if that has separate samples
        first = 0 if level else ENOUGH if validates and given is None else None
        hold_out = HoldOut(runs_to_compare(module), first)
    recovery: Recovery | None = None
    if start_recovery is not None:
        recovery = start_recovery(module, lowered, level, options.shorten, hold_out)
    if calibrating is not None and hold_out is not None:
        profile = profile_of(
            lowered, calibrating, observers=observers, chosen=hold_out.calibrating,
            given=known.without_samples(lowered), processes=processes, cluster=cluster, resume=resume,
            progress=progress,
        )  # fmt: skip
    elif profile is None and reads_ranges:
        profile = _carried(lowered, module, is_given=known.recipe.gives_parameters)
    elif profile is None:
        options, profile = replace(options, profile=""), carried_profile(lowered, {})
    if profile.samples and reads_ranges:
        profile = known.kept_in(profile)
    elif keep_annotations:
        why = "without samples, the ranges of the model apply" if reads_ranges else "no setting quantizes by ranges"
        warn(f"--keep-annotations (keep_annotations) has no effect: {why}")
    references = References(module)
    calibrated = Calibrated(module, lowered, profile, references, recovery, observers)
    found = calibrated.attempt(options)
    validating = Validating.of(references, bounds, hold_out) if validates else None
    validated = None if validating is None else validating.compared(found.module)
    remedies: Remedies | None = None
    if validating is not None and validated is not None:
        _warn_of_samples(calibrated, validating, is_given=given is not None)
        if validated.loss and recovery is not None:
            seconds = time.monotonic() - start
            remedies, better = recovery.remedied(calibrated, validating, validated, options, seconds)
            if asked == AUTO and better is not None:
                found, validated = better
                remedies = replace(remedies, is_applied=True)
        validating.tell(validated, "" if remedies is None or remedies.is_applied else remedies.help)
    accuracy: LabelAccuracy | None = None
    if scored is not None and evaluated is not None:
        accuracy = accuracy_of(calibrated.source, found.module, evaluated, scored, is_limited=is_limited)
    module, made = calibrated.stored(found), found.decided
    return Quantized(
        module, made.source, found.options.settings, made.profile, made.profiled,
        made.rules_used, made.float_reasons, made.widened, validated, found.repair,
        asked, remedies, accuracy,
    )  # fmt: skip
