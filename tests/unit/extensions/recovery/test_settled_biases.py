"""Biases that one pass has settled, and the next one does not run the samples for again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from qmlir.extensions.recovery.quant_gptq import SecondMoments
from qmlir.extensions.recovery.rounded_weights import rounded_weights
from qmlir.interpreter.interpreter import Lockstep
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.report import LayerImprovement
from qmlir.specialization.inputs import function_of
from qmlir.text.printing import module_text
from tests.support.repairs import data_of, decided_by, samples_of_four, two_layers

_BOTH = "quant-gptq,quant-correct-bias"


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that samples have gone through, one for each time."""
    found: list[str] = []
    walked = Lockstep.__iter__

    def counted(self: Lockstep) -> Iterator[Operation]:
        found.append("main")
        return walked(self)

    monkeypatch.setattr(Lockstep, "__iter__", counted)
    return found


@pytest.mark.parametrize("recipe", [[], [{"node": "first", "slot": "weight", "repair": "quant-correct-bias"}]])
def test_the_same_comes_out_with_one_walk_less_where_all_biases_are_settled(
    recipe: list[dict[str, str]], walks: list[str]
) -> None:
    decided = decided_by(two_layers("c"), recipe)
    found: list[str] = []
    counts: list[int] = []
    for biases in (None, set[Operation]()):
        module = decided.clone()
        walks.clear()
        run_pipeline(module, _BOTH, samples={"x": samples_of_four()}, biases=biases)
        found.append(module_text(module))
        counts.append(len(walks))
    assert found[0] == found[1]
    assert counts == ([2, 2] if recipe else [2, 1])  # the bias of a layer that GPTQ may not touch is left to correct


# With 8 bits, and data that is the same in each row, no codes are better than the nearest: only the mean is wrong.
def test_a_bias_is_settled_where_the_codes_stay() -> None:
    module = decided_by(two_layers("c"))
    weight, *_ = rounded_weights(function_of(module, "main"))
    samples = np.tile(samples_of_four(1), (4, 1))
    told: list[LayerImprovement] = []
    run_pipeline(module, "quant-gptq{floats_share=0}", samples={"x": samples}, gained=told.append)
    assert np.array_equal(weight.array, weight.unrounded)
    assert weight.bias is not None
    data = data_of(samples, weight).astype(np.float64)
    errors = (weight.rounded - weight.unrounded).astype(np.float64) @ data.mean(0)
    np.testing.assert_allclose(weight.bias.array.reshape(-1), weight.bias.unrounded.reshape(-1) - errors, rtol=1e-5)
    assert [each.repair for each in told if each.layer == "first"] == ["quant-correct-bias"]


def test_rows_of_several_runs_are_summed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    summed = SecondMoments.of

    def counted(rows: Any, exact: Any) -> SecondMoments:
        seen.append(rows.shape[1])
        return summed(rows, exact)

    monkeypatch.setattr(SecondMoments, "of", counted)
    together, alone = decided_by(two_layers("c")), decided_by(two_layers("c"))
    run_pipeline(together, "quant-gptq", samples={"x": samples_of_four()})
    assert seen == [8] * 16  # two layers of four terms, 64 rows each

    monkeypatch.setattr(SecondMoments, "rows_at_once", lambda terms: 0)
    run_pipeline(alone, "quant-gptq", samples={"x": samples_of_four()})
    assert seen[16:] == [1] * 128
    for one, other in zip(*(rounded_weights(function_of(each, "main")) for each in (together, alone)), strict=True):
        assert np.array_equal(one.rounded, other.rounded)
