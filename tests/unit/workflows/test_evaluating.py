"""Batches, engines, labels and predictions, by hand."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module
from qmlir.workflows.evaluating import (
    Batch,
    Batches,
    Engine,
    Runner,
    data_beside,
    output_name,
    predicted,
    read_labels,
)
from tests.support.classifiers import classifier, samples


def module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text, "test")


OPEN = """
func.func @main(%x: tensor<3x?x2xf32> {nn.name = "x", nn.dims = ["", "N", ""]}) -> (tensor<3x?x2xf32> {nn.name = "y"}) {
  %0 = nn.relu %x : tensor<3x?x2xf32>
  func.return %0 : tensor<3x?x2xf32>
}
"""
FIXED = OPEN.replace("?", "2")


def test_samples_go_together_along_the_axis_of_the_batch() -> None:
    data = np.arange(30, dtype=np.float32).reshape(5, 3, 2)
    batches = list(Batches(module(OPEN), {"x": data}, size=2))
    assert [(batch.samples, batch.rows) for batch in batches] == [(2, 2), (2, 2), (1, 2)]
    assert {batch.inputs["x"].shape for batch in batches} == {(3, 2, 2)}
    np.testing.assert_array_equal(batches[1].inputs["x"], data[2:4].transpose(1, 0, 2))
    np.testing.assert_array_equal(batches[2].inputs["x"], data[[4, 4]].transpose(1, 0, 2))


def test_one_batch_that_is_not_full_is_not_filled_up() -> None:
    (batch,) = Batches(module(OPEN), {"x": np.zeros((2, 3, 2), np.float32)}, size=8)
    assert (batch.samples, batch.rows, batch.inputs["x"].shape) == (2, 2, (3, 2, 2))


def test_a_model_of_fixed_batches_has_its_own() -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    batches = list(Batches(module(FIXED), iter([data.transpose(1, 0, 2)[:, :2], data.transpose(1, 0, 2)[:, 2:]])))
    assert [batch.inputs["x"].shape for batch in batches] == [(3, 2, 2), (3, 2, 2)]


def test_data_is_gone_over_again_and_told_apart() -> None:
    x, _ = samples(6)
    model = qmlir.load(classifier())
    once = Batches(model, iter([{"x": row} for row in x]), size=4)
    first, second = [batch.samples for batch in once], [batch.samples for batch in once]
    assert first == second == [4, 2]
    assert once.digest() == Batches(model, {"x": x}, size=4).digest()
    other = x.copy()
    other[5, 3] += 1
    assert once.digest()[0] != Batches(model, {"x": other}, size=4).digest()[0]
    assert once.digest()[1] == 6
    assert [batch.samples for batch in Batches(model, {"x": x}, size=4, limit=5)] == [4, 1]


def test_the_engine_changes_when_compiling_would_have_been_done() -> None:
    x, _ = samples(10)
    model = qmlir.load(classifier())
    ticks = count(step=4.0)  # each question after the time takes 4 seconds, so does each batch of the interpreter
    runner = Runner(clock=lambda: next(ticks))
    found = list(runner.outputs(model, Batches(model, {"x": x}, size=2)))
    assert runner.compiled == 1
    assert runner.compile_seconds == 4.0
    expected = qmlir.interpret(model, {"x": x})["y"]
    np.testing.assert_allclose(np.concatenate([outputs["y"] for _, outputs in found]), expected, rtol=1e-5)
    # Of the next module only the first batch goes through the interpreter.
    assert len(list(runner.outputs(model, Batches(model, {"x": x}, size=2)))) == 5
    assert runner.compiled == 2
    never = Runner(Engine.INTERPRETER, clock=lambda: next(ticks))
    list(never.outputs(model, Batches(model, {"x": x}, size=2)))
    assert never.compiled == 0


def test_what_has_no_compiled_form_is_interpreted_unless_the_engine_is_chosen() -> None:
    text = """
    func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<1x?xi64> {nn.name = "y"}) {
      %0 = nn.non_zero %x : (tensor<4xf32>) -> tensor<1x?xi64>
      func.return %0 : tensor<1x?xi64>
    }
    """
    model, data = module(text), {"x": np.ones((3, 4), np.float32)}
    ticks = count(step=100.0)
    outputs = [found["y"].shape for _, found in Runner(clock=lambda: next(ticks)).outputs(model, Batches(model, data))]
    assert outputs == [(1, 4)] * 3
    with pytest.raises(DiagnosticError, match="its output shape depends on the data"):
        list(Runner(Engine.COMPILED).outputs(model, Batches(model, data)))


def test_labels_are_no_data_but_of_a_model_that_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "all.npz"
    x = np.arange(18, dtype=np.float32).reshape(3, 3, 2)
    np.savez(path, x=x, y=np.array([0, 1, 0]))
    (tmp_path / "link.npz").symlink_to(path)
    for labels in (f"y={path}", f"y={tmp_path / 'link.npz'}"):
        (batch,) = Batches(module(OPEN), data_beside(labels, path))
        np.testing.assert_array_equal(batch.inputs["x"], x.transpose(1, 0, 2))
    np.savez(path, x=x, y=x.reshape(3, 6).astype(np.int64))
    taking = """
func.func @main(%x: tensor<?x3x2xf32> {nn.name = "x"}, %y: tensor<?x6xi64> {nn.name = "y"})
    -> (tensor<?x3x2xf32> {nn.name = "z"}) {
  func.return %x : tensor<?x3x2xf32>
}
"""
    (batch,) = Batches(module(taking), data_beside(f"y={path}", path))
    assert list(batch.inputs) == ["x", "y"]
    for labels in (None, f"y={tmp_path / 'other.npz'}", f"{path}", [0, 1, 0]):
        assert data_beside(labels, path) is path


def test_labels_are_read_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.array([[1], [0]], np.uint8))
    np.savez(tmp_path / "all.npz", x=np.zeros(2, np.float32), y=np.array([2, 3]))
    np.savez(tmp_path / "one.npz", y=np.array([4, 5]))
    assert read_labels(tmp_path / "y.npy").tolist() == [1, 0]
    assert read_labels(f"y={tmp_path / 'all.npz'}").tolist() == [2, 3]
    assert read_labels(tmp_path / "one.npz").tolist() == [4, 5]
    assert read_labels([1, 2]).tolist() == [1, 2]
    np.savez(tmp_path / "empty.npz")
    for labels, message in (
        (tmp_path / "empty.npz", "the file contains no array"),
        (
            np.array([2**64 - 1], np.uint64),
            "labels must fit into a signed 64-bit integer, but got 18446744073709551615",
        ),
        (tmp_path / "all.npz", r"contains several arrays \(x, y\); choose the labels with --labels NAME="),
        (f"z={tmp_path / 'all.npz'}", r"has no array 'z'.*\(available: x, y\)"),
        (f"x={tmp_path / 'all.npz'}", r"labels must be integers, one per sample, but got float32"),
        (np.zeros((2, 2), np.int64), r"labels must be one integer per sample, but got shape 2x2"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            read_labels(labels)


def test_predictions_are_the_places_of_the_largest_scores() -> None:
    scores = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    assert predicted(scores, Batch({}, 2, 2)).tolist() == [1, 0]
    assert predicted(scores, Batch({}, 1, 2)).tolist() == [1]
    assert predicted(scores[:, None], Batch({}, 2, 2)).tolist() == [1, 0]
    assert predicted(scores[:, :, None, None], Batch({}, 2, 2)).tolist() == [1, 0]
    for bad, message in (
        (scores[:, :1], "an output with at least two logits per row, but got shape"),
        (np.zeros((2, 5, 3)), "one row of logits per sample, but got shape 2x5x3"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            predicted(bad, Batch({}, 2, 2))


def test_the_output_has_to_be_named_where_there_are_several() -> None:
    two = module(OPEN.replace("func.return %0 :", "func.return %0, %0 : tensor<3x?x2xf32>,").replace(
        '(tensor<3x?x2xf32> {nn.name = "y"})', '(tensor<3x?x2xf32> {nn.name = "y"}, tensor<3x?x2xf32> {nn.name = "z"})'
    ))  # fmt: skip
    assert output_name(two, "z") == "z"
    assert output_name(module(OPEN), None) == "y"
    with pytest.raises(
        DiagnosticError,
        match=r"the model has 2 outputs \(y, z\); choose the one with the logits with --scores \(output=\)",
    ):
        output_name(two, None)
    with pytest.raises(DiagnosticError, match="unknown output 'w'"):
        output_name(two, "w")
