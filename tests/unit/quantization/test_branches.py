"""Conditions of branches that quantized values decide on are named, and those of floats are not."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import qmlir
from qmlir.ir.diagnostics import Diagnostic, Severity, diagnostic_handler


def _model(*, negated: bool) -> onnx.ModelProto:
    """`relu(x)` where the sum of `x` is above 0, and its sigmoid elsewhere, or the other way round."""
    branches = [
        helper.make_graph(
            [helper.make_node(op_type, ["x"], [name])], name, [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3])],
        )
        for op_type, name in (("Relu", "above"), ("Sigmoid", "below"))
    ]  # fmt: skip
    condition = [helper.make_node("Not", ["compared"], ["not"])] if negated else []
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0, name="total"),
        helper.make_node("Greater", ["sum", "bound"], ["compared"], name="compare"),
        *condition,
        helper.make_node(
            "If", ["not" if negated else "compared"], ["y"], then_branch=branches[0], else_branch=branches[1]
        ),
    ]
    bound = helper.make_tensor("bound", TensorProto.FLOAT, [], [0.0])
    ports = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3])] for name in "xy")
    graph = helper.make_graph(nodes, "branch", *ports, [bound])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize(
    ("exclude", "is_named"),
    [((), True), (("compare",), True), (("total", "compare"), False)],
    ids=["none", "one", "both"],
)
def test_what_decides_on_a_branch(exclude: tuple[str, ...], is_named: bool, negated: bool) -> None:
    said: list[Diagnostic] = []
    samples = {"x": np.random.default_rng(0).standard_normal((16, 3), np.float32)}
    with diagnostic_handler(said.append):
        qmlir.quantize(qmlir.load(_model(negated=negated)), samples, validate=False, exclude=exclude)
    remarks = [
        each.message
        for each in said
        if each.severity is Severity.REMARK and "decides a branch or a loop from quantized values" in each.message
    ]
    assert ["compare" in each for each in remarks] == [True] * is_named
