"""Sizes that only the model declares."""

import numpy as np
from onnx import parser

import qmlir


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
