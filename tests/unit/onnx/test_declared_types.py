"""Sizes that only the model declares, and initializers that are declared as inputs, too."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

import qmlir
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler


def test_a_declared_size_holds_under_every_name() -> None:
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 3] x) => (float[2, 3] b, float[n, 3] c) '
        "{ a = Relu(x) b = Identity(a) c = Neg(a) }"
    )
    module = qmlir.load(model)
    assert str(module).count("tensor<?x3xf32>") == 2  # of the argument, in the signature and in its use
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(qmlir.interpret(module, [x])["c"], -x, strict=True)


def test_a_question_mark_names_no_size() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, h, w] x) => (float[1, h, w] y) { y = Relu(x) }'
    )
    for info in (*model.graph.input, *model.graph.output):
        for dim in info.type.tensor_type.shape.dim[1:]:
            dim.dim_param = "?"  # as PaddlePaddle writes each size that it does not know
    x = np.ones((1, 3, 5), np.float32)
    module = qmlir.load(model, shapes={"x": x.shape})
    np.testing.assert_array_equal(qmlir.interpret(module, [x])["y"], x, strict=True)
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(model), [x])["y"], x, strict=True)


DEFAULTS = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float[3] gain, float shift) => (float[2, 3] y)
<float[3] gain = {1, 2, 3}, float shift = {0.5}> { p = Mul(x, gain) y = Add(p, shift) }"""


def test_defaults_of_inputs_may_be_replaced() -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(parser.parse_model(DEFAULTS))
    assert ["'gain', 'shift'" in each.message and "--cut-inputs x" in each.message for each in said] == [True]
    x, gain = np.ones((2, 3), np.float32), np.float32([5, 6, 7])
    feeds = {"x": x, "gain": gain, "shift": np.float32(2)}
    for found in (qmlir.interpret(module, feeds), qmlir.compile(module, codegen="llvm")(feeds)):
        np.testing.assert_array_equal(found["y"], x * gain + 2)
    constant = qmlir.load(parser.parse_model(DEFAULTS), cut_inputs=["x"])
    np.testing.assert_array_equal(qmlir.interpret(constant, {"x": x})["y"], x * np.float32([1, 2, 3]) + 0.5)


@pytest.mark.parametrize(("version", "op_type"), [(3, "Mul"), (8, "Gemm")])
def test_weights_that_are_listed_as_inputs_are_constants(version: int, op_type: str) -> None:
    """Format 3 demands the list; some exporters write it in newer formats, for all weights of a model."""
    model = parser.parse_model(DEFAULTS.replace("ir_version: 8", f"ir_version: {version}"))
    if op_type == "Gemm":
        model.graph.node[0].op_type = "MatMul"
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.eye(3, dtype=np.float32), "gain"))
    x = np.ones((2, 3), np.float32)
    expected = x * (np.float32([1, 2, 3]) if op_type == "Mul" else 1) + 0.5
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(model), {"x": x})["y"], expected)
