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
