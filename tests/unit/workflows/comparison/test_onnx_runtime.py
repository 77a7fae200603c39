"""Models in ONNX Runtime as subjects: its tensors are those of our interpreter, by the model's names."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.runtimes.onnx_runtime import OrtOptions
from qmlir.workflows.comparing import OnnxRuntimeSubject
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.subjects import ModuleSubject

pytest.importorskip("onnxruntime")

MODEL = Path(__file__).parents[4] / "docs" / "examples" / "digits.onnxtxt"


def samples(count: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(0).uniform(-1, 1, (count, 4)).astype(np.float32)}


def test_every_tensor_of_the_model_is_compared() -> None:
    found = compare(OnnxRuntimeSubject(MODEL), ModuleSubject(qmlir.load(MODEL)), samples(5))
    assert [(each.key, each.operation, each.elements) for each in found.values] == [
        ("fc1", "Gemm", 10), ("relu1", "Relu", 10),
    ]  # fmt: skip
    assert all(each.sqnr_db > 120 for each in (*found.values, *found.outputs))
    assert (found.unmatched, [each.key for each in found.outputs]) == ((), ["logits"])


def test_what_is_given_is_computed() -> None:
    subject = OnnxRuntimeSubject(MODEL)
    x = samples(3)["image"]
    values = subject.values({"image": x})
    # The weights of the example, by hand.
    hidden = x @ np.array([[1, -2, 0.5, 0.25], [0, 3, -1.5, 2]], np.float32).T + np.array([0.125, -0.5], np.float32)
    np.testing.assert_allclose(values["fc1"][0], hidden, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values["output:logits"][0], np.maximum(hidden, 0), rtol=1e-5, atol=1e-6)


def test_optimized_it_has_outputs_only() -> None:
    subject = OnnxRuntimeSubject(MODEL, options=OrtOptions())
    assert [name.key for name in subject.names] == ["image", "output:logits"]
    found = compare(subject, ModuleSubject(qmlir.load(MODEL)), samples(5))
    assert (found.values, found.outputs[0].sqnr_db > 120) == ((), True)


def test_a_wrong_weight_is_seen_where_it_is() -> None:
    module = qmlir.load(MODEL)
    wrong = qmlir.load(onnx.parser.parse_model(MODEL.read_text().replace("0.25, 0", "0.5, 0")))
    assert compare(OnnxRuntimeSubject(MODEL), ModuleSubject(module), samples(5)).first_below(60) is None
    first = compare(OnnxRuntimeSubject(MODEL), ModuleSubject(wrong), samples(5)).first_below(60)
    assert first is not None
    assert first.key == "fc1"


def test_nodes_without_a_name_several_outputs_and_integers(tmp_path: Path) -> None:
    """Keys are those of the importer: the first output where a node has no name of its own, or another has it."""
    nodes = [
        helper.make_node("Split", ["x"], ["left", "right"], axis=1, num_outputs=2, name="halves"),
        helper.make_node("Abs", ["left"], ["size"]),
        helper.make_node("Neg", ["right"], ["turned"], name="turn"),
        helper.make_node("Shape", ["size"], ["shape"], name="shape"),
        helper.make_node("Add", ["size", "turned"], ["y"], name="size"),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x",)]
    out = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2]),
        helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", info, out), opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    x = np.random.default_rng(1).standard_normal((1, 2, 4)).astype(np.float32)
    found = compare(OnnxRuntimeSubject(path), ModuleSubject(qmlir.load(path)), iter([[x[0]]]))
    assert {each.key for each in found.values} == {"halves", "halves#1", "size", "turn", "y"}
    assert all(each.sqnr_db == np.inf for each in (*found.values, *found.outputs))
    assert [(each.key, each.top1_agreement) for each in found.outputs] == [("y", 1.0), ("shape", None)]


def test_weights_beside_the_model(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.full((4, 600), 0.5, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 600])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin")
    values = OnnxRuntimeSubject(path).values({"x": np.ones((1, 4), np.float32)})
    assert (values["product"][0] == 2.0).all()


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"none")
    with pytest.raises(DiagnosticError, match="is not an ONNX model"):
        OnnxRuntimeSubject(tmp_path / "model.onnx")
