"""Whether a model lost its answers: what is compared, the verdict by hand, bounds, and that nothing is silent."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.interpreter.samples import Data, Run
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.validating import (
    MOST,
    Cause,
    Share,
    Validation,
    ValidationOptions,
    runs_to_compare,
)
from tests.support.classifiers import classifier, samples

LOST: QuantizeSettings = {"weights": "i4", "granularity": "tensor"}
"""The layer `fine` of the classifier is 0 with these, so that every score is."""


def _validated(data: Data, **settings: Any) -> Validation:
    found = qmlir.quantize(qmlir.load(classifier()), data, **settings).validation
    assert found is not None
    return found


def _heard(call: object) -> list[str]:
    assert callable(call)
    heard: list[Diagnostic] = []
    with diagnostic_handler(heard.append):
        call()
    return list(map(str, heard))


def test_a_sound_model() -> None:
    """Weights of 1 beside one of 100 are 100/127 in 8 bits: the error is 27/127 of the signal, and little else errs."""
    found = _validated({"x": samples()[0]})
    (output,) = found.outputs
    assert output.sqnr_db == pytest.approx(20 * np.log10(127 / 27), abs=0.1)
    assert output.cosine == pytest.approx(1, abs=1e-3)
    assert (output.name, output.agreement, found.samples, found.fault) == ("y", 1.0, 10, "")  # every fourth of 40
    assert _heard(lambda: qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}).module) == []


def test_lost_answers_are_a_warning_with_the_first_cause() -> None:
    """All scores are 0: the error is as large as the signal, 0 dB, and the larger of two equal ones is the first."""
    (said,) = _heard(lambda: qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, **LOST).module)
    assert said == (
        "warning: the quantized model lost its answers: output y has 0.0 dB, less than 10; the first cause: "
        "fine (Gemm, nn.fully_connected), 0.0 dB"
    )
    with diagnostic_handler(lambda _: None):
        found = _validated({"x": samples()[0]}, **LOST)
    assert found.cause == Cause("fine", "nn.fully_connected", "Gemm", 0.0)
    assert found.text().startswith("THE ANSWERS ARE LOST: output y has 0.0 dB, less than 10\n")
    assert (found.outputs[0].cosine, found.outputs[0].agreement) == (0.0, 0.5)  # half of the samples are of class 0


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"min_sqnr": 200}, r"output y has \d+\.\d dB, less than 200; the first cause: "),
        ({"min_agreement": 1, "validation": {"x": samples()[0][-8:]}, **LOST}, "output y has 0.0 dB"),
    ],
)
def test_a_bound_is_an_error(bounds: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, validate=False, **bounds)


def test_agreement_alone() -> None:
    """Where any ratio will do, half of the samples are in another class than all of the scores of 0 say."""
    with pytest.raises(DiagnosticError, match=r"has 50\.0% of the samples in the same class, less than 60%"):
        _validated({"x": samples(16)[0]}, min_sqnr=-100, min_agreement=0.6, **LOST)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"min_agreement": 1.5}, "a share, 0 to 1, found 1.5"), ({"min_sqnr": float("nan")}, "decibels, found nan")],
)
def test_a_bound_that_is_none(bounds: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        ValidationOptions(**bounds)


def test_a_bound_needs_samples() -> None:
    profile = qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, validate=False).profile
    assert _heard(lambda: qmlir.quantize(qmlir.load(classifier()), profiled=profile).module) == []
    with pytest.raises(DiagnosticError, match="a bound needs samples"):
        qmlir.quantize(qmlir.load(classifier()), profiled=profile, min_sqnr=10)
    qmlir.quantize(qmlir.load(classifier()), profiled=profile, min_sqnr=10, validation={"x": samples()[0]})


def _numbered(count: int) -> Iterator[Run]:
    return (Run(place, 1, (np.array([place]),)) for place in range(count))


@pytest.mark.parametrize(
    ("count", "compared", "calibrating"),
    [
        (3, range(3), range(3)),
        (10, (0, 4, 8), range(10)),
        (259, (0, 64, 128, 192), range(259)),
        (264, (259, 263), [each for each in range(264) if each not in (259, 263)]),
        (600, (259, 263, 267, 271), [each for each in range(600) if each not in (259, 263, 267, 271)]),
    ],
)
def test_the_share_that_is_held_out(count: int, compared: Iterable[int], calibrating: Iterable[int]) -> None:
    """The first 256 calibrate, and lend some from all over; after them every fourth is held out, up to the limit."""
    share = Share(4)
    assert [run.first for run in share.calibrating(_numbered(count))] == list(calibrating)
    assert [run.first for run in share.runs] == list(compared)
    assert share.source == ("held out of the calibration" if count > 259 else "that calibration used")


def test_what_is_held_out_does_not_calibrate() -> None:
    x = np.resize(samples()[0], (260, 4)).astype(np.float32)
    x[259] *= 50
    without = qmlir.quantize(qmlir.load(classifier()), {"x": x[:259]}, validate=False).module
    held = qmlir.quantize(qmlir.load(classifier()), {"x": x}, min_sqnr=-100, min_agreement=0)
    assert str(held.module) == str(without)
    assert held.validation is not None
    assert (held.validation.samples, held.profile.samples) == (1, 259)


def test_one_sample_with_large_values_does_not_decide() -> None:
    """A range that a single sample rules leaves nothing of the others: a ratio of all of them together is good."""
    x = samples()[0]
    x[4] *= 1000
    found = qmlir.quantize(qmlir.load(classifier()), {"x": x}, validate=False).module
    pooled = qmlir.compare(qmlir.load(classifier()), found, {"x": x[:MOST]})
    assert pooled.outputs[0].sqnr_db > 13
    with diagnostic_handler(lambda _: None):
        validation = _validated({"x": x})
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
    assert "output c has 50.0% of its integers equal, less than 75%" in found.fault
