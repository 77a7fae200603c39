"""Whether a model lost its answers: what is compared, the verdict by hand, bounds, and that nothing is silent."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.calibration_samples import MOST, EvenSampler, HoldOut, runs_to_compare
from qmlir.workflows.choices import ENOUGH
from qmlir.workflows.comparison.errors import lost_places, misplaced
from qmlir.workflows.validating import Cause, References, Validating, Validation, ValidationOptions
from tests.support.classifiers import classifier, samples

EIGHT_BITS: QuantizeSettings = {
    "recipe": {"rule": [{"node": "fine", "slot": slot, "storage": "i8"} for slot in ("input", "weight", "output")]}
}
"""By default the first layer has 16 bits, as columns of its weights differ much."""

LOST: QuantizeSettings = {"weights": "i4", "granularity": "tensor"}
"""The layer `fine` of the classifier is 0 with these, so that every score is."""


def _validated(data: Data, **settings: Any) -> Validation:
    found = qmlir.quantize(qmlir.load(classifier()), data, **settings).validation
    assert found is not None
    return found


def compared(references: References, quantized: ModuleOp, runs: Sequence[Run]) -> Validation:
    return Validating(references, ValidationOptions(), runs, "given").compared(quantized)


def _heard(call: object) -> list[str]:
    assert callable(call)
    heard: list[Diagnostic] = []
    with diagnostic_handler(heard.append):
        call()
    return list(map(str, heard))


def test_a_sound_model() -> None:
    """Weights of 1 beside one of 100 are 100/127 in 8 bits: the error is 27/127 of the signal, and little else errs.

    The scores are about 0, where their two classes have their median.
    """
    found = _validated({"x": samples()[0]}, **EIGHT_BITS)
    (output,) = found.outputs
    assert output.about_zero_db == pytest.approx(20 * np.log10(127 / 27), abs=0.2)
    assert output.pooled_db == pytest.approx(20 * np.log10(127 / 27), abs=0.6)
    assert output.sqnr_db is not None
    assert output.worst_db is not None
    assert output.worst_db <= output.sqnr_db
    assert output.cosine == pytest.approx(1, abs=1e-3)
    assert (output.name, output.agreement, found.samples, found.fault) == ("y", 1.0, 10, "")  # every fourth of 40
    assert _heard(lambda: qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}).module) == []


def test_lost_answers_are_a_warning_with_the_first_cause() -> None:
    """All scores are 0: the error is as large as the signal, and the larger of two equal ones is the first.

    About the median the signal is no larger, but 10 of 10 - 1 as an estimate; the median sample has a smaller error.
    """
    (said,) = _heard(lambda: qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, **LOST).module)
    assert said.startswith(
        "warning: quantization degraded the model: output y: SQNR 1.1 dB (threshold 6 dB); first bad value: "
        "fine (Gemm, nn.fully_connected), 0.0 dB; help: "
    )
    with diagnostic_handler(lambda _: None):
        found = _validated({"x": samples()[0]}, **LOST)
    assert found.cause == Cause("fine", "nn.fully_connected", "Gemm", 0.0, ("fine",))
    assert found.text().startswith("DEGRADED: output y: SQNR 1.1 dB (threshold 6 dB)\n")
    assert (found.outputs[0].cosine, found.outputs[0].agreement) == (0.0, 0.5)  # half of the samples are of class 0


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"min_sqnr": 200}, r"output y: SQNR \d+\.\d dB \(threshold 200 dB\); first bad value: "),
        ({"min_agreement": 1, "validation": {"x": samples()[0][-8:]}, **LOST}, r"output y: SQNR -?\d\.\d dB"),
    ],
)
def test_a_bound_is_an_error(bounds: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, validate=False, **bounds)


def test_agreement_alone() -> None:
    """Where any ratio will do, half of the samples are in another class than all of the scores of 0 say."""
    with pytest.raises(DiagnosticError, match=r"output \w+: 50\.0% of the samples in the same class \(threshold 60%\)"):
        _validated({"x": samples(16)[0]}, min_sqnr=-100, min_agreement=0.6, **LOST)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"min_agreement": 1.5}, "but got 1.5"), ({"min_sqnr": float("nan")}, "decibels, but got nan")],
)
def test_a_bound_that_is_none(bounds: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        ValidationOptions(**bounds)


def test_a_bound_needs_samples() -> None:
    profile = qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, validate=False).profile
    assert _heard(lambda: qmlir.quantize(qmlir.load(classifier()), profile=profile).module) == []
    with pytest.raises(DiagnosticError, match="--min-sqnr and --min-agreement require samples"):
        qmlir.quantize(qmlir.load(classifier()), profile=profile, min_sqnr=10)
    qmlir.quantize(qmlir.load(classifier()), profile=profile, min_sqnr=10, validation={"x": samples(16)[0]})


def _numbered(count: int) -> Iterator[Run]:
    return (Run(position, 1, (np.array([position]),)) for position in range(count))


@pytest.mark.parametrize("count", [3, 10, 259])
def test_what_calibration_lends(count: int) -> None:
    """Until one is held out, all calibrate and lend some: one of each stretch of 1, 4 or 128 runs, at most 4."""
    hold_out, stretch = HoldOut(4, ENOUGH), {3: 1, 10: 4, 259: 128}[count]
    assert [run.first for run in hold_out.calibrating(_numbered(count))] == list(range(count))
    found = [run.first // stretch for run in hold_out.compared[0]]
    assert found == list(range(len(found)))
    assert len(found) == {3: 3, 10: 3, 259: 3}[count]
    assert hold_out.compared[1] == "that calibration used"


@pytest.mark.parametrize(("count", "held"), [(264, 2), (600, 4)])
def test_the_share_that_is_held_out(count: int, held: int) -> None:
    """After the first 256 one of each four in a row is held out, up to the limit."""
    hold_out = HoldOut(4, ENOUGH)
    calibrating = [run.first for run in hold_out.calibrating(_numbered(count))]
    found = [run.first for run in hold_out.compared[0]]
    assert sorted(calibrating + found) == list(range(count))
    assert [(position - 256) // 4 for position in found] == list(range(held))
    assert hold_out.compared[1] == "held out of the calibration"


def test_no_period_of_the_samples_hides_some() -> None:
    """Of every period, half of the runs that are taken would have one phase by chance; none has all of them."""
    for period in (2, 4, 8):
        even = EvenSampler(16)
        for run in _numbered(250):
            even.take(run)
        phases = Counter(run.first % period for run in even.taken)
        assert max(phases.values()) < len(even.taken) * (1 / period + 0.35)
        hold_out = HoldOut(16, ENOUGH)
        list(hold_out.calibrating(_numbered(400)))
        assert {run.first % period for run in hold_out.held_out} == set(range(period))


def test_what_is_held_out_does_not_calibrate() -> None:
    hold_out = HoldOut(16, ENOUGH)
    list(hold_out.calibrating(_numbered(260)))
    (position,) = (run.first for run in hold_out.held_out)
    x = np.resize(samples()[0], (260, 4)).astype(np.float32)
    x[position] *= 50
    others = {"x": np.delete(x, position, axis=0)}
    without = qmlir.quantize(qmlir.load(classifier()), others, validate=False).module
    held = qmlir.quantize(qmlir.load(classifier()), {"x": x}, min_sqnr=-100, min_agreement=0)
    assert str(held.module) == str(without)
    assert held.validation is not None
    assert (held.validation.samples, held.profile.samples) == (1, 259)


def test_one_sample_with_large_values_does_not_decide() -> None:
    """A range that a single sample rules leaves nothing of the others: a ratio of all of them together is good."""
    x = samples()[0]
    x[4] *= 1000
    found = qmlir.quantize(qmlir.load(classifier()), {"x": x}, validate=False, **EIGHT_BITS).module
    pooled = qmlir.compare(qmlir.load(classifier()), found, {"x": x[:MOST]})
    assert pooled.outputs[0].sqnr_db > 13
    with diagnostic_handler(lambda _: None):
        validation = _validated({"x": x}, **EIGHT_BITS)
    assert validation.outputs[0].sqnr_db is not None
    assert validation.outputs[0].sqnr_db < 10
    assert validation.cause is not None
    assert validation.cause.key == "x"


def _large(products: int) -> ModuleOp:
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[1,1] x, float[1,{products}] w) => (float[1,{products}] y) {{ y = MatMul (x, w) }}"""
    return qmlir.load(parser.parse_model(text))


@pytest.mark.parametrize(("products", "runs"), [(1, 16), (10**9, 12), (5 * 10**9, 2), (8 * 10**9, 2)])
def test_large_models_are_compared_on_fewer_samples(products: int, runs: int) -> None:
    assert runs_to_compare(_large(products)) == runs


def test_outputs_of_integers_are_equal_or_not() -> None:
    """ArgMax of the scores: with all scores 0 it is 0, which half of the samples have."""
    model = classifier()
    model.graph.node.append(helper.make_node("ArgMax", ["y"], ["c"], axis=1))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("c", TensorProto.INT64, ["N", 1]))
    with diagnostic_handler(lambda _: None):
        found = qmlir.quantize(qmlir.load(model), {"x": samples(16)[0]}, **LOST).validation
    assert found is not None
    assert (found.outputs[0].sqnr_db, found.outputs[0].agreement) == (None, 0.5)
    assert "output c: 50.0% of its integers equal (threshold 90%)" in found.fault


HEADS = """<ir_version: 10, opset_import: ["": 18]> g (float[1,5,16] x) => (float[1,5,BINS] y)
  <float offset = {1000}, float zero = {0}, float two = {2}, int64[3] sizes = {2, 2, 2}> {
  s = MatMul(x, w) BODY
}"""


def _heads(body: str, bins: int = 6) -> tuple[ModuleOp, dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    proto = parser.parse_model(HEADS.replace("BODY", body).replace("BINS", str(bins)))
    proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=(16, 6)).astype(np.float32) / 4, "w"))
    return qmlir.load(proto), {"x": random.normal(size=(16, 1, 5, 16)).astype(np.float32)}


def test_an_offset_does_not_hide_lost_answers() -> None:
    """All outputs are 1000 and something: 60 dB about 0, of which nothing differs between samples."""
    module, data = _heads("y = Add(s, offset)")
    constant = _heads("z = Mul(s, zero) y = Add(z, offset)")[0]
    runs = [Run(position, 1, (each,)) for position, each in enumerate(data["x"])]
    found = compared(References(module), constant, runs)
    (row,) = found.outputs
    assert row.about_zero_db is not None
    assert row.about_zero_db > 55
    assert row.sqnr_db == pytest.approx(0, abs=1)
    assert "output y: SQNR" in found.fault
    assert "(threshold 6 dB)" in found.fault


def test_a_quarter_of_lost_samples_is_a_loss() -> None:
    """The median says nothing of it; one sample of sixteen is none."""
    module, data = _heads("y = Identity(s)")
    runs = [Run(position, 1, (each,)) for position, each in enumerate(data["x"])]
    for lost, is_lost in ((1, False), (4, True)):
        other = module.clone()
        references = References(module)
        for run in runs[:lost]:
            (outputs,) = references.of([run])
            assert isinstance(outputs, dict)
            outputs["y"] = outputs["y"][:, ::-1]
        found = compared(references, other, runs)
        assert found.outputs[0].sqnr_db == math.inf
        assert bool(found.faults) is is_lost


@pytest.mark.parametrize(("shape", "is_lost"), [("1,5,6", True), ("1,1,5,6", False)])
def test_rows_of_a_map_have_no_classes(shape: str, is_lost: bool) -> None:
    """Four of five rows are nearly 0, and their largest elements are lost in steps of 5; the first row keeps 17 dB."""
    text = f"""<ir_version: 10, opset_import: ["": 18]> g (float[1,5,6] x) => (float[{shape}] y)
      <float[5,1] sizes = {{10, 0.001, 0.001, 0.001, 0.001}}, float step = {{5}},
       int64[{shape.count(",") + 1}] s = {{{shape}}}> {{
      t = Mul(x, sizes) ROUNDED y = Reshape(r, s)
    }}"""
    exact, coarse = (
        qmlir.load(parser.parse_model(text.replace("ROUNDED", each)))
        for each in ("r = Identity(t)", "q = Div(t, step) k = Round(q) r = Mul(k, step)")
    )
    data = np.random.default_rng(0).normal(size=(16, 1, 5, 6)).astype(np.float32)
    runs = [Run(position, 1, (each,)) for position, each in enumerate(data)]
    found = compared(References(exact), coarse, runs)
    assert bool(found.faults) is is_lost
    assert found.outputs[0].agreement is not None


@pytest.mark.parametrize("steps", ["y = Identity(j)", "k = Mul(j, two) y = LeakyRelu(k)"])
def test_parts_of_a_concatenation_are_compared_one_by_one(steps: str) -> None:
    """Scores are lost beside boxes of thousands, also before elementwise steps; each part is named by its slice."""
    body = "a, b, c = Split<axis=2>(s, sizes) l = Mul(a, offset) e = Sigmoid(c) n = Mul(e, zero) "
    module, lost = (_heads(f"{body} j = Concat<axis=2>(l, b, {each}) {steps}")[0] for each in "en")
    data = _heads("y = Identity(s)")[1]
    runs = [Run(position, 1, (each,)) for position, each in enumerate(data["x"])]
    found = compared(References(module), lost, runs)
    assert [row.name for row in found.outputs] == ["y", "y[:, :, 0:2]", "y[:, :, 2:4]", "y[:, :, 4:6]"]
    assert all(row.agreement is not None for row in found.outputs)
    assert [text.partition(": ")[0] for text in found.faults] == ["output y[:, :, 4:6]"]
    assert len(compared(References(module), module, runs).outputs) == 4


def test_agreement_of_the_last_axis_is_told_whatever_the_rank() -> None:
    module, data = _heads("y = Identity(s)")
    found = qmlir.quantize(module, data)
    assert found.validation is not None
    assert (found.validation.outputs[0].agreement or 0) > 0.95
    assert "same class 9" in found.text()
    with pytest.raises(DiagnosticError, match=r"output y: \d+\.\d% of the rows in the same class \(threshold 100%\)"):
        qmlir.quantize(module, data, weights="i2<-1:1>", min_sqnr=-100, min_agreement=1)


@pytest.mark.parametrize(
    ("body", "bins", "bounds", "message"),
    [
        ("k = Constant<value_ints=[2]>() y = ReduceMax(s, k)", 1, {"min_agreement": 0.9}, "has a last axis of 2 to 1"),
        ("y = ReduceSum(s)", 1, {"min_agreement": 0.0}, "cannot measure --min-agreement"),
        ("a = ArgMax<axis=2>(s) y = Cast<to=7>(a)", 1, {"min_sqnr": 5.0}, "cannot measure --min-sqnr"),
    ],
)
def test_a_bound_that_cannot_be_measured(body: str, bins: int, bounds: dict[str, float], message: str) -> None:
    module, data = _heads(body, bins) if "Cast" not in body else _integers(body)
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(module, data, **bounds)


def _integers(body: str) -> tuple[ModuleOp, dict[str, np.ndarray]]:
    text = HEADS.replace("=> (float[1,5,BINS] y)", "=> (int64[1,5,1] y)").replace("BODY", body)
    proto, (_, data) = parser.parse_model(text), _heads("y = Identity(s)")
    proto.graph.initializer.append(numpy_helper.from_array(np.eye(16, 6, dtype=np.float32), "w"))
    return qmlir.load(proto), data


def _told(exact: np.ndarray, found: np.ndarray, element: str = "float") -> tuple[str, ...]:
    """The faults of a module that gives `found` where the float one gives `exact`, `[samples, 1, ...]`."""
    kind = f"{element}[{','.join(map(str, exact.shape[1:]))}]"
    text = f"""<ir_version: 10, opset_import: ["": 18]> g ({kind} x, {kind} e) => ({kind} y)
      <{element} none = {{0}}> {{ BODY }}"""
    modules = [
        qmlir.load(parser.parse_model(text.replace("BODY", body)))
        for body in ("z = Mul(e, none) y = Add(x, z)", "y = Add(x, e)")
    ]
    dtype = np.float32 if element == "float" else np.dtype(element)
    pairs = zip(exact.astype(dtype), (found - exact).astype(dtype), strict=True)
    runs = [Run(position, 1, each) for position, each in enumerate(pairs)]
    return compared(References(modules[0]), modules[1], runs).faults


@pytest.mark.parametrize(("lost", "is_lost"), [(1, False), (2, True)])
def test_lost_samples_that_change_their_class(lost: int, is_lost: bool) -> None:
    """What they have in common hides it from the ratio about their own mean, and others from the median."""
    exact = np.array([10, 10, -10, -10]) + 0.3 * np.random.default_rng(0).normal(size=(16, 1, 4))
    found = exact.copy()
    found[:lost, :, :2] = exact[:lost, :, 1::-1]
    told = _told(exact, found)
    assert bool(told) is is_lost
    assert all("87.5% of the samples in the same class (threshold 90%)" in each for each in told)


RANDOM = np.random.default_rng(0)
_CLASSES, _COLUMNS = RANDOM.normal(size=(16, 1, 12)), RANDOM.normal(size=(16, 1, 4))
_CHANNELS, _SERIES = RANDOM.normal(size=(16, 1, 4, 5, 7)), RANDOM.normal(size=(16, 1, 3, 40))
_COMMON = RANDOM.normal(0, 100, (16, 1, 1)) + 0.1 * _CLASSES
_TIES = np.concatenate([_CLASSES.max(2, keepdims=True) + 0.001, np.sort(_CLASSES, 2)], 2)
_HALVES = RANDOM.permuted(np.tile(np.repeat([-1.0, 1], 6), (16, 1, 1)), axis=2) + 0.01 * _CLASSES
_QUIET = _CLASSES * np.where(np.arange(16) % 4 == 1, 1e-3, 1).reshape(-1, 1, 1)
_RARE = np.where(np.arange(16) % 5 == 1, 0.9, 0.002).reshape(-1, 1, 1)
_UNLIKELY = np.concatenate([1 - 3e-3 * RANDOM.random((16, 1, 1)), 1e-3 * RANDOM.random((16, 1, 3))], 2)
_SPARSE = _COLUMNS * np.array([1, 1, 1e-3, 1]) * np.where(np.arange(16) % 8 == 1, 1, [[1], [1], [0], [1]]).T[:, None]
_SPEECH = np.where(np.arange(16) % 2, 0.9, 0.1).reshape(-1, 1, 1) + RANDOM.uniform(-0.01, 0.01, (16, 1, 30))
_MASKED = np.where(RANDOM.random((16, 1, 12)) < 0.4, -1e9, _CLASSES)


@pytest.mark.parametrize(
    ("exact", "error", "message"),
    [
        pytest.param(_COMMON, 0.1, "in the same class (threshold 90%)", id="classes beside what they have in common"),
        pytest.param(_COMMON, 0.002, "", id="small errors beside it"),
        pytest.param(_HALVES, 0.1, "", id="halves as good as equal"),
        pytest.param(_HALVES, 0.35, "in the same class (threshold 90%)", id="ties in rows of noise"),
        pytest.param(_TIES, 0.01, "", id="classes as good as equal"),
        pytest.param(_QUIET, 0.01, "in the same class (threshold 90%)", id="a quarter of quiet samples"),
        pytest.param(_COLUMNS * [1, 1, 1e-3, 1], 0.01, "output y[:, 2]: SQNR below 6 dB", id="column"),
        pytest.param(_CHANNELS * np.reshape([1, 1e-3, 1, 1], (4, 1, 1)), 0.01, "output y[:, 1]: SQNR", id="channel"),
        pytest.param(_SERIES * np.reshape([1, 1, 1e-3], (3, 1)), 1e-3, "output y[:, 2]: SQNR", id="row"),
        pytest.param(_COLUMNS * [1, 1, 0, 1], 0.01, "", id="column of zeros"),
        pytest.param(_SPARSE, 0.01, "", id="column that varies in few samples"),
        pytest.param(_UNLIKELY, 0.001, "", id="unlikely classes"),
        pytest.param(_RARE, 0.004, "", id="probability of a rare event"),
        pytest.param(_MASKED, 0.01, "", id="masked classes"),
        pytest.param(_SPEECH, 0.02, "", id="events of their own"),
    ],
)  # fmt: skip
def test_losses_that_the_other_numbers_of_an_output_hide(exact: np.ndarray, error: float, message: str) -> None:
    noise = error * np.random.default_rng(1).normal(size=exact.shape) * (np.abs(exact) < 1e4)
    if exact.min() >= 0 and exact.max() <= 1:
        noise = np.clip(exact + noise, 0, 1) - exact
    told = "; ".join(_told(exact, exact + noise))
    assert message in told
    assert bool(told) is bool(message)


def _confident() -> np.ndarray:
    """Logits of 1000 classes as those of a classifier of images: five classes stand out, one of them most."""
    random = np.random.default_rng(4)
    logits = random.normal(0, 1.6, (64, 1, 1000))
    for each in logits[:, 0]:
        each[random.choice(1000, 5, replace=False)] += 4 + random.gamma(2, 1.2, 5) + random.gamma(1.5, 3) * np.eye(5)[0]
    return logits


@pytest.mark.parametrize(
    ("exact", "sqnr", "is_lost"),
    [
        pytest.param(_confident(), 11.5, False, id="images"),
        pytest.param(_confident(), 3, True, id="lost images"),
        pytest.param(np.random.default_rng(4).normal(size=(64, 1, 512)), 17, False, id="embeddings"),
        pytest.param(np.random.default_rng(5).normal(size=(64, 1, 12)), 11, True, id="lost classes"),
    ],
)
def test_classes_that_are_nearly_equal_are_not_lost(exact: np.ndarray, sqnr: float, is_lost: bool) -> None:
    """More than 10% of the rows have another class, but those of sound outputs have nearly the same number."""
    error = exact.std() * 10 ** (-sqnr / 20)
    found = exact + error * np.random.default_rng(1).normal(size=exact.shape)
    assert (found.argmax(-1) == exact.argmax(-1)).mean() < 0.9
    assert bool(_told(exact, found)) is is_lost


def _detector(is_quantized: bool, axes: tuple[int, int, int]) -> np.ndarray:
    """Boxes of an image and scores of 20 classes at 300 places; three classes are found, in 8 places each."""
    random, noise = np.random.default_rng(0), np.random.default_rng(1)
    boxes, scores = random.uniform(0, 640, (8, 4, 300)), np.exp(random.normal(-11, 1, (8, 20, 300)))
    for each in scores:
        each[random.choice(20, 3, replace=False)[:, None], random.integers(0, 300, (3, 8))] = random.uniform(0.5, 0.9)
    if is_quantized:
        boxes += noise.normal(size=boxes.shape)
        scores = np.round(scores * 255) / 255
    return np.concatenate([boxes, scores], 1).transpose(axes)[:, None]


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2, 1)])
def test_classes_that_a_detector_does_not_find_are_not_lost(axes: tuple[int, int, int]) -> None:
    assert _told(_detector(False, axes), _detector(True, axes)) == ()


def test_small_offsets_of_a_detector_have_no_class() -> None:
    """The offsets of a box differ much in size from box to box, and have one error of 20 dB."""
    random = np.random.default_rng(0)
    exact = random.normal(size=(16, 1, 300, 4)) * random.exponential(size=(16, 1, 300, 1))
    found = exact + 0.1 * exact.std() * random.normal(size=exact.shape)
    assert (found.argmax(-1) == exact.argmax(-1)).mean() < 0.9
    assert _told(exact, found) == ()


def test_rows_of_words_are_lost_beside_what_their_classes_have_in_common() -> None:
    random = np.random.default_rng(0)
    exact = random.normal(0, 100, (16, 1, 6, 1)) + random.normal(size=(16, 1, 6, 12))
    found = exact + random.normal(size=exact.shape)
    assert "in the same class" in "".join(_told(exact, found))


@pytest.mark.parametrize(("sqnr", "low", "high"), [(9, 0, 10), (-10, 980, 1000)])
def test_columns_of_few_samples_scatter(sqnr: float, low: int, high: int) -> None:
    """The ratio of 16 numbers is a guess of that of a column: 1% of the columns with 9 dB may count as lost."""
    exact = np.random.default_rng(0).normal(size=(16, 1, 1000))
    found = exact + 10 ** (-sqnr / 20) * np.random.default_rng(1).normal(size=exact.shape)
    assert low <= len(lost_places(list(exact), list(found), 1, 6.0)) <= high


@pytest.mark.parametrize(("unequal", "is_lost"), [(2, False), (3, True)])
def test_two_labels_of_16_differ_by_chance(unequal: int, is_lost: bool) -> None:
    labels = np.arange(16).reshape(16, 1, 1)
    found = np.where(labels < unequal, labels + 1, labels)
    assert bool(_told(labels, found, "int64")) is is_lost


@pytest.mark.filterwarnings("error")
def test_infinite_masks_are_no_warning_of_numpy() -> None:
    exact = np.array([[1, 3, -np.inf], [2, 1, -np.inf], [np.inf, np.inf, 0]])
    assert misplaced(exact, np.where(exact == 3, -3, exact), 20.0) == 1
    assert misplaced(exact, exact[:, ::-1], 20.0) == 1
