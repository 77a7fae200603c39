"""The zoo: metrics against figures by hand, a small model all the way, and the page with what failed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper, numpy_helper

from benchmarks.zoo.made import Made, zoo
from benchmarks.zoo.metrics import METRICS, decibels, score
from benchmarks.zoo.page import misses, write_page
from benchmarks.zoo.running import FLOAT, OURS, STATIC, Result, run_model, time_model


def _outputs(*arrays: Any) -> list[dict[str, npt.NDArray[Any]]]:
    return [{"y": np.asarray(each, np.float32)} for each in arrays]


@pytest.mark.parametrize(
    ("metric", "outputs", "labels", "figure"),
    [
        ("class", _outputs([[0, 2, 1]], [[3, 2, 1]]), [1, 1], 0.5),
        ("label", _outputs([4], [5]), [4, 4], 0.5),
        # a a - b reads "ab": one of three characters is missing.
        ("characters", _outputs([[[0, 9, 0], [0, 9, 0], [9, 0, 0], [0, 0, 9]]]), [[1, 2, 2, 0]], 2 / 3),
        # Two of the three pixels that are found, and two of the two that are there.
        ("pixels", _outputs([[[0.9, 0.4], [0.31, 0.1]]]), [[[True, True], [False, False]]], 0.8),
        ("voice", _outputs([0.6], [0.4], [0.9]), [True, True, True], 2 / 3),
        # The second question is nearer to the text of the first.
        ("retrieval", _outputs([1, 0], [0.9, 0.2], [1, 0], [0, 1]), [], 0.5),
    ],
)
def test_metrics(metric: str, outputs: Any, labels: Sequence[Any], figure: float) -> None:
    assert score(metric, outputs, np.asarray(labels)) == pytest.approx(figure)


def test_noise_of_the_worst_output() -> None:
    exact = [{"a": np.array([3.0, 4.0]), "b": np.array([1.0]), "n": np.array([7])}]
    found = [{"a": np.array([3.0, 4.5]), "b": np.array([1.0]), "n": np.array([1])}]
    assert decibels(found, exact) == pytest.approx(20.0)  # 25 over a quarter; integers are no signal


def test_sizes_that_depend_on_data_have_no_noise() -> None:
    exact = [{"a": np.ones(2), "b": np.ones(3)}]
    assert decibels([{"a": np.ones(2), "b": np.zeros(1)}], exact) == np.inf


def _small() -> Made:
    """A recurrence: the state is a layer of the input and of the state before."""
    generator = np.random.default_rng(0)
    weights = [numpy_helper.from_array(generator.standard_normal((8, 4)).astype(np.float32), "w")]
    nodes = [
        helper.make_node("Concat", ["x", "h"], ["both"], "both", axis=1),
        helper.make_node("MatMul", ["both", "w"], ["product"], "product"),
        helper.make_node("Tanh", ["product"], ["next"], "tanh"),
    ]
    x, h, after = (helper.make_tensor_value_info(name, 1, [1, 4]) for name in ("x", "h", "next"))
    graph = helper.make_graph(nodes, "g", [x, h], [after], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = [
        {"x": generator.standard_normal((1, 4)).astype(np.float32), "h": generator.uniform(-1, 1, (1, 4)).astype("f4")}
        for _ in range(16)
    ]
    return Made(model, samples[:8], samples[8:], states={"h": "next"})


def test_all_the_way(tmp_path: Path) -> None:
    _small().keep(tmp_path / "zoo" / "small", "made here")
    (model,) = zoo(tmp_path / "zoo").values()
    result = run_model(model, tmp_path / "results")
    assert (result.stage, result.cause) == ("", "")
    assert result == Result.load(tmp_path / "results")
    assert (result.integer_share, result.exported) == (1.0, np.inf)
    assert result.noise[FLOAT] == np.inf
    assert 15 < (result.noise[OURS] or 0) < 60
    time_model(model, tmp_path / "results", rounds=1, seconds=0.01)
    timed = Result.load(tmp_path / "results")
    assert timed is not None
    assert {OURS, STATIC} <= timed.times.keys()


def test_a_failure_is_a_row(tmp_path: Path) -> None:
    made = _small()
    made.model.graph.node[2].op_type = "NoSuchOperator"
    made.keep(tmp_path / "zoo" / "odd", "made here")
    result = run_model(zoo(tmp_path / "zoo")["odd"], tmp_path / "results")
    assert result.stage == "import"
    good = Result("good", "elsewhere", "class", scores={FLOAT: 0.9, OURS: 0.89}, noise={OURS: 20.0}, exported=np.inf)
    write_page(tmp_path / "models.md", [good, result])
    page = (tmp_path / "models.md").read_text()
    assert "1 of 2 models come through; 1 of these lose more" in page
    assert "| `odd` | SQNR | – | – | no: import |" in page
    assert "NoSuchOperator" in page


def test_what_is_lost_is_held_against_the_float_model_or_the_peer() -> None:
    assert "sqnr" in METRICS
    assert not misses(Result("a", "", "class", scores={FLOAT: 0.9, OURS: 0.896}))
    assert misses(Result("a", "", "class", scores={FLOAT: 0.9, OURS: 0.895}))
    assert not misses(Result("a", "", "sqnr", noise={STATIC: 20.0, OURS: 19.6}))
    assert misses(Result("a", "", "sqnr", noise={STATIC: 20.0, OURS: 19.4}))
