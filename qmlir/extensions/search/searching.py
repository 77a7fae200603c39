"""Mixed precision by search: finds the layers that must be wider, or may be narrower, to keep an accuracy.

- `drop` starts from the model quantized with the user's settings, and widens the most sensitive layers one by one to 16
  bits (float if these are unsupported) until the bound holds.
- `raise` gives the layers 4-bit weights one by one, the least sensitive first, as long as the bound holds.
- `budget` has a limit on bytes or time instead of a bound on accuracy. Gradients predict the loss of each width of each
  layer, and the search takes the choice within the budget with the smallest total loss
  (`qmlir.extensions.search.budget`).

For `drop` and `raise`, the sensitivity of a layer is the SQNR of the output, on calibration samples, if only this layer
is narrow. The reference is the model without narrow layers. Sorting by it reflects the effect of changing one layer.
Sorting by the errors of the layers' own values would put the last layers first, because errors accumulate along the
network. We measured three orders on the digit classifiers with 32 samples: this one, the output error if only that
layer is widened, and the errors of the layers' own values. The number of layers that must be widened to reach the float
accuracy is 6, 13 and 16 of 18 for a CNN with 4-bit weights and activations, 5, 8 and 6 for a CNN with 3-bit weights,
and 4, 5 and 4 of 5 for a small multilayer perceptron with 3 bits.

Each measured figure is written to disk immediately, so an interrupted search can continue. The search is deterministic:
it requests the same figures in the same order, so it needs no other state. The figures are stored under a digest of
everything that they depend on.
"""

import hashlib
import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from os import PathLike
from typing import IO, Any, Unpack

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.target.attributes import targets_of
from qmlir.extensions.search.budget import Allotment, Latency, SearchBudget, allot, samples_to_grade
from qmlir.extensions.search.choices import SearchMode, Width
from qmlir.extensions.search.trials import Measurements, SearchSubject, Trials
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.interpreter.jobs import ShippedModule, Workers
from qmlir.interpreter.progress import bar
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler, emit, printable, text_error, without_remarks
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.profiles.profile import Profile, model_digest
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings, tells_settings
from qmlir.text.data import plain
from qmlir.text.printing import module_text
from qmlir.text.tables import Readable, aligned, bytes_text, counted
from qmlir.workflows.choices import Engine
from qmlir.workflows.evaluating import Batches, Labels, chosen_member, data_beside, output_name, read_labels
from qmlir.workflows.loading import takes_model
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize
from qmlir.workflows.workers import Cluster, workers_of

RANKED_ON = 8
"""The number of samples used to rank layers. Few suffice, because noise affects every logit. The 4-bit CNN needs 7
wider layers with 8 samples, and 6 with 32 samples, which take four times as long.
"""

_ROUNDING = 1e-12
"""The tolerance for comparing accuracies, which are multiples of `1 / samples`."""


def _percent(accuracy: float) -> str:
    return f"{100 * accuracy:.2f}%"


_WIDTHS = {Width.NARROW: "4-bit weights", Width.WIDE: "16 bits", Width.FLOAT: "float"}


@dataclass(frozen=True, repr=False)
class SearchStep(Readable):
    """One attempt of a search to change the width of a layer."""

    layer: str
    """Name of the layer."""

    width: Width
    """The width: `4`, `16` or `float`."""

    accuracy: float
    """The accuracy with this change and all changes kept earlier, in [0, 1]."""

    is_kept: bool
    """False if the change was undone."""

    def text(self) -> str:
        """Format the step as one line.

        Returns:
            The layer, its width, and the accuracy with it.
        """
        verdict = "" if self.is_kept else ", put back"
        return f"{printable(self.layer)}: {_WIDTHS[self.width]}: {_percent(self.accuracy)}{verdict}\n"


@dataclass(frozen=True, repr=False)
class SearchResult(Readable):
    """The outcome of a search. Accuracies are in [0, 1]."""

    mode: SearchMode
    """The mode: `drop`, `raise` or `budget`."""

    metric: str
    """Name of the accuracy: top-1 with labels, otherwise agreement with the float model."""

    samples: int
    """The number of samples on which the accuracy is measured."""

    bound: float | None
    """The minimum accuracy; `None` for a budget."""

    float_accuracy: float
    """The accuracy of the float model."""

    start_accuracy: float | None
    """The accuracy of the model quantized by the settings; `None` for a budget."""

    ranking: tuple[tuple[str, float], ...]
    """The layers in the order in which they were tried, with their SQNR in dB; empty if no ranking was needed."""

    steps: tuple[SearchStep, ...]
    """The layers that were tried."""

    accuracy: float
    """The accuracy of the result."""

    widths: Mapping[str, Width]
    """The layers of the result whose width differs from the settings."""

    is_reached: bool
    """True if the result keeps the bound."""

    is_finished: bool
    """False if `max_steps` ended the search."""

    measured: int
    """Number of figures that were measured; others came from `state`."""

    quantized: Quantized
    """The quantized model that was found."""

    recipe: str
    """The text of the recipe that, together with the settings, produces the quantized model."""

    allotment: Allotment | None = None
    """The predicted loss of each width, and the trade-offs between cost and loss; `None` without a budget."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values, without the model.

        Returns:
            A dict that can be written as JSON.
        """
        return plain({name: value for name, value in vars(self).items() if name != "quantized"})

    def text(self) -> str:
        """Format the search.

        Returns:
            A table of the steps, and the result.
        """
        if self.allotment is not None:
            return self._allotted(self.allotment)
        assert self.start_accuracy is not None
        assert self.bound is not None
        noise = dict(self.ranking)
        rows = [
            (
                step.layer, f"{noise[step.layer]:.1f}", _WIDTHS[step.width], _percent(step.accuracy),
                "" if step.is_kept else "put back",
            )
            for step in self.steps
        ]  # fmt: skip
        head = ("layer", "SQNR dB", "now", self.metric, "")
        lines = [*aligned([head, *rows], {"SQNR dB", "now", self.metric}), ""] if rows else []
        lines.append(
            f"{self.metric} on {counted(self.samples, 'sample')}: {_percent(self.float_accuracy)} in float, "
            f"{_percent(self.start_accuracy)} as quantized, {_percent(self.accuracy)} found; "
            f"the bound is {_percent(self.bound)}"
        )
        changed = f"{counted(len(self.widths), 'layer')} changed"
        if self.is_reached:
            lines.append(changed)
        elif self.is_finished:
            lines.append(f"the bound is not reached: the best that was found is {_percent(self.accuracy)}, {changed}")
        else:
            steps = counted(len(self.steps), "step")
            lines.append(f"the bound is not reached in {steps}, {changed}: more steps go on from here")
        return "".join(f"{line}\n" for line in lines)

    def _allotted(self, allotment: Allotment) -> str:
        chosen = allotment.chosen
        measured = allotment.measured_time
        taken = "" if measured is None else f"; its kernels take {measured:.3f} of the time of the model as quantized"
        return (
            f"{allotment.text(self.metric)}"
            f"{self.metric} on {counted(self.samples, 'sample')}: {_percent(self.float_accuracy)} in float, "
            f"{_percent(self.accuracy)} found; {bytes_text(chosen.bytes)} of weights, of "
            f"{counted(allotment.points, 'point')} of the front, predicted on {counted(allotment.samples, 'sample')}\n"
            f"{counted(len(self.widths), 'layer')} changed{taken}\n"
        )


@dataclass
class _Search:
    """One search: its subject, and the figures measured so far."""

    layered: LayerwiseModel
    trials: Trials
    measurements: Measurements
    bound: float
    widest: Width
    advance: Callable[[int], object]
    on_step: Callable[[SearchStep], object]
    ranking: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    steps: list[SearchStep] = field(default_factory=list[SearchStep])

    def accuracy(self, widths: Widths) -> float:
        """Returns the accuracy of the model with these widths."""
        ((_, found),) = self.accuracies([widths])
        return found

    def accuracies(self, chain: Iterable[Widths]) -> Iterator[tuple[Widths, float]]:
        """Yields each of `chain` with its accuracy.

        Up to `trials.at_once` choices are measured together, but a figure is stored only when it is asked for, so the
        stored figures don't depend on that number.
        """
        chain = iter(chain)
        while choices := list(islice(chain, self.trials.at_once)):
            named = {_accuracy_name(each): each for each in choices}
            missing = [name for name in named if name not in self.measurements]
            found = self.trials.accuracies([named[name] for name in missing])
            for widths in choices:
                yield widths, self._measured(_accuracy_name(widths), lambda found=found: next(found))

    def holds(self, accuracy: float) -> bool:
        """Returns true if an accuracy meets the bound."""
        return accuracy >= self.bound - _ROUNDING

    def rank(self, tried: Mapping[str, Widths], reference: Widths) -> list[str]:
        """Returns the layers, those that add most noise to the output first.

        `tried` holds, for each layer, the widths of all layers with which it is measured.
        """
        what = f"sqnr {Width.NARROW if not reference else self.widest}"
        missing = [widths for name, widths in tried.items() if f"{what} {name}" not in self.measurements]
        found = self.trials.noises(missing, reference)
        figures = {name: self._measured(f"{what} {name}", lambda: next(found)) for name in tried}
        order = sorted(figures, key=lambda name: figures[name])
        self.ranking = [(name, figures[name]) for name in order]
        return order

    def _measured(self, name: str, measure: Callable[[], float]) -> float:
        """Returns the stored figure of that name, or measures it."""
        found = self.measurements.measured(name, measure)
        self.advance(1)
        return found

    def _tried(self, step: SearchStep) -> None:
        self.steps.append(step)
        self.on_step(step)

    # The two directions

    def drop(self, max_steps: int | None) -> tuple[dict[str, Width], bool]:
        """Widens layers until the bound holds; returns the widths, and whether the search is finished."""
        widths: dict[str, Width] = {}
        accuracy = self.accuracy(widths)
        best, best_widths = accuracy, dict(widths)
        candidates = [name for name, layer in self.layered.layers.items() if layer.may_be(self.widest)]
        if self.holds(accuracy) or not candidates:
            return widths, True
        wide = self.layered.supported(dict.fromkeys(candidates, self.widest))
        alone = {name: {other: wide[other] for other in candidates if other != name} for name in candidates}
        order = self.rank(alone, wide)
        for name, (tried, accuracy) in zip(order, self.accuracies(self._wider(order[:max_steps])), strict=False):
            self._tried(SearchStep(name, tried[name], accuracy, is_kept=True))
            if accuracy > best:
                best, best_widths = accuracy, dict(tried)
            if self.holds(accuracy):
                return best_widths, True
        return best_widths, len(self.steps) == len(order)

    def _wider(self, order: Sequence[str]) -> Iterator[Widths]:
        """Yields the widths after each widened layer."""
        widths: dict[str, Width] = {}
        for name in order:
            widths = self.layered.supported({**widths, name: self.widest})
            yield widths

    def narrow(self, max_steps: int | None) -> tuple[dict[str, Width], bool]:
        """Narrows one layer after another, and keeps each change with which the accuracy meets the bound.

        Returns the widths, and true if the search is finished rather than stopped after `max_steps`.
        """
        widths: dict[str, Width] = {}
        if not self.holds(self.accuracy(widths)):
            return widths, True
        candidates = [name for name, layer in self.layered.layers.items() if layer.may_be(Width.NARROW)]
        order = [*reversed(self.rank({name: {name: Width.NARROW} for name in candidates}, {}))]
        left: list[str] = order[:max_steps]
        while left:
            # As long as layers keep 4 bits, the figures measured ahead are those needed next.
            ahead = [{**widths, **dict.fromkeys(left[: count + 1], Width.NARROW)} for count in range(len(left))]
            for tried, accuracy in self.accuracies(ahead):
                name = left.pop(0)
                is_kept = self.holds(accuracy)
                self._tried(SearchStep(name, Width.NARROW, accuracy, is_kept))
                if not is_kept:
                    break
                widths = dict(tried)
        return widths, len(self.steps) == len(order)


def _accuracy_name(widths: Widths) -> str:
    # JSON, so that different layer names never yield equal keys.
    return f"accuracy {json.dumps(dict(sorted(widths.items())), ensure_ascii=False)}"


def _key(module: ModuleOp, profile: Profile, data: str, labels: Array | None, asked: Mapping[str, Any]) -> str:
    """Returns a digest of everything that the figures of a search depend on."""
    digest = model_digest(module)
    parts = {
        "model": [digest.structure, digest.weights, module_text(module)],
        "profile": profile.to_text(),
        "data": data,
        "labels": None if labels is None else labels.tolist(),
        "asked": asked,
        "version": version("qmlir"),
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _check_bound(way: SearchMode, bound: float | None, drop: float | None, budget: SearchBudget) -> None:
    if way is SearchMode.BUDGET:
        if bound is not None or drop is not None:
            raise text_error(
                "mode 'budget' cannot be combined with a bound or a drop: it loses as little accuracy as the budget "
                "allows"
            )
        budget.check()
        return
    if budget != SearchBudget():
        raise text_error(f"a budget requires mode '{SearchMode.BUDGET}', but got '{way}'")
    if (bound is None) == (drop is None):
        raise text_error(
            "pass exactly one of --min-accuracy A (min_accuracy=A) and --max-drop A (max_drop=A), the maximum "
            "drop below the float model"
        )
    name, figure = ("the bound", bound) if bound is not None else ("the drop", drop)
    if figure is None or not 0 <= figure <= 1:
        raise text_error(f"{name} must be an accuracy in [0, 1], but got {figure}")


@contextmanager
def _saying_once() -> Generator[None]:
    """Suppresses remarks, and reports each warning once: a search quantizes hundreds of models."""
    kept: dict[str, Diagnostic] = {}

    def keep(diagnostic: Diagnostic) -> None:
        kept.setdefault(str(diagnostic), diagnostic)

    try:
        with diagnostic_handler(keep), without_remarks():
            yield
    finally:
        for diagnostic in kept.values():
            emit(diagnostic)


@takes_model
@tells_settings(
    module="Model", data="Data", labels="Labels | None", calibration="Data | None",
    cluster="str | Client | Executor | None",
)  # fmt: skip
def search(
    module: ModuleOp,
    data: Data,
    *,
    labels: Labels | None = None,
    min_accuracy: float | None = None,
    max_drop: float | None = None,
    max_bytes: int | None = None,
    max_time: float | None = None,
    measure_time: bool = False,
    mode: str = SearchMode.DROP,
    widen_to: str = Width.WIDE,
    calibration: Data | None = None,
    profile: Profile | None = None,
    output: str | None = None,
    max_steps: int | None = None,
    state: str | PathLike[str] | None = None,
    engine: str = Engine.AUTO,
    threads: int = 1,
    processes: int = 1,
    cluster: "Cluster | None" = None,
    resume: str | PathLike[str] | None = None,
    progress: IO[str] | None = None,
    on_step: Callable[[SearchStep], object] = lambda step: None,
    **settings: Unpack[QuantizeSettings],
) -> SearchResult:
    """Search for the bit widths of layers that keep an accuracy, or that fit a budget.

    The mode `"drop"` widens the most sensitive layers until the accuracy holds. `"raise"` gives layers 4-bit weights,
    least sensitive first, while it holds. `"budget"` minimizes the loss that gradients predict within a limit of bytes
    or time. The accuracy is top-1 with `labels`, otherwise the agreement with the float model. If the bound cannot be
    reached, the best model found is returned. Models are quantized with `effort=0`.

    Args:
        module: The float model: a module, or a path or ONNX model that `load` accepts.
        data: Samples to measure the accuracy on, in a form that `qmlir.profile` accepts.
        labels: Class of each sample: integers, a file, or `NAME=FILE` for an array of an `.npz` file. `None` measures
            agreement.
        min_accuracy: Minimum accuracy, in [0, 1].
        max_drop: Maximum drop of the accuracy below the float model, in [0, 1]. Modes `"drop"` and `"raise"` require
            exactly one of `min_accuracy` and `max_drop`.
        max_bytes: Maximum bytes of quantized constants, for `"budget"`.
        max_time: Maximum time, as a multiple of that of the model quantized by the settings, for `"budget"`.
        measure_time: Measure the time of compiled kernels for `max_time`, instead of estimating it.
        mode: `"drop"`, `"raise"` or `"budget"`.
        widen_to: Width that `"drop"` gives a layer: `"16"` bits, or `"float"`.
        calibration: Samples to calibrate on. `None` uses `data`.
        profile: Statistics to calibrate from, instead of samples: the result of `qmlir.profile` with `passes=None`.
        output: Name of the output with the logits. `None` is the only output.
        max_steps: Maximum number of layers to try; for `"budget"`, of candidates to measure. `None` tries all layers,
            and measures one candidate.
        state: File for the measured figures. A search with the same model, data and settings continues from it.
        engine: `"interpreter"`, `"compiled"`, or `"auto"`, which compiles a model once that saves time.
        threads: Number of threads of compiled programs, at least 1.
        processes: Number of processes that calibrate; with `resume`, they also measure.
        cluster: Address of a Dask scheduler (`tcp://host:port`), a Dask client, or a `concurrent.futures.Executor`,
            whose workers calibrate and measure.
        resume: Folder for the results of finished tasks, so that an interrupted search can continue.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.
        on_step: Function that is called with each `SearchStep`.

    Returns:
        The quantized model that was found, its recipe, and the steps. Printing it shows them.

    Raises:
        DiagnosticError: Data, labels, bounds or settings do not fit the model or each other, or the model targets
            another device than the CPU.
        TypeError: An argument is not a setting. The message suggests a similar name.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> found = qmlir.search(model, data, max_drop=0.05, weights="i2")
        >>> found.is_reached, found.accuracy >= found.float_accuracy - 0.05
        (True, True)
    """
    way, widest = chosen_member(SearchMode, mode, "mode"), chosen_member(Width, widen_to, "width")
    budget = SearchBudget(max_bytes, max_time)
    _check_bound(way, min_accuracy, max_drop, budget)
    if measure_time and max_time is None:
        raise text_error(
            "measuring requires a time budget; pass --max-time T (max_time=T), relative to the quantized model"
        )
    runs_by = chosen_member(Engine, engine, "engine")
    options = QuantizeOptions.of(settings, module)
    if options.device or targets_of(module):
        raise text_error("search supports only target 'cpu': other targets define their own bit widths")
    recipe = RecipeText.of(options.recipe)
    options = replace(options, recipe=recipe or "")
    settings = options.settings
    batches = Batches(module, data_beside(labels, data))
    known = None if labels is None else read_labels(labels)
    scores = output_name(module, output)
    calibrating = batches.data if calibration is None else Batches(module, data_beside(labels, calibration)).data

    def quantized(rules: RecipeText | None, given: Profile | None) -> Quantized:
        return quantize(
            module, None if given else calibrating, profile=given, validate=False, processes=processes,
            cluster=None if given else cluster, resume=None if given else resume, progress=progress, effort=0,
            **{**settings, "recipe": rules or ""},
        )  # fmt: skip

    start = quantized(recipe, profile)
    with _saying_once(), workers_of(cluster, resume, processes=processes) as workers:
        content, samples = batches.digest()
        asked = {**asdict(options), "output": scores, "recipe": recipe.text if recipe else ""}
        measurements = Measurements(_key(module, start.profile, content, known, asked), state)
        layered = LayerwiseModel(start.profiled, options)
        ranked_on = Batches(module, calibrating, limit=RANKED_ON)
        shipped = ShippedModule.of(module), ShippedModule.of(start.profiled)
        subject = SearchSubject(*shipped, options, scores, runs_by, threads)
        trials = Trials(workers or Workers(), subject, batches, known, ranked_on)
        most = 2 * len(layered.layers) + 2  # a search may end before all figures are measured
        with bar("searching", most, progress) as advance:
            float_accuracy = measurements.measured("accuracy of the float model", trials.float_accuracy)
            advance(1)
            wanted = float_accuracy - max_drop if max_drop is not None else min_accuracy
            found = _Search(
                layered, trials, measurements, -math.inf if wanted is None else wanted, widest, advance, on_step
            )
            allotment = None
            if way is SearchMode.BUDGET:
                graded = Batches(module, calibrating, limit=samples_to_grade(module), size=1)
                latency = Latency(layered, next(iter(graded)).inputs, threads) if measure_time else None
                losses = partial(trials.divergences, batches=graded)
                allotment = allot(layered, graded, losses, budget, measurements, latency)
                allotment = allotment.measured(found.accuracy, 1 if max_steps is None else max_steps)
                widths, is_finished = dict(allotment.chosen.widths), True
            else:
                widths, is_finished = (found.drop if way is SearchMode.DROP else found.narrow)(max_steps)
            start_accuracy, reached = None if allotment else found.accuracy({}), found.accuracy(widths)
        text = layered.recipe_text(widths)
    made = quantized(RecipeText("the recipe of the search", text), start.profile)
    return SearchResult(
        way, trials.metric, samples, wanted, float_accuracy, start_accuracy, tuple(found.ranking),
        tuple(found.steps), reached, widths, found.holds(reached), is_finished, measurements.taken, made, text,
        allotment,
    )  # fmt: skip
