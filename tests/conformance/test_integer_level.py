"""ONNX's node tests, specialized and lowered to the integer level: equal integers, floats within the bound of the pass.

`not_lowered.txt` lists those that have no form there, with the reason, held both ways. Every `SAMPLE`-th one runs with
every other test; all of them are `make conformance`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qmlir.environment import default_environment
from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.ir.verification import verify
from qmlir.passes.integer.convert_nn_to_kernel import ConvertNnToKernel
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.specialization.inputs import function_of
from tests.conformance.backend import QmlirBackend, given
from tests.conformance.cases import Case, node_cases
from tests.conformance.test_onnx_backend import NOT_PASSING, read_reasons
from tests.conformance.test_specialized import OPEN, REFUSED, specialized

REASONS = Path(__file__).with_name("not_lowered.txt")
SAMPLE = 15
PIPELINE = "convert-nn-to-kernel,canonicalize,cse,dce"

ENVIRONMENT = default_environment()
NOT_LOWERED = read_reasons(REASONS)


def run_lowered(case: Case) -> None:
    """Import, specialize, lower and compare. Raises what goes wrong."""
    module = QmlirBackend.prepare(case.model).module
    for inputs, _ in case.data_sets:
        names = [port.name for port in inputs_of(function_of(module, "main"))]
        before, data = specialized(module, dict(zip(names, map(given, inputs), strict=True)))
        after = before.clone()
        PassManager(ENVIRONMENT.new_context(), parse_pipeline(PIPELINE, ENVIRONMENT.passes)).run(after)
        verify(after)
        changed = first_changed(interpret(before, data), interpret(after, data), ConvertNnToKernel.preserves)
        assert changed is None, str(changed)


def _parameters() -> Iterator[Any]:
    names = sorted(set(node_cases()) - set(NOT_PASSING) - set(REFUSED) - OPEN)
    for position, name in enumerate(names):
        yield pytest.param(name, marks=() if position % SAMPLE == 0 else pytest.mark.conformance)


@pytest.mark.parametrize("name", list(_parameters()))
def test_node(name: str) -> None:
    case = node_cases()[name]
    try:
        QmlirBackend.prepare(case.model)
    except DiagnosticError as error:
        pytest.skip(str(error).partition(". ")[0])
    if name not in NOT_LOWERED:
        run_lowered(case)
        return
    with pytest.raises(DiagnosticError, match=NOT_LOWERED[name]):
        run_lowered(case)


def test_the_list_is_of_tests() -> None:
    assert set(NOT_LOWERED) <= set(node_cases())
    assert all(NOT_LOWERED.values()), "each has a reason"
