"""Whatever a rewrite makes without naming result types: made, or an error at its line, never one of Python."""

import re

import pytest
from xdsl.dialects import pdl, test
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, TensorType, UnitAttr, f32, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from qmlir.dialects.nn.dialect import Nn
from qmlir.environment import default_environment
from qmlir.extensions.pdl.rewriting import check_property, with_inferred_types
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.interfaces import InferResultTypes

OPERATIONS = [op for op in Nn.operations if issubclass(op, IRDLOperation) and issubclass(op, InferResultTypes)]
ATTRIBUTES: tuple[Attribute, ...] = (
    UnitAttr(),
    StringAttr("x"),
    IntegerAttr(-3, i64),
    IntegerAttr(1, i1),
    DenseArrayBase.from_list(i64, [0, 7]),
    ArrayAttr([IntegerAttr(1, i64)]),
)
TYPES = (TensorType(f32, []), TensorType(f32, [2, 3, 4, 4]), TensorType(i64, [3]), TensorType(i1, [-1, 2]), f32)


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_no_operation_fails_otherwise_than_with_a_message(op: type[IRDLOperation]) -> None:
    ctx = default_environment().new_context()
    name = pdl.OperationOp(op.name)
    properties = op.get_irdl_definition().properties
    given: list[dict[str, Attribute]] = [{}, *({key: value} for key in properties for value in ATTRIBUTES)]
    for type_ in TYPES:
        for count in range(5):
            operands = list(test.TestOp(result_types=[type_] * count).results)
            for each in given:
                try:
                    for key, value in each.items():
                        check_property(name, ctx, key, value)
                    made = op.create(operands=operands, properties=dict(each))
                    assert isinstance(made, InferResultTypes)
                    with_inferred_types(name, made)
                except DiagnosticError as error:
                    message = error.diagnostic.message
                    assert re.match(rf"'pdl.operation' op (creates|cannot create) '{op.name}'", message)
                    assert "\n" not in message
                    assert "Error" not in message
