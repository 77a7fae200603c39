"""Every operation of `arith` and `math` that has a compiled form: equal to the interpreter on edge values."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import math

from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.emitters.numba.emit import EMISSIONS
from qmlir.targets.cpu.emitters.numba.scalars import FUNCTIONS, INFIX
from qmlir.targets.cpu.emitters.writing import CONVERSIONS
from tests.support.emitted import assert_equal_outputs, compiled_outputs
from tests.unit.targets.cpu.emitters.programs import (
    DIVISIONS,
    DTYPES,
    PROGRAMS,
    LoopProgram,
    conversions,
    pairs,
    program,
)

LIBM = {
    name for name in FUNCTIONS.values()
    if name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp2",
                "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh", "rsqrt")
}  # fmt: skip
"""Functions that NumPy and libm round differently in the last place."""


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_program(case: LoopProgram, tmp_path: Path) -> None:
    assert_equal_outputs(case.module(), case.arrays, tmp_path)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_functions_of_libm(element: str, tmp_path: Path) -> None:
    """Within two units of the last place of NumPy."""
    operations = [op for op, name in FUNCTIONS.items() if name in LIBM]
    binary = (math.Atan2Op, math.PowFOp)
    rows = [f"%r{k} = {op.name} {'%a, %b' if op in binary else '%a'} : {element}" for k, op in enumerate(operations)]
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.01, 0.99, 100).astype(DTYPES[element]) for _ in range(2))
    module = program("libm", rows, [element] * 2, [element] * len(rows), a, b).module()
    found = compiled_outputs(module, [a, b], tmp_path)
    expected = interpret(module, [a, b])
    bound = 3 * np.finfo(DTYPES[element]).eps
    for op, name in zip(operations, found, strict=True):
        finite = np.isfinite(expected[name])
        assert (np.isfinite(found[name]) == finite).all(), op.name
        np.testing.assert_allclose(found[name][finite], expected[name][finite], rtol=bound, err_msg=op.name)


def test_undefined_results_do_not_stop_the_process(tmp_path: Path) -> None:
    for element in ("i8", "i32", "i64"):
        rows = [f"%r{k} = arith.{name} %a, %b : {element}" for k, name in enumerate(DIVISIONS)]
        case = program("divisions", rows, [element] * 2, [element] * len(rows), *pairs(element))
        compiled_outputs(case.module(), case.arrays, tmp_path)


def test_every_operation_of_the_tables_is_emitted() -> None:
    assert {*INFIX, *FUNCTIONS, *CONVERSIONS} <= set(EMISSIONS)
    assert {f"arith.{name}" for name, *_ in conversions()} | {"arith.fptosi", "arith.fptoui"} == {
        op.name for op in CONVERSIONS if op.name.startswith("arith.")
    }
