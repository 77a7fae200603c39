"""ONNX's node tests of movement, indexing and reductions with every input but the first as a constant.

As ONNX ships them, the tests give shapes, axes and indices as inputs of the graph. Models hold them as constants: the
importer makes properties of them then, and knows the shapes of the results.
"""

import pytest
from onnx import ModelProto, numpy_helper
from onnx.backend.test.runner import Runner
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

from qmlir.dialects.nn.base import NnOp
from qmlir.ir.builtin_types import shape_of
from tests.conformance.backend import QmlirBackend
from tests.conformance.cases import Case, node_cases
from tests.conformance.test_onnx_backend import NOT_PASSING

OPERATORS = frozenset({
    "CumProd", "CumSum", "Expand", "Gather", "GatherElements", "GatherND", "OneHot", "Pad", "Range", "ReduceL1",
    "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Reshape", "ScatterElements", "ScatterND", "Slice", "Split", "Squeeze", "Tile", "TopK", "Trilu",
    "Unsqueeze",
})  # fmt: skip


def _with_constants(case: Case, first: int) -> ModelProto:
    """The model with the values of its inputs from `first` on as initializers."""
    model = ModelProto()
    model.CopyFrom(case.model)
    ((values, _),) = case.data_sets
    for info, value in list(zip(list(model.graph.input), values, strict=True))[first:]:
        model.graph.initializer.append(numpy_helper.from_array(value, info.name))
        model.graph.input.remove(info)
    return model


def _has_known_shapes(module: ModuleOp) -> bool:
    return all(
        DYNAMIC_INDEX not in shape_of(value) for op in module.walk() if isinstance(op, NnOp) for value in op.results
    )


CASES = sorted(
    name
    for name, case in node_cases().items()
    if name not in NOT_PASSING
    and len(case.model.graph.node) == 1
    and case.model.graph.node[0].op_type in OPERATORS
    and len(case.model.graph.input) > 1
)


@pytest.mark.parametrize("first", [0, 1], ids=["all", "parameters"])
@pytest.mark.parametrize("name", CASES)
def test_node(name: str, first: int) -> None:
    case = node_cases()[name]
    ((inputs, expected),) = case.data_sets
    prepared = QmlirBackend.prepare(_with_constants(case, first))
    assert _has_known_shapes(prepared.module)
    Runner.assert_similar_outputs(expected, prepared.run(inputs[:first]), case.rtol, case.atol)
