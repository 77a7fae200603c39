"""A sample that is no number, or makes none: an error that names it, whatever it would be used for."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.nets import Net

SAMPLES = 8


def _module() -> ModuleOp:
    """Two layers; the first has weights of both signs, so that two infinities become NaN in it."""
    rng = np.random.default_rng(0)
    weights = np.abs(rng.standard_normal((6, 4), np.float32))
    weights[1] *= -1
    net = Net()
    x = net.input(np.zeros((1, 6), np.float32), ("N", 6))
    hidden = net.node("Relu", net.node("MatMul", x, net.constant(weights)))
    return qmlir.load(net.model(net.node("MatMul", hidden, net.constant(rng.standard_normal((4, 3), np.float32)))))


def _samples(count: int, spoiled: int, value: float) -> dict[str, Any]:
    samples = np.random.default_rng(1).standard_normal((count, 6), np.float32)
    samples[spoiled, :2] = value
    return {"x0": samples}


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["nan", "infinity"])
@pytest.mark.parametrize("spoiled", range(SAMPLES))
@pytest.mark.parametrize("effort", [None, 0, 1, 2])
def test_samples_that_calibrate_repair_or_judge(effort: int | None, spoiled: int, value: float) -> None:
    """Of an effort every fourth sample judges, and records nothing."""
    with pytest.raises(DiagnosticError) as raised:
        qmlir.quantize(_module(), _samples(SAMPLES, spoiled, value), effort=effort)
    found = "2 of 6" if np.isnan(value) else "4 of 4"
    assert f"at sample {spoiled}: values must not contain NaN, but {found} are NaN" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("spoiled", [256, 259, 263])
def test_samples_that_validate(spoiled: int, processes: int) -> None:
    """Of more than 256 samples a share is held out to validate: the last two of these."""
    with pytest.raises(DiagnosticError, match=f"at sample {spoiled}: values must not contain NaN, but 2 of 6 are NaN"):
        qmlir.quantize(_module(), _samples(264, spoiled, np.nan), processes=processes)


def test_samples_that_are_given_to_validate() -> None:
    """They may hold what the model is not calibrated for: the model is made, and the sample is named."""
    clean, spoiled = _samples(SAMPLES, 0, 1.0), _samples(SAMPLES, 3, np.nan)
    found = qmlir.quantize(_module(), clean, validation=spoiled).validation
    assert found is not None
    assert (
        found.problem
        == "at sample 3: 'quant.qcast' op cannot be computed: the input contains NaN, which cannot be quantized"
    )
    with pytest.raises(
        DiagnosticError, match=r"at sample 3: 'quant.qcast' op cannot be computed: the input contains NaN"
    ):
        qmlir.quantize(_module(), clean, validation=spoiled, min_sqnr=1.0)


def test_what_is_held_out_records_nothing() -> None:
    """A held-out sample runs, but its range is in no profile."""
    samples = np.random.default_rng(1).standard_normal((SAMPLES, 6), np.float32)
    samples[3] = 1000
    found = qmlir.quantize(_module(), {"x0": samples}, effort=1).profile
    assert found.samples == SAMPLES - SAMPLES // 4
    assert all(each.summary.maximum < 1000 for each in found.values.values())
