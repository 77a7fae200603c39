"""The signatures of ONNX Runtime's own operators, as the import checks them, against the schemas that it registers."""

from typing import Any

import pytest
from onnx import NodeProto

from qmlir import registry
from qmlir.onnx.signatures import ADDED, MICROSOFT, attribute_kind, declared_kind, schema_of

state = pytest.importorskip(
    "onnxruntime.capi.onnxruntime_pybind11_state", reason="onnxruntime is not installed: pip install -e '.[peers]'"
)

pytestmark = pytest.mark.referee

OPERATORS = [
    key.removeprefix(f"{MICROSOFT}::")
    for key in registry.onnx_importers()
    if key.startswith(f"{MICROSOFT}::") or key in ADDED
]


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    found = state.get_all_operator_schema()
    return {each.name: each for each in found if each.domain == MICROSOFT or each.name in ADDED}


def _shared(inputs: list[Any], variables: list[str]) -> set[frozenset[int]]:
    """The places of inputs that must have one of several types together, whatever the type variables are called."""
    free = [position for position, each in enumerate(inputs) if len(each.types) > 1]
    return {frozenset(other for other in free if variables[other] == variables[position]) for position in free}


@pytest.mark.parametrize("op_type", OPERATORS)
def test_signature(op_type: str, theirs: dict[str, Any]) -> None:
    domain = "" if op_type in ADDED else MICROSOFT
    own, other = schema_of(NodeProto(op_type=op_type, domain=domain), 1), theirs[op_type]
    assert own is not None
    assert [(each.name.lower(), str(each.option), each.is_homogeneous, set(each.types)) for each in own.inputs] == [
        (each.name.lower(), str(each.option), each.isHomogeneous, set(each.types)) for each in other.inputs
    ]
    assert _shared(own.inputs, [each.type_str for each in own.inputs]) == _shared(
        other.inputs, [each.typeStr for each in other.inputs]
    )
    assert (own.min_input, own.max_input, own.max_output) == (other.min_input, other.max_input, other.max_output)
    assert {name: (declared_kind(each), each.required) for name, each in own.attributes.items()} == {
        name: (attribute_kind(int(each.type)), each.required) for name, each in other.attributes.items()
    }


def test_each_importer_has_a_signature() -> None:
    assert "QGemm" in OPERATORS
    assert all(schema_of(NodeProto(op_type=each, domain=MICROSOFT), 1) is not None for each in OPERATORS)
