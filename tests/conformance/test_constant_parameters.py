"""ONNX's node tests of quantization with scales and zero points as constants: types hold them, the integers are equal.

As ONNX ships them, the tests give every parameter as an input of the graph, and the importer computes with it.
"""

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.quant.ops import CastOperation
from qmlir.dialects.quant.types import UniformType
from qmlir.ir.builtin_types import element_of
from tests.conformance.backend import QmlirBackend
from tests.conformance.cases import Case, node_cases

OPERATORS = ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul")
WEIGHTS = {"QLinearConv": "w", "QLinearMatMul": "b"}


def _is_parameter(name: str) -> bool:
    return "scale" in name or "zero_point" in name


def _with_constants(case: Case, *, weights: bool) -> tuple[ModelProto, list[np.ndarray], list[np.ndarray]]:
    """The model with parameters, or weights too, as initializers; the inputs that are left, and the outputs."""
    model = ModelProto()
    model.CopyFrom(case.model)
    ((values, expected),) = case.data_sets
    (node,) = model.graph.node
    rest: list[np.ndarray] = []
    for info, value in zip(list(model.graph.input), values, strict=True):
        if _is_parameter(info.name) or (weights and info.name == WEIGHTS.get(node.op_type)):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), info.name))
            model.graph.input.remove(info)
        else:
            rest.append(value)
    return model, rest, expected


CASES = sorted(name for name, case in node_cases().items() if case.model.graph.node[0].op_type in OPERATORS)


def _is_typed(module: ModuleOp) -> bool:
    """Whether there are only casts, and operations on quantized values."""
    return all(
        isinstance(op, CastOperation | CastOp | ConstantOp)
        or all(isinstance(element_of(value), UniformType) for value in (*op.operands, *op.results))
        for op in module.walk()
        if isinstance(op, NnOp | CastOperation)
    )


@pytest.mark.parametrize("weights", [False, True], ids=["weights_given", "weights_constant"])
@pytest.mark.parametrize("name", CASES)
def test_parameters_as_constants(name: str, weights: bool) -> None:
    case = node_cases()[name]
    model, inputs, expected = _with_constants(case, weights=weights)
    prepared = QmlirBackend.prepare(model)
    assert _is_typed(prepared.module)
    for found, wanted in zip(prepared.run(inputs), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_every_operator_is_covered() -> None:
    assert len(CASES) >= 36
    assert {node_cases()[name].model.graph.node[0].op_type for name in CASES} == set(OPERATORS)


def test_outputs_stay_quantized() -> None:
    """A quantized output has its parameters in its type, and is given as its stored integers."""
    model, inputs, _ = _with_constants(node_cases()["test_quantizelinear_axis"], weights=False)
    module = qmlir.load(model)
    assert "!quant.uniform<u8:f32:1, {" in str(module)
    assert qmlir.interpret(module, [np.asarray(each) for each in inputs])["y"].dtype == np.uint8
