"""The ONNX standard's own tests. `not_passing.txt` lists those that do not pass, with the reason, held both ways."""

from pathlib import Path

import pytest
from onnx.backend.test.runner import Runner

from qmlir import registry
from qmlir.ir.diagnostics import DiagnosticError
from tests.conformance.backend import QmlirBackend
from tests.conformance.cases import STORED_KINDS, Case, node_cases, stored_case, stored_names

REASONS = Path(__file__).with_name("not_passing.txt")
AT_LEAST = 1200
NOTHING_IMPORTS = ("unsupported operator", "operator is unsupported")


def read_reasons(path: Path) -> dict[str, str]:
    """The rows of a list: names of tests and reasons."""
    rows = (line.partition(":") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name.strip(): reason.strip() for name, _, reason in rows}


NOT_PASSING = read_reasons(REASONS)


def _run(case: Case) -> None:
    prepared = QmlirBackend.prepare(case.model)
    for inputs, expected in case.data_sets:
        Runner.assert_similar_outputs(expected, prepared.run(inputs), case.rtol, case.atol)


def is_outside(case: Case, error: Exception) -> bool:
    """Whether the case is about an operator that is not imported, which one error says in one line."""
    return (
        isinstance(error, DiagnosticError)
        and any(words in str(error) for words in NOTHING_IMPORTS)
        and "\n" not in str(error)
        and any(node.op_type not in registry.onnx_importers() for node in case.model.graph.node)
    )


@pytest.mark.parametrize("name", sorted(node_cases()))
def test_node(name: str) -> None:
    case = node_cases()[name]
    try:
        _run(case)
    except Exception as error:
        if name in NOT_PASSING:
            pytest.xfail(NOT_PASSING[name])
        if is_outside(case, error):
            pytest.skip(str(error).partition(". ")[0])
        raise
    assert name not in NOT_PASSING, f"passes now: take it out of {REASONS.name}"


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in STORED_KINDS for name in sorted(stored_names(kind))]
)
def test_stored_model(kind: str, name: str) -> None:
    _run(stored_case(kind, name))


def test_the_list_is_of_tests() -> None:
    assert set(NOT_PASSING) <= set(node_cases())
    assert all(NOT_PASSING.values()), "each has a reason"


def test_enough_operators() -> None:
    """With the tests above: at least this many of the standard's node tests pass, those beside not counted at all."""
    inside = {
        name
        for name, case in node_cases().items()
        if all(node.op_type in registry.onnx_importers() for node in case.model.graph.node)
    }
    assert len(inside - set(NOT_PASSING)) >= AT_LEAST
