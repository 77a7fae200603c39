"""ONNX's node tests that qmlir alone does not run: interpreted and compiled, with islands for their nodes.

What ONNX Runtime computes in them is no merit of ours: `test_onnx_backend.py` and `test_compiled.py` run without
islands. `islands_not_passing.txt` lists the tests that do not pass, with the reason, held both ways. A sample of the
others runs with every other test; `make conformance` runs all.
"""

from pathlib import Path

import pytest
from onnx.backend.test.runner import Runner

from qmlir import registry
from qmlir.onnx.checking import opsets
from qmlir.onnx.islands import Operators
from qmlir.onnx.signatures import Functions
from tests.conformance.backend import QmlirBackend
from tests.conformance.cases import Case, node_cases
from tests.conformance.test_compiled import run_compiled
from tests.conformance.test_onnx_backend import NOT_PASSING, read_reasons

REASONS = Path(__file__).with_name("islands_not_passing.txt")
NOT_HERE = read_reasons(REASONS)
EVERY = 8
"""One test in so many is in the sample."""

_IMPORTED = Operators(registry.onnx_importers(), Functions({}), fallback=False)

_MAY_HAVE_NO_FORM = ("Loop", "Scan")


def _needs_an_island(case: Case) -> bool:
    versions = opsets(case.model.opset_import)
    return any(node.op_type in _MAY_HAVE_NO_FORM or not _IMPORTED.has(node, versions) for node in case.model.graph.node)


OUTSIDE = sorted(name for name, case in node_cases().items() if name in NOT_PASSING or _needs_an_island(case))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.conformance] if at % EVERY else []) for at, name in enumerate(OUTSIDE)],
)
def test_node(name: str) -> None:
    case = node_cases()[name]
    try:
        prepared = QmlirBackend.prepare(case.model, fallback=True)
        for inputs, expected in case.data_sets:
            Runner.assert_similar_outputs(expected, prepared.run(inputs), case.rtol, case.atol)
        run_compiled(case, fallback=True)
    except Exception:
        if name in NOT_HERE:
            pytest.xfail(NOT_HERE[name])
        raise
    assert name not in NOT_HERE, f"passes now: take it out of {REASONS.name}"


def test_the_list_is_of_these_tests() -> None:
    assert set(NOT_HERE) <= set(OUTSIDE)
    assert all(NOT_HERE.values()), "each has a reason"
