"""Operators of ai.onnx.ml: what ONNX Runtime gives, computed by qmlir alone; and what is left to islands."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper, parser

import qmlir
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.runtimes.onnx_runtime import OrtSession
from qmlir.targets.runtimes.packages import is_installed

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 3)).astype(np.float32)
HOLES = np.float32([[1, np.nan, 3], [np.nan, -1, 0]])
COEFFICIENTS, INTERCEPTS = RNG.standard_normal(6).astype(np.float32).tolist(), [0.5, -0.25]
LINEAR = {"coefficients": COEFFICIENTS, "intercepts": INTERCEPTS}

needs_onnxruntime = pytest.mark.skipif(not is_installed("onnxruntime"), reason="onnxruntime is not installed")


def _model(op_type: str, inputs: dict[str, np.ndarray], outputs: int = 1, **attributes: Any) -> ModelProto:
    names = ["y", "z"][:outputs]
    node = helper.make_node(op_type, list(inputs), names, name="node", domain="ai.onnx.ml", **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    graph = helper.make_graph([node], "ml", infos, [helper.make_empty_tensor_value_info(name) for name in names])
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


@needs_onnxruntime
@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "attributes"),
    [
        ("Scaler", [X], 1, {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 0.5, 1.0]}),
        ("Scaler", [X.astype(np.float64)], 1, {"offset": [0.1], "scale": [0.3]}),
        ("Scaler", [np.int64([[1, 2, 3]])], 1, {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 1.0, 0.25]}),
        ("Normalizer", [X], 1, {"norm": "L1"}),
        ("Normalizer", [X], 1, {"norm": "L2"}),
        ("Binarizer", [X], 1, {"threshold": 0.25}),
        ("Imputer", [HOLES], 1, {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": float("nan")}),
        ("Imputer", [np.int64([[1, -1, 3]])], 1, {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": -1}),
        ("ArrayFeatureExtractor", [X, np.int64([2, 0])], 1, {}),
        ("ArrayFeatureExtractor", [X[0], np.int64([[2, 0]])], 1, {}),
        ("LinearRegressor", [X], 1, {"targets": 2, **LINEAR}),
        ("LinearClassifier", [X], 2, {"classlabels_ints": [3, 9], "post_transform": "SOFTMAX", **LINEAR}),
        ("LinearClassifier", [X], 2, {"classlabels_ints": [3, 9], "post_transform": "LOGISTIC", **LINEAR}),
    ],
)
def test_as_onnx_runtime(op_type: str, inputs: list[np.ndarray], outputs: int, attributes: dict[str, Any]) -> None:
    given = dict(zip(("a", "b"), inputs, strict=False))
    model = _model(op_type, given, outputs, **attributes)
    found = qmlir.interpret(qmlir.load(model, fallback=False), given)
    for name, array in OrtSession(model.SerializeToString())(given).items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-6, strict=True)


def test_a_row_of_zeros_stays_one() -> None:
    model = _model("Normalizer", {"a": np.zeros((1, 3), np.float32)}, norm="L2")
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(model), [np.zeros((1, 3), np.float32)])["y"], [[0, 0, 0]])


@pytest.mark.parametrize(
    ("op_type", "outputs", "attributes", "message"),
    [
        ("Normalizer", 1, {"norm": "MAX"}, "norm must be one of L1, L2, but got MAX"),
        (
            "LinearRegressor",
            1,
            {"targets": 2, "post_transform": "PROBIT", **LINEAR},
            "post_transform must be NONE, SOFTMAX or LOGISTIC, but got PROBIT",
        ),
        (
            "LinearClassifier",
            2,
            {"classlabels_strings": ["a", "b"], **LINEAR},
            "string labels and a single logit for two classes are not supported",
        ),
    ],
)
def test_other_forms_are_islands(op_type: str, outputs: int, attributes: dict[str, Any], message: str) -> None:
    model = _model(op_type, {"a": X}, outputs, **attributes)
    with pytest.raises(DiagnosticError, match=message):
        qmlir.load(model, fallback=False)
    assert any(op.name == "nn.onnx_island" for op in qmlir.load(model).walk())


def test_wrong_numbers_stay_an_error() -> None:
    with pytest.raises(
        DiagnosticError, match=r"Scaler node 'node': scale must have 1 or 3 elements, but got \[1\.0, 2\.0\]"
    ):
        qmlir.load(_model("Scaler", {"a": X}, offset=[0.0], scale=[1.0, 2.0]))


def test_a_linear_classifier_is_quantized_and_compiled() -> None:
    model = _model("LinearClassifier", {"a": X}, 2, classlabels_ints=[3, 9], post_transform="SOFTMAX", **LINEAR)
    module = qmlir.quantize(qmlir.load(model), {"a": X[None]}).module
    program = qmlir.compile(module, codegen="llvm")
    assert isinstance(program, Program)
    for name, array in qmlir.interpret(module, {"a": X}).items():
        np.testing.assert_array_equal(program({"a": X})[name], array)


def test_a_constant_of_text_goes_with_its_node() -> None:
    """The labels of a classifier, chosen by their places."""
    model = _model("ArrayFeatureExtractor", {"labels": np.zeros(2, np.int64), "a": np.int64([1, 0])})
    del model.graph.input[0]
    model.graph.initializer.append(numpy_helper.from_array(np.array(["x", "y"], object), "labels"))
    found = qmlir.interpret(qmlir.load(model), {"a": np.int64([1, 0])})["y"]
    assert found.tolist() == [["y", "x"]]


@pytest.mark.parametrize(("kind", "labels"), [("int64", [3, 5, 9]), ("string", ["a", "b", "c"])])
def test_a_final_zip_map_is_dropped(kind: str, labels: list[Any], tmp_path: Path) -> None:
    """The last node that skl2onnx and onnxmltools write by default; its tensor is the output."""
    words = str([f'"{label}"' for label in labels]).replace("'", "") if kind == "string" else str(labels)
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
        net (float[n, 3] x) => (int64[n] label, seq(map({kind}, float)) scores)
        {{
          s = Softmax <axis = -1> (x)
          label = ArgMax <axis = 1, keepdims = 0> (s)
          ["zip"] scores = ai.onnx.ml.ZipMap <classlabels_{kind}s = {words}> (s)
        }}""")
    onnx.save(model, tmp_path / "model.onnx")
    for source in (model, str(tmp_path / "model.onnx")):
        said: list[Diagnostic] = []
        with diagnostic_handler(said.append):
            module = qmlir.load(source)
        (warning,) = said
        assert (
            f"output 'scores' is the tensor 's', with a column for each of 3 classes: {labels[0]}, " in warning.message
        )
        found = qmlir.interpret(module, {"x": X})
        scores = np.exp(X) / np.exp(X).sum(-1, keepdims=True)
        np.testing.assert_allclose(found["scores"], scores, rtol=1e-5)
        np.testing.assert_array_equal(found["label"], scores.argmax(-1))
    assert model.graph.node[-1].op_type == "ZipMap"  # the caller's model is not changed
