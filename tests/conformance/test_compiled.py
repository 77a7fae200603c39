"""ONNX's node tests, compiled: integers as the interpreter has them, floats within a bound of it and of the standard.

`not_compiled.txt` lists those that have no compiled form or other numbers, with the reason, held both ways. `make
conformance` compiles all of them by numba. Those in `compiled_sample.txt` are compiled by LLVM, which is faster, with
every other test.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.backend.test.runner import Runner

import qmlir
from qmlir import registry
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.heterogeneous import HybridProgram
from tests.conformance.backend import QmlirBackend, QmlirRep, given
from tests.conformance.cases import Case, node_cases
from tests.conformance.test_onnx_backend import NOT_PASSING, is_outside, read_reasons

REASONS = Path(__file__).with_name("not_compiled.txt")
SAMPLE = Path(__file__).with_name("compiled_sample.txt")
AT_LEAST = 0.95
"""The share of the tests that pass in the interpreter which must pass compiled."""

RELATIVE = 1e-5
"""The bound of floats against the interpreter; short floats have fewer bits, and get one unit of their last."""

NOT_COMPILED = read_reasons(REASONS)
SAMPLED = frozenset(SAMPLE.read_text().split())


def _bound(dtype: np.dtype[Any]) -> float:
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype.name, RELATIVE)


def _assert_agree(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Hold compiled outputs against those of the interpreter."""
    assert list(found) == list(wanted)
    for name, array in found.items():
        expected = wanted[name]
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape), name
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(array, expected, err_msg=name)
        else:
            bound = _bound(array.dtype)
            reals = (each.astype(np.float64) for each in (array, expected))
            np.testing.assert_allclose(*reals, rtol=bound, atol=bound, equal_nan=True, err_msg=name)


def run_compiled(case: Case, *, fallback: bool = False, codegen: str = "numba") -> Program | HybridProgram:
    """Import, compile, run and compare; the program. Raises what goes wrong."""
    prepared = QmlirBackend.prepare(case.model, fallback=fallback)
    program = qmlir.compile(prepared.module, codegen=codegen)
    names = [port.name for port in inputs_of(function_of(prepared.module, "main"))]
    for inputs, expected in case.data_sets:
        values = dict(zip(names, map(given, inputs), strict=True))
        found = program(values)
        _assert_agree(found, qmlir.interpret(prepared.module, values))
        outputs = tuple(QmlirRep.as_declared(found[name], element) for name, element in prepared.outputs)
        Runner.assert_similar_outputs(expected, outputs, case.rtol, case.atol)
    return program


@pytest.mark.parametrize("name", sorted(SAMPLED))
def test_sampled_node(name: str) -> None:
    run_compiled(node_cases()[name], codegen="llvm")


@pytest.mark.conformance
@pytest.mark.parametrize("name", [name for name in sorted(node_cases()) if name not in NOT_PASSING])
def test_node(name: str) -> None:
    case = node_cases()[name]
    try:
        run_compiled(case)
    except Exception as error:
        if name in NOT_COMPILED:
            pytest.xfail(NOT_COMPILED[name])
        if is_outside(case, error):
            pytest.skip(str(error).partition(". ")[0])
        raise
    assert name not in NOT_COMPILED, f"passes now: take it out of {REASONS.name}"


def _inside() -> set[str]:
    """The tests that the interpreter passes, of operators that are imported."""
    importers = registry.onnx_importers()
    return {
        name
        for name, case in node_cases().items()
        if name not in NOT_PASSING and all(node.op_type in importers for node in case.model.graph.node)
    }


def test_the_lists_are_of_tests() -> None:
    passing = set(node_cases()) - set(NOT_PASSING)
    assert set(NOT_COMPILED) <= passing
    assert all(NOT_COMPILED.values()), "each has a reason"
    assert set(NOT_COMPILED).isdisjoint(SAMPLED)
    assert len(SAMPLED & passing) == len(SAMPLED) == 150


def test_enough_are_compiled() -> None:
    """With the tests above: at least this share of what the interpreter passes, those outside not counted at all."""
    inside = _inside()
    assert len(inside - set(NOT_COMPILED)) >= AT_LEAST * len(inside)
