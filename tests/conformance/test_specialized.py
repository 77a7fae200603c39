"""ONNX's node tests, specialized: every size is known then, and the numbers are the same ones."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, ModuleOp

import qmlir
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.ir.verification import verify
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import parameter_inputs, specialize
from tests.conformance.backend import QmlirBackend, given
from tests.conformance.cases import node_cases
from tests.conformance.test_onnx_backend import NOT_PASSING

DATA, SEQUENCE = "depends on the data", "sequence<tensor<"

REFUSED = {
    "test_identity_sequence": SEQUENCE, "test_sequence_insert_at_back": SEQUENCE,
    "test_sequence_insert_at_front": SEQUENCE, "test_split_to_sequence_1": SEQUENCE,
    "test_split_to_sequence_2": SEQUENCE, "test_split_to_sequence_nokeepdims": SEQUENCE,
    "test_string_split_empty_tensor": DATA,
}  # fmt: skip
"""The tests that cannot be specialized, and what the error says: how many elements a result has depends on their
values, or an input or output is a sequence."""

OPEN = frozenset({
    "test_compress_0", "test_compress_1", "test_compress_bfloat16", "test_compress_default_axis",
    "test_compress_negative_axis", "test_unique_length_1", "test_unique_not_sorted_without_axis",
    "test_unique_sorted_with_axis", "test_unique_sorted_with_axis_3d", "test_unique_sorted_with_negative_axis",
    "test_unique_sorted_without_axis",
})  # fmt: skip
"""The tests whose results have sizes that are known in a run only."""

_REGISTERED = 2
"""What `isbuiltin` is of types that another package brought."""


def _is_static(module: ModuleOp) -> bool:
    values = (value for op in function_of(module, "main").body.walk() for value in op.results)
    types = [ranked_tensor(value.type) for value in values if not isinstance(value.type, IndexType | IntegerType)]
    return all(type_ is not None and DYNAMIC_INDEX not in type_.get_shape() for type_ in types)


@pytest.mark.parametrize("name", sorted(node_cases()))
def test_node(name: str) -> None:
    case = node_cases()[name]
    if name in NOT_PASSING:
        pytest.skip("the model itself does not run")
    try:
        module = QmlirBackend.prepare(case.model).module
    except DiagnosticError as error:
        pytest.skip(str(error).partition(". ")[0])
    for inputs, _ in case.data_sets:
        names = [port.name for port in inputs_of(function_of(module, "main"))]
        values = dict(zip(names, map(given, inputs), strict=True))
        if name in REFUSED:
            with pytest.raises(DiagnosticError, match=REFUSED[name]):
                specialized(module, values)
            continue
        found, data = specialized(module, values)
        verify(found)
        assert _is_static(found) == (name not in OPEN)
        results, expected = qmlir.interpret(found, data), qmlir.interpret(module, values)
        assert list(results) == list(expected)
        for each, value in expected.items():
            np.testing.assert_array_equal(_bits(results[each]), _bits(value), strict=True)


def _bits(array: np.ndarray) -> np.ndarray:
    """Types that NumPy does not have itself by their bits: it takes their NaNs to be all different."""
    return array.view(f"u{array.itemsize}") if array.dtype.isbuiltin == _REGISTERED else array


def specialized(module: ModuleOp, values: dict[str, Any]) -> tuple[ModuleOp, dict[str, Any]]:
    """The specialized module, and the inputs that it still has."""
    parameters = parameter_inputs(module)
    data = {name: value for name, value in values.items() if name not in parameters}
    shapes = {name: value.shape for name, value in data.items() if isinstance(value, np.ndarray)}
    return specialize(module, shapes, {name: values[name] for name in parameters}), data


def test_the_list_is_of_tests() -> None:
    assert set(REFUSED) <= set(node_cases())
