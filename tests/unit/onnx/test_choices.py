"""An If whose condition is known: the branch that ONNX's reference implementation runs, and no island."""

import numpy as np
import pytest
from onnx import ModelProto, helper, parser
from onnx.reference import ReferenceEvaluator

import qmlir
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler

RNG = np.random.default_rng(0)


def _model(condition: bool, *, body: str = "t = Mul (a, w)", call: str = "y = If (c)") -> ModelProto:
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
        net (float[2, 2] x) => (float[2, 2] y)
        <float[2] w = {{2, -3}}, bool c = {{{int(condition)}}}>
        {{
          a = Abs (x)
          ["choice"] {call} <
            then_branch = yes () => (float[2, 2] t) {{ {body} }},
            else_branch = no () => (float[2, 2] e) <float[2] v = {{5, 7}}> {{ b = Neg (x) e = Add (b, v) }}
          >
        }}
        """)


@pytest.mark.parametrize("condition", [True, False])
def test_the_branch_of_the_condition(condition: bool) -> None:
    """A branch takes weights and values of the graph, and has weights of its own."""
    model = _model(condition)
    model.graph.node.append(helper.make_node("Sub", ["y", "a"], ["d"]))
    model.graph.output.append(helper.make_tensor_value_info("d", 1, [2, 2]))
    module = qmlir.load(model, fallback=False)
    x = {"x": RNG.standard_normal((2, 2)).astype(np.float32)}
    for name, expected in zip(("y", "d"), ReferenceEvaluator(model).run(None, x), strict=True):
        np.testing.assert_allclose(qmlir.interpret(module, x)[name], expected, rtol=1e-6)


def test_a_branch_is_quantized_and_compiled() -> None:
    module = qmlir.load(_model(True, body="t = MatMul (a, a)"))
    quantized = qmlir.quantize(module, {"x": RNG.standard_normal((8, 2, 2)).astype(np.float32)}).module
    assert any("!quant.uniform" in str(op.results[0].type) for op in quantized.walk() if op.name == "nn.matmul")


def test_an_island_inside_of_a_branch() -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(_model(True, body="s = Det (a) t = Mul (a, s)"))
    (island,) = (op for op in module.walk() if isinstance(op, OnnxIslandOp))
    assert [str(each.type) for each in island.operands] == ["tensor<2x2xf32>"]
    x = np.float32([[1, 2], [3, -4]])
    np.testing.assert_allclose(qmlir.interpret(module, {"x": x})["y"], np.abs(x) * -2, rtol=1e-5)
    assert "Det (1: 'choice/s')" in said[0].message


def test_what_is_wrong_in_a_branch_names_its_node() -> None:
    with pytest.raises(DiagnosticError, match="QuickGelu node 'gate': has no attribute 'alfa'; did you mean 'alpha'"):
        qmlir.load(_model(True, body='["gate"] t = com.microsoft.QuickGelu <alfa = 0.5> (a)'))
