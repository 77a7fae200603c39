"""The zoo: metrics against figures by hand, a small model all the way, and the page with what failed."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper, numpy_helper

import qmlir
from benchmarks.zoo import running
from benchmarks.zoo.figures import misses, notes, zoo_rows
from benchmarks.zoo.made import Made, zoo
from benchmarks.zoo.metrics import METRICS, decibels, score
from benchmarks.zoo.outputs import ModuleRun, PeerRun, outputs_by
from benchmarks.zoo.running import FLOAT, OPENVINO, OURS, STATIC, Result, run_model, time_model
from qmlir.environment import default_environment
from qmlir.interpreter.jobs import ShippedModule, Workers
from qmlir.targets.runtimes.onnx_runtime import OrtSession
from qmlir.text.parsing import parse_module


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
    rows = {row.title: row.figure for row in zoo_rows([good, result])}
    counted = ("models", "models that come through", "models that lose more than they may")
    assert [rows[f"zoo: {what}"] for what in counted] == [2, 1, 1]
    assert (rows["good: top-1, float"], rows["good: top-1, qmlir"]) == (90, 89)
    assert not [title for title in rows if title.startswith("odd")]
    said = list(notes([good, result]))
    assert said[0] == "good: loses more than it may"
    assert said[1].startswith("odd: import: ")
    assert "NoSuchOperator" in said[1]


def test_what_is_lost_is_held_against_the_float_model_or_the_peer() -> None:
    assert "sqnr" in METRICS
    assert not misses(Result("a", "", "class", scores={FLOAT: 0.9, OURS: 0.896}))
    assert misses(Result("a", "", "class", scores={FLOAT: 0.9, OURS: 0.895}))
    assert not misses(Result("a", "", "sqnr", noise={STATIC: 20.0, OURS: 19.6}))
    assert misses(Result("a", "", "sqnr", noise={STATIC: 20.0, OURS: 19.4}))


def _classifier(count: int) -> Made:
    """Layers without a state: samples are judged by themselves."""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w", (6, 16)), ("v", (16, 5)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MatMul", ["b", "v"], ["y"], "last"),
    ]
    x, y = helper.make_tensor_value_info("x", 1, [1, 6]), helper.make_tensor_value_info("y", 1, [1, 5])
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = [{"x": generator.standard_normal((1, 6)).astype(np.float32)} for _ in range(8 + count)]
    labels = generator.integers(0, 5, count)
    return Made(model, samples[:8], samples[8:], metric="class", labels=labels)


def _figures(result: Result) -> dict[str, Any]:
    """All but times; without OpenVINO, whose int8 of such small layers is another one from run to run."""
    found = {key: value for key, value in asdict(result).items() if key not in ("seconds", "times")}
    for key in ("scores", "noise"):
        found[key].pop(OPENVINO, None)
    return found


def test_workers_judge_with_the_same_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one process, by one worker and by two, one of which ends in the middle; with a peer that runs, and without."""
    distributed: Any = pytest.importorskip("distributed")
    _classifier(70).keep(tmp_path / "zoo" / "small", "made here")
    _small().keep(tmp_path / "zoo" / "state", "made here")
    small, state = zoo(tmp_path / "zoo").values()
    alone = run_model(small, tmp_path / "alone")
    assert (alone.stage, alone.cause) == ("", "")
    assert alone.scores[OURS] is not None
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=1, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        assert _figures(run_model(small, tmp_path / "one", client)) == _figures(alone)
        assert not (tmp_path / "one" / "parts").exists()
        assert _figures(run_model(state, tmp_path / "state", client)) == _figures(run_model(state, tmp_path / "own"))
        cluster.scale(2)
        client.wait_for_workers(2)
        ended: list[str] = []

        def ends(*given: Any) -> Any:
            """One worker ends as soon as a model has gone out."""
            if not ended:
                address, *_ = client.scheduler_info()["workers"]
                ended.append(address)
                client.submit(os._exit, 1, workers=[address], allow_other_workers=False, pure=False, retries=0)
            return outputs_by(*given)

        monkeypatch.setattr(running, "outputs_by", ends)
        assert _figures(run_model(small, tmp_path / "two", client)) == _figures(alone)
        assert len(ended) == 1


def test_a_run_that_was_ended_goes_on_with_what_workers_have_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers stay in the folder of results till the model came through."""
    samples = _classifier(70).judged
    run = PeerRun(_classifier(70).model.SerializeToString())
    parts = tmp_path / "parts"

    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in parts.iterdir()}

    with pytest.raises(KeyboardInterrupt):
        outputs_by(Workers(folder=parts), run, _interrupted(samples, 40))
    first = written()
    assert len(first) == 2
    found = outputs_by(Workers(folder=parts), run, samples)
    second = written()
    assert len(second) == 5
    assert first.items() <= second.items()
    session = OrtSession(run.model)
    for feeds, outputs in zip(samples, found, strict=True):
        np.testing.assert_array_equal(outputs["y"], session(feeds)["y"])
    # A torn answer is computed again.
    for each in parts.iterdir():
        each.write_bytes(each.read_bytes()[:-1])
    torn = written()
    again = outputs_by(Workers(folder=parts), run, samples)
    assert not torn.items() & written().items()
    np.testing.assert_array_equal(again[-1]["y"], found[-1]["y"])


def _interrupted(samples: Sequence[Any], count: int) -> Iterator[Any]:
    yield from samples[:count]
    raise KeyboardInterrupt


def test_outputs_of_every_type_go_to_another_process_and_back() -> None:
    text = """
        func.func @main(%x: tensor<2x3xf32> {nn.name = "x"})
            -> (tensor<2x3xf16>, tensor<2x3xbf16>, tensor<2x3xi1>, tensor<2x3xf8E4M3FN>, tensor<0x3xi64>) {
          %0 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
          %1 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
          %2 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
          %3 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf8E4M3FN>
          %4 = nn.constant dense<> : tensor<0x3xi64>
          func.return %0, %1, %2, %3, %4
            : tensor<2x3xf16>, tensor<2x3xbf16>, tensor<2x3xi1>, tensor<2x3xf8E4M3FN>, tensor<0x3xi64>
        }"""
    module = parse_module(default_environment().new_context(), text, "types")
    x = {"x": np.array([[0, -0.0, 1.5], [np.inf, -448, 0.3]], np.float32)}
    wanted = qmlir.interpret(module, x)
    for is_compiled in (False, True):
        (found,) = outputs_by(Workers(), ModuleRun(ShippedModule.of(module), is_compiled), [x])
        assert list(found) == list(wanted)
        for name, array in wanted.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
            assert found[name].tobytes() == array.tobytes()
