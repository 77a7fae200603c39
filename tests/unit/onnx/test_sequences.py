"""Sequences as inputs and outputs of a model, and ranks that only the model knows."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, parser

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli

A, B = np.array([[1, 2]], np.float32), np.array([[3, 4], [5, 6]], np.float32)


def _model(signature: str, nodes: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {signature} {{ {nodes} }}')


def _equal(found: Any, expected: list[np.ndarray]) -> None:
    assert isinstance(found, list)
    for one, other in zip(cast(list[np.ndarray], found), expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_inputs_and_outputs() -> None:
    module = qmlir.load(
        _model("(seq(float[n, 2]) s, float[1, 2] x) => (seq(float[m, 2]) y)", "y = SequenceInsert(s, x)")
    )
    assert "!nn.sequence<tensor<?x2xf32>>" in str(module)
    _equal(qmlir.interpret(module, [[B], A])["y"], [B, A])
    _equal(qmlir.interpret(module, [(), A])["y"], [A])


def test_booleans_are_numpys() -> None:
    module = qmlir.load(_model("(seq(bool[2]) s) => (seq(bool[2]) y)", "y = Identity(s)"))
    given = np.array([True, False])
    _equal(qmlir.interpret(module, [[given]])["y"], [given])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([A, np.zeros((1, 3), np.float32)], r"input 's\[1\]' must have shape \?x2, but got 1x3"),
        ([A.astype(np.float64)], r"input 's\[0\]' must be float32, but got float64"),
        (A, "input 's' must be a list of arrays, but got ndarray"),
    ],
)
def test_inputs_that_do_not_fit(given: Any, message: str) -> None:
    module = qmlir.load(_model("(seq(float[n, 2]) s) => (int64 y)", "y = SequenceLength(s)"))
    with pytest.raises(DiagnosticError, match=message):
        qmlir.interpret(module, [given])


def test_a_declared_rank_is_taken() -> None:
    nodes = "s = SequenceConstruct(a, b) y = SequenceAt(s, i)"
    module = qmlir.load(_model("(float[2] a, float[1, 2] b, int64 i) => (float[k, 2] y)", nodes))
    given = [np.zeros(2, np.float32), A]
    np.testing.assert_array_equal(qmlir.interpret(module, [*given, np.array(-1)])["y"], A, strict=True)
    with pytest.raises(DiagnosticError, match=r"must have shape .*, but got \[2\]"):
        qmlir.interpret(module, [*given, np.array(0)])


def test_no_sequence_of_what_is_not_there() -> None:
    module = qmlir.load(_model("(seq(float[n, 2]) s, int64 i) => (float[n, 2] y)", "y = SequenceAt(s, i)"))
    with pytest.raises(DiagnosticError, match="position 2 is out of range for a sequence of length 2"):
        qmlir.interpret(module, [[A, B], np.array(2)])


def test_an_empty_sequence_takes_the_shape_of_its_first_tensor() -> None:
    nodes = "e = SequenceEmpty() s = SequenceInsert(e, x) z = SequenceAt(s, i) y = Relu(z)"
    module = qmlir.load(_model("(float[1, 2] x, int64 i) => (float[1, 2] y)", nodes))
    assert "tensor<*x" not in str(module).rpartition("sequence_at")[2]
    np.testing.assert_array_equal(qmlir.interpret(module, [A, np.array(0)])["y"], A, strict=True)


def test_the_tool_writes_the_tensors_by_their_places(tmp_path: Path) -> None:
    node = helper.make_node("SplitToSequence", ["x"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])
    y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]), ir_version=10)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.save(tmp_path / "x.npy", B)
    arguments = ["run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "-o", str(tmp_path / "y.npz")]
    assert qmlir_cli.main(arguments) == 0
    with np.load(tmp_path / "y.npz") as found:
        assert found.files == ["y[0]", "y[1]"]
        np.testing.assert_array_equal(found["y[1]"], B[1:], strict=True)
