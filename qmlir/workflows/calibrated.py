"""A float module that was lowered and profiled once, and can be quantized repeatedly with different type settings.

`Calibrated` holds the profile, the samples that evaluate repairs, and the outputs of the float module. So `quantize`
can decide types again with other settings, and does not run the calibration samples a second time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, Protocol

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import STORE, QuantizeOptions, literal_steps, quantize_pipeline
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.report import WidenedValues, float_reasons, widened
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.calibration_samples import HoldOut
from qmlir.workflows.recovery import Remedies, Repair
from qmlir.workflows.validating import References, Validating, Validation


def stages_of(
    settings: QuantizeSettings | QuantizeOptions,
    module: ModuleOp,
    *,
    is_trained: bool = False,
    repair: LiteralString = "",
    unrolls: bool = False,
) -> Callable[..., None]:
    """Returns a function `run(changed, *stages, **given)` that runs stages of the pipeline `quantize` on `changed`.

    The settings and targets are those for `module`. With `is_trained` or a `repair`, constants stay floats before casts
    until the stage `store`. With `unrolls`, long recurrent layers are unrolled into the parts of all their steps.
    """
    steps = literal_steps(f"{repair},{STORE}") if repair else ()
    is_trained = is_trained or bool(repair)
    pipeline = quantize_pipeline(settings, module, is_trained=is_trained, repair=steps, unrolls=unrolls)

    def run(changed: ModuleOp, *stages: str, **given: Any) -> None:
        run_pipeline(changed, pipeline.passes(*stages), **given)
        verify(changed)

    return run


@dataclass(frozen=True)
class Decided:
    """A module with decided types, and the float modules and the profile from which the types were decided."""

    source: ModuleOp
    profile: Profile
    profiled: ModuleOp
    """The lowered `source` with its statistics; its float operations correspond to the operations of `module`."""

    module: ModuleOp
    rules_used: frozenset[int] = frozenset()
    float_reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    widened: tuple[WidenedValues, ...] = ()


def decided(source: ModuleOp, profile: Profile, profiled: ModuleOp, run: Callable[..., None]) -> Decided:
    """Decides the types of a copy of `profiled`, the lowered `source` with its statistics, with the stages of `run`."""
    used, reasons, wide = set[int](), dict[str, str](), list[WidenedValues]()

    def watch(recipe: Recipe, decisions: Sequence[Decisions]) -> None:
        used.update(recipe.used)
        reasons.update(float_reasons(decisions))
        wide.extend(widened(recipe, decisions))

    module = profiled.clone()
    run(module, "decide", watch=watch)
    run(module, "propagate")
    return Decided(source, profile, profiled, module, frozenset(used), reasons, tuple(wide))


@dataclass(frozen=True)
class Attempt:
    """A quantized module made with given options."""

    options: QuantizeOptions
    module: ModuleOp
    """The module after all stages except `store`. Its values still have the same keys as in the float module."""

    decided: Decided
    repair: Repair | None


class Recovery(Protocol):
    """The accuracy recovery during one call of `quantize`."""

    def attempt(self, calibrated: "Calibrated", options: QuantizeOptions, *, corrects: bool = False) -> Attempt:
        """Performs `Calibrated.attempt`, with a repair if one was requested or is worthwhile.

        With `corrects`, biases are corrected if no effort was requested and the correction helps on held-out samples.
        """
        ...

    def remedied(
        self,
        calibrated: "Calibrated",
        validating: Validating,
        lost: Validation,
        options: QuantizeOptions,
        seconds: float,
    ) -> tuple[Remedies, tuple[Attempt, Validation] | None]:
        """Tries remedies for the degradation that the comparison `lost` shows, until `seconds` have passed.

        Returns the remedies, and the result of the best one.
        """
        ...


class AccuracyRecovery(Protocol):
    """The service `recovery`, which `quantize` calls to start an accuracy recovery."""

    def __call__(
        self, module: ModuleOp, lowered: ModuleOp, effort: int | None, required: LiteralString, hold_out: HoldOut | None
    ) -> Recovery:
        """Returns the recovery for the module `lowered`.

        Args:
            module: The float module.
            lowered: The lowered form of `module`.
            effort: The requested effort; `None` lets the recovery choose.
            required: The pass that must run with or without a repair, as pipeline text; may be empty.
            hold_out: The split of the samples, which can reserve some for the recovery; `None` if there are no samples.
        """
        ...


@dataclass(frozen=True)
class Calibrated:
    """A float module, its lowered form, and the statistics from which types are decided."""

    source: ModuleOp
    lowered: ModuleOp
    profile: Profile
    references: References
    recovery: Recovery | None = None
    observers: Sequence[str] = ()

    def attempt(self, options: QuantizeOptions) -> Attempt:
        """Decides types with `options`, repairs the weights, and raises the operations.

        `options` must have the targets, `keep_composites` and `accumulator_bits` with which the module was lowered.
        Raises `DiagnosticError` if a recipe does not fit the module.
        """
        if self.recovery is not None:
            return self.recovery.attempt(self, options)
        run = stages_of(options, self.source)
        return self.finished(options, decided(self.source, self.profile, self.profiled_by(run), run), run)

    def profiled_by(self, run: Callable[..., None]) -> ModuleOp:
        """Returns the lowered module with the statistics of the profile, and with columns balanced by `run`."""
        profiled = self.lowered.clone()
        run(profiled, "profile", "mask", "balance", taken=self.profile)
        return profiled

    def finished(self, options: QuantizeOptions, made: Decided, run: Callable[..., None]) -> Attempt:
        """Runs the remaining stages before `store` on `made`, in place and without a repair."""
        run(made.module, *(("repair",) if options.shorten else ()), "raise", "rescale")
        return Attempt(options, made.module, made, None)

    def stored(self, attempt: Attempt) -> ModuleOp:
        """Runs the stage `store` on the module of `attempt`, in place, and returns the module."""
        stages_of(attempt.options, self.source)(attempt.module, "store")
        return attempt.module
