"""Searches on a classifier whose sensitivity follows by hand (`tests/support/classifiers.py`)."""

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.calibrators import distillation_divergence
from qmlir.arithmetic.schemes import F64
from qmlir.extensions.recovery import repairing
from qmlir.extensions.search.budget import Latency, Prediction, SearchBudget, allot, predict
from qmlir.extensions.search.choices import SearchMode, Width
from qmlir.extensions.search.searching import SearchResult, SearchStep, search
from qmlir.extensions.search.sensitivity import divergences
from qmlir.extensions.search.trials import Measurements, rounded_by
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler, emit
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.report import coverage
from qmlir.text.printing import module_text
from qmlir.workflows.evaluating import Batches
from tests.support.classifiers import classifier, samples
from tests.support.executors import PicklingExecutor

X, LABELS = samples()
CHANCE = 0.5
"""All scores are equal where `fine` has lost its weights: everything is class 0, as half of the samples are."""


def found(**settings: Any) -> SearchResult:
    return search(qmlir.load(classifier()), {"x": X}, **{"labels": LABELS, **settings})


def test_the_worst_layer_is_widened_first() -> None:
    result = found(min_accuracy=1.0, weights="i4")
    assert (result.start_accuracy, result.float_accuracy, result.accuracy) == (CHANCE, 1.0, 1.0)
    assert result.steps == (SearchStep("fine", Width.WIDE, 1.0, is_kept=True),)
    assert (result.widths, result.is_reached, result.is_finished) == ({"fine": Width.WIDE}, True, True)
    ranking = dict(result.ranking)
    assert list(ranking) == ["fine", "coarse[0]"]
    # Of scores that are all 0 the noise is the signal: 0 dB.
    assert ranking["fine"] == pytest.approx(0.0, abs=0.1)
    assert ranking["coarse[0]"] > 20
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


def test_the_recipe_makes_what_was_found(tmp_path: Path) -> None:
    result = found(min_accuracy=1.0, weights="i4")
    path = tmp_path / "recipe.toml"
    path.write_text(result.recipe)
    again = qmlir.quantize(qmlir.load(classifier()), {"x": X}, weights="i4", recipe=path).module
    scores = qmlir.interpret(again, {"x": X})["y"]
    np.testing.assert_array_equal(scores, qmlir.interpret(result.quantized.module, {"x": X})["y"])
    assert (scores.argmax(axis=1) == LABELS).all()


def test_a_layer_may_go_to_float() -> None:
    result = found(min_accuracy=1.0, weights="i4", widen_to="float")
    assert (result.accuracy, result.widths) == (1.0, {"fine": Width.FLOAT})


def test_weights_of_4_bits_are_kept_where_they_do_not_hurt() -> None:
    result = found(max_drop=0.0, mode="raise")
    assert result.mode is SearchMode.RAISE
    assert result.steps == (
        SearchStep("coarse[0]", Width.NARROW, 1.0, is_kept=True),
        SearchStep("fine", Width.NARROW, CHANCE, is_kept=False),
    )
    assert (result.widths, result.accuracy, result.is_reached) == ({"coarse[0]": Width.NARROW}, 1.0, True)


def test_a_bound_that_holds_needs_no_search() -> None:
    result = found(min_accuracy=0.9)
    assert (result.steps, result.ranking, result.widths) == ((), (), {})
    assert (result.is_reached, result.is_finished, result.recipe.strip()) == (True, True, "")


def test_a_bound_that_cannot_be_reached_gives_the_best() -> None:
    wrong = LABELS.copy()
    wrong[:4] = 1 - wrong[:4]  # the float model is right in 36 of 40
    result = found(labels=wrong, min_accuracy=0.95, weights="i4")
    assert (result.float_accuracy, result.start_accuracy, result.accuracy) == (0.9, 0.4, 0.9)
    assert [step.layer for step in result.steps] == ["fine", "coarse[0]"]
    assert (result.is_reached, result.is_finished, result.widths) == (False, True, {"fine": Width.WIDE})
    start = found(labels=wrong, min_accuracy=0.95, mode="raise")
    assert (start.is_reached, start.is_finished, start.steps, start.accuracy) == (False, True, (), 0.9)


def test_max_steps_end_a_search() -> None:
    result = found(min_accuracy=1.0, weights="i4", max_steps=0)
    assert (result.is_reached, result.is_finished, result.steps, result.accuracy) == (False, False, (), CHANCE)
    result = found(max_drop=0.0, mode="raise", max_steps=1)
    assert (result.is_reached, result.is_finished, result.widths) == (True, False, {"coarse[0]": Width.NARROW})


def test_without_labels_the_float_model_is_right() -> None:
    result = found(labels=None, max_drop=0.0, weights="i4")
    assert (result.metric, result.float_accuracy, result.bound) == ("agreement with the float model", 1.0, 1.0)
    assert (result.start_accuracy, result.accuracy) == (CHANCE, 1.0)


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "out" / ".search.json"
    whole = found(max_drop=0.0, mode="raise", state=tmp_path / "whole.json")

    def kill(step: SearchStep) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(max_drop=0.0, mode="raise", state=state, on_step=kill)
    rest = found(max_drop=0.0, mode="raise", state=state)
    assert (rest.steps, rest.ranking, rest.recipe) == (whole.steps, whole.ranking, whole.recipe)
    # Float, int8, two figures for the order and one step were there: the other step is left.
    assert (whole.measured, rest.measured) == (6, 1)
    assert found(max_drop=0.0, mode="raise", state=state).measured == 0
    # Another bound asks for the same figures here; other data, labels or settings for others.
    assert found(min_accuracy=0.2, mode="raise", state=state).measured == 0
    other = X.copy()
    other[0, 2] += 0.5
    for change in ({"data": {"x": other}}, {"labels": 1 - LABELS}, {"granularity": "tensor"}):
        given = {"data": {"x": X}, "labels": LABELS, "min_accuracy": 0.0, "max_steps": 0, "state": state, **change}
        assert search(qmlir.load(classifier()), **given).measured == 2


def budgeted(**settings: Any) -> SearchResult:
    return found(mode="budget", **settings)


@pytest.mark.parametrize(
    ("weight_bytes", "widths", "size", "accuracy"),
    [
        # 8 and 4 weights of 8 bits; those of `coarse` are whole in 4 bits, too, and `fine` loses all in 4.
        (12, {"coarse[0]": Width.NARROW}, 10, 1.0),
        (10, {"coarse[0]": Width.NARROW}, 10, 1.0),
        (9, {"fine": Width.NARROW, "coarse[0]": Width.NARROW}, 6, CHANCE),
        (18, {"fine": Width.WIDE, "coarse[0]": Width.NARROW}, 18, 1.0),
    ],
)
def test_a_budget_of_bytes(weight_bytes: int, widths: dict[str, Width], size: int, accuracy: float) -> None:
    result = budgeted(max_bytes=weight_bytes)
    assert result.allotment is not None
    chosen = result.allotment.chosen
    assert (result.widths, chosen.widths, chosen.bytes) == (widths, widths, size)
    assert (result.accuracy, chosen.accuracy, result.is_reached, result.is_finished) == (accuracy, accuracy, True, True)
    assert (result.bound, result.start_accuracy, result.steps) == (None, None, ())
    front = result.allotment.front
    assert [each.bytes for each in front] == sorted({each.bytes for each in front})
    assert [each.loss for each in front] == sorted({each.loss for each in front}, reverse=True)


def test_the_loss_of_a_point_is_the_divergence_where_it_is_small() -> None:
    """Of 16 bits in one layer: the third power of what is rounded is nothing beside the second."""
    result = budgeted(max_bytes=1000)
    assert result.allotment is not None
    for point in result.allotment.front:
        if "fine" in point.widths and point.widths["fine"] is Width.NARROW:
            continue
        module = LayerwiseModel(result.quantized.profiled, QuantizeOptions(granularity="channel")).quantized(
            point.widths
        )
        wanted, scores = (qmlir.interpret(each, {"x": X})["y"] for each in (qmlir.load(classifier()), module))
        lost, _ = distillation_divergence(scores, wanted, 1.0)
        assert point.loss == pytest.approx(lost, rel=0.6, abs=1e-9)


def test_a_budget_of_time() -> None:
    as_quantized = budgeted(max_time=1.0)
    assert as_quantized.widths == {}
    assert as_quantized.allotment is not None
    assert [(each.time, each.is_chosen) for each in as_quantized.allotment.front] == [(1.0, True)]
    both = budgeted(max_time=2.0, max_bytes=24)
    assert both.allotment is not None
    chosen = both.allotment.chosen
    assert chosen.time is not None
    assert chosen.time <= 2
    assert chosen.bytes <= 24
    made, plain = (coverage(each.quantized.module).cost for each in (both, as_quantized))
    assert made / plain <= chosen.time


class KnownLatency(Latency):
    """Times that do not depend on the machine: of a layer by its width, and of the rest."""

    TIMES: ClassVar[Mapping[Width | None, int]] = {None: 100, Width.NARROW: 60, Width.WIDE: 250}

    def of(self, widths: Widths) -> dict[str, int]:
        return {"": 40, **{name: self.TIMES[widths.get(name)] for name in self.layered.layers}}


@pytest.fixture(scope="module")
def layered() -> LayerwiseModel:
    profiled = qmlir.quantize(qmlir.load(classifier()), {"x": X}, effort=0, validate=False).profiled
    return LayerwiseModel(profiled, QuantizeOptions(granularity="channel"))


@pytest.fixture(scope="module")
def figures() -> Measurements:
    """What is measured of `layered`: it does not depend on a budget."""
    return Measurements("test")


@pytest.mark.parametrize("most", [0.9, 1.0, 1.5, 1.7, 3.0])
def test_a_budget_of_measured_time_against_all_choices(
    most: float, layered: LayerwiseModel, figures: Measurements
) -> None:
    """The chosen widths lose least, by the same prediction, of all whose times add up to no more."""
    batches = Batches(qmlir.load(classifier()), {"x": X}, size=1)

    def losses(choices: Sequence[Widths]) -> F64:
        return divergences(layered.decided, "y", batches, rounded_by(layered, choices))

    found = allot(layered, batches, losses, SearchBudget(time=most), figures, KnownLatency(layered, {}))
    names = list(layered.layers)
    ways = [
        [None, *(each for each in (Width.NARROW, Width.WIDE) if layered.layers[name].may_be(each))] for name in names
    ]
    wanted = [(name, width) for name, each in zip(names, ways, strict=True) for width in each if width is not None]
    known = predict(layered, losses, wanted, figures)
    whole = sum(KnownLatency(layered, {}).of({}).values())
    best = math.inf
    for picks in itertools.product(*ways):
        widths = {name: width for name, width in zip(names, picks, strict=True) if width is not None}
        if sum(KnownLatency(layered, {}).of(widths).values()) <= most * whole:
            best = min(best, known.loss(widths))
    assert known.loss(found.chosen.widths) == pytest.approx(best, rel=1e-9, abs=1e-15)
    assert found.measured_time == found.chosen.time
    assert found.measured_time is not None
    assert found.measured_time <= most


@pytest.mark.parametrize(("widths", "reach"), [([Width.NARROW], 6), ([Width.NARROW, Width.WIDE], 3)])
def test_pairs_of_layers_that_are_far_apart_count_by_the_sum_over_layers_that_is_nearest(
    widths: list[Width], reach: int
) -> None:
    names = [f"layer{position}" for position in range(reach + 2)]
    rows = [(name, width) for name in names for width in widths]
    changes = np.random.default_rng(2).normal(size=(20, 1 + len(rows)))
    known = Prediction(changes.T @ changes / 40, {each: row for row, each in enumerate(rows, 1)}, names)
    assert known.reach == reach
    assert {(names.index(later) - names.index(earlier)) for earlier, later in known.near()} == {*range(1, reach + 1)}
    ends = names[0], names[-1]
    exact: list[float] = []
    predicted: list[float] = []
    ways: list[tuple[Width | None, Width | None]] = []
    for first, last in itertools.product([None, *widths], repeat=2):
        choice = {name: width for name, width in zip(ends, (first, last), strict=True) if width is not None}
        taken = sum((changes[:, known.rows[each]] - changes[:, 0] for each in choice.items()), changes[:, 0])
        exact.append(float(np.mean(taken**2) / 2))
        predicted.append(known.loss(choice))
        ways.append((first, last))
    # The prediction is the exact loss fitted by a sum over both layers, but for a number that all choices share.
    design = np.asarray([[1.0, *(a is each for each in widths), *(b is each for each in widths)] for a, b in ways])
    best = design @ np.linalg.lstsq(design, np.asarray(exact), rcond=None)[0]
    np.testing.assert_allclose(np.asarray(predicted) - predicted[0], best - best[0], atol=1e-12)


def test_measured_times_are_those_of_kernels() -> None:
    result = budgeted(max_time=100.0, measure_time=True)
    assert result.allotment is not None
    assert result.allotment.measured_time is not None
    assert "its kernels take" in result.text()
    taken = Latency(LayerwiseModel(result.quantized.profiled, QuantizeOptions(granularity="channel")), {"x": X[:1]}).of(
        {}
    )
    assert {name for name, time in taken.items() if time} >= {"fine", "coarse[0]"}


def test_points_of_the_front_are_measured() -> None:
    result = budgeted(max_bytes=1000, max_steps=2)
    assert result.allotment is not None
    assert sum(each.accuracy is not None for each in result.allotment.front) == 2
    assert "predicted loss" in result.text()
    assert "of weights" in result.text()
    assert all(math.isfinite(each.loss) for each in result.allotment.front)


def test_a_budget_goes_on_from_what_is_known(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    first, second = (budgeted(max_bytes=10, state=state) for _ in range(2))
    assert (first.measured > 0, second.measured) == (True, 0)
    assert (first.recipe, first.allotment) == (second.recipe, second.allotment)
    # What is lost does not depend on the budget: the accuracy of another choice is all that is measured.
    assert budgeted(max_bytes=6, state=state).measured == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"min_accuracy": 1.0, "weights": "i4"},
        {"min_accuracy": 1.0, "weights": "i4", "labels": None, "max_steps": 1},
        {"min_accuracy": 1.0, "mode": "raise"},
        {"min_accuracy": 1.0, "mode": "raise", "max_steps": 1},
        {"mode": "budget", "max_bytes": 10},
    ],
)
def test_workers_measure_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    """What they have measured ahead and was not asked for is not kept: the files of both are equal."""
    here = found(**settings, state=tmp_path / "here", engine="interpreter")
    executor = PicklingExecutor()
    there = found(**settings, state=tmp_path / "there", engine="interpreter", cluster=executor, processes=3)
    assert executor.tasks
    assert json.loads(json.dumps(there.to_dict(), allow_nan=False)) == here.to_dict()
    assert (tmp_path / "there").read_text() == (tmp_path / "here").read_text()


def _said(action: Callable[[], object]) -> tuple[list[str], list[str]]:
    """The remarks and the warnings of an action."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        action()
    remarks, warnings = (
        [each.message for each in said if each.severity is severity] for severity in (Severity.REMARK, Severity.WARNING)
    )
    return remarks, warnings


def test_what_is_tried_is_not_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    quantized = LayerwiseModel.quantized
    tried: list[Widths] = []

    def remarking(layered: LayerwiseModel, widths: Widths) -> ModuleOp:
        tried.append(widths)
        emit(Diagnostic(Severity.REMARK, "a remark"))
        emit(Diagnostic(Severity.WARNING, "a warning"))
        return quantized(layered, widths)

    monkeypatch.setattr(LayerwiseModel, "quantized", remarking)
    model = qmlir.load(classifier(batch=16))
    remarks, warnings = _said(lambda: search(model, X, labels=LABELS[:32], max_drop=0.0, mode="raise"))
    assert len(tried) == 6
    assert remarks == []
    left_out = "ignoring the last 8 of 40 samples: @main takes 16 at a time"
    assert warnings == [left_out, left_out, "a warning"]  # the first is from profiling


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "pass exactly one of --min-accuracy A"),
        ({"min_accuracy": 0.9, "max_drop": 0.1}, "pass exactly one of --min-accuracy A"),
        ({"min_accuracy": 99.0}, r"the bound must be an accuracy in \[0, 1\], but got 99\.0"),
        ({"min_accuracy": 0.9, "mode": "rise"}, "unknown mode 'rise'; did you mean 'raise'"),
        ({"min_accuracy": 0.9, "widen_to": "32"}, "unknown width '32'"),
        ({"min_accuracy": 0.9, "max_bytes": 10}, "a budget requires mode 'budget', but got 'drop'"),
        ({"mode": "budget"}, "a budget requires a number of bytes, an estimated time, or both"),
        (
            {"mode": "budget", "max_bytes": 10, "max_drop": 0.1},
            "mode 'budget' cannot be combined with a bound or a drop",
        ),
        ({"mode": "budget", "max_bytes": 10, "measure_time": True}, "measuring requires a time budget"),
        ({"mode": "budget", "max_time": 0.0}, r"time must be greater than 0, but got 0\.0"),
        ({"mode": "budget", "max_bytes": 5}, r"meets the budget: 5 bytes \(minimum 6\)"),
        ({"mode": "budget", "max_time": 0.5}, r"meets the budget: 0\.5 of the time \(minimum 1\.000\)"),
        ({"min_accuracy": 0.9, "labels": LABELS[:7]}, r"expected one label per sample \(40\), but got 7"),
        ({"min_accuracy": 0.9, "output": "z"}, "unknown output 'z'"),
    ],
)
def test_what_does_not_fit_is_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        found(**settings)


def test_a_search_repairs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose biases `quantize` corrects at its defaults: of two channels the second one is far larger."""
    model = qmlir.load(
        parser.parse_model("""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 2, 6, 6] x) => (float[1, 2] y)
        <float[2, 2, 1, 1] e = {1, 0, 0, 32}, float[2] b = {0.25, -0.5}, float[2, 1, 1, 1] w = {32, 1}> {
            p = Conv (x, e)
            t = LeakyRelu <alpha = 0.5> (p)
            c = Conv <group = 2> (t, w, b)
            m = GlobalAveragePool (c)
            y = Flatten (m)
        }""")
    )
    data = {"x": np.random.default_rng(0).uniform(-1, 1, (16, 2, 6, 6)).astype(np.float32)}
    repairs: list[object] = []
    repaired = repairing.repaired

    def noted(*given: Any, **named: Any) -> Any:
        repairs.append(given)
        return repaired(*given, **named)

    monkeypatch.setattr(repairing, "repaired", noted)
    result = search(model, data, max_drop=1.0, engine="interpreter")
    assert not repairs
    recipe = RecipeText("the recipe of the search", result.recipe)
    plain = qmlir.quantize(model, data, recipe=recipe, effort=0, validate=False).module
    assert module_text(result.quantized.module) == module_text(plain)
    assert qmlir.quantize(model, data, recipe=recipe, validate=False).repair is not None
    assert len(repairs) == 1
