"""What an island alone reads is not rounded: it may look for exact numbers."""

import numpy as np
import pytest
from onnx import parser

import qmlir
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.requantize import quantized_type


@pytest.mark.parametrize("is_read_elsewhere", [False, True])
def test_an_island_finds_the_numbers_of_the_float_model(is_read_elsewhere: bool) -> None:
    random = np.random.default_rng(0)
    weight = ", ".join(f"{value:.4f}" for value in random.normal(0, 0.5, 16))
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
        g (float[3, 4] x) => (float[3, 4] label, float[3, 4] other)
        <float[4, 4] w = {{{weight}}}, float three = {{3}}, float one = {{1}}> {{
            product = MatMul (x, w)
            scaled = Mul (x, three)
            moved = Add (scaled, one)
            label = ai.onnx.ml.LabelEncoder <keys_floats: floats = [1.0, 4.0, 7.0, 10.0],
                values_floats: floats = [10.0, 20.0, 30.0, 40.0], default_float: float = -1.0> (moved)
            other = Add (product, {"moved" if is_read_elsewhere else "one"})
        }}""")
    data = [{"x": random.integers(0, 4, (3, 4)).astype(np.float32)} for _ in range(8)]
    module = qmlir.load(model)
    quantized = qmlir.quantize(module, data, validate=False).module
    (product,) = (op for op in quantized.walk() if isinstance(op, MatMulOp))
    (scaled,) = (op for op in quantized.walk() if isinstance(op, MulOp))
    assert quantized_type(product.lhs) is not None
    assert (quantized_type(scaled.lhs) is not None) is is_read_elsewhere
    if not is_read_elsewhere:
        for feeds in data:
            found = qmlir.interpret(quantized, feeds)["label"]
            np.testing.assert_array_equal(found, qmlir.interpret(module, feeds)["label"])
            assert (found > 0).all()
