"""Accuracies of the float model and of choices of widths, by hand."""

import pytest

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.search.trials import SearchSubject, Trials
from qmlir.interpreter.jobs import ShippedModule, Workers
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import QuantizeOptions
from qmlir.workflows.choices import Engine
from qmlir.workflows.evaluating import Batches
from tests.support.classifiers import classifier, samples

X, LABELS = samples(10)


def _trials(labels: Array | None) -> Trials:
    model = qmlir.load(classifier())
    profiled = qmlir.quantize(model, {"x": X}, effort=0, validate=False).profiled
    shipped = ShippedModule.of(model), ShippedModule.of(profiled)
    subject = SearchSubject(*shipped, QuantizeOptions(granularity="channel"), "y", Engine.AUTO, 1)
    batches = Batches(model, {"x": X}, size=4)
    return Trials(Workers(), subject, batches, labels, batches)


def test_accuracy_is_counted_by_hand() -> None:
    wrong = LABELS.copy()
    wrong[:3] = 1 - wrong[:3]
    assert _trials(wrong).float_accuracy() == 0.7
    assert list(_trials(wrong).accuracies([{}])) == [0.7]
    agreement = _trials(None)
    assert (agreement.float_accuracy(), agreement.metric) == (1.0, "agreement with the float model")
    assert list(agreement.accuracies([{}])) == [1.0]
    with pytest.raises(DiagnosticError, match=r"expected one label per sample \(10\), but got 9"):
        _trials(LABELS[:9]).float_accuracy()
