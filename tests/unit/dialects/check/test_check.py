"""What the expectations accept, and how they fail."""

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType, f32, f64
from xdsl.utils.test_value import create_ssa_value

from qmlir.dialects.check.evaluate import EVALUATORS
from qmlir.dialects.check.ops import ExpectCloseOp, ExpectEqOp
from qmlir.ir.diagnostics import DiagnosticError


def _run(kind: type[ExpectEqOp | ExpectCloseOp], actual: np.ndarray, expected: np.ndarray, **bounds: float) -> None:
    values = [create_ssa_value(TensorType(f32, actual.shape)) for _ in range(2)]
    properties = {name: FloatAttr(bound, f64) for name, bound in bounds.items()}
    op = kind.create(operands=values, properties=properties, attributes={"origin": StringAttr("fc1")})
    EVALUATORS[kind](op, actual, expected)


def _f32(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_equal() -> None:
    _run(ExpectEqOp, _f32(1.0, np.nan, 0.0), _f32(1.0, np.nan, -0.0))
    _run(ExpectEqOp, np.array([1, -2], np.int8), np.array([1, -2], np.int8))
    _run(ExpectEqOp, np.zeros((0, 3), np.int8), np.zeros((0, 3), np.int8))


def test_unequal_names_the_first_place() -> None:
    with pytest.raises(DiagnosticError) as caught:
        _run(ExpectEqOp, np.array([[1, 2], [3, 4]], np.int8), np.array([[1, 2], [5, 6]], np.int8))
    message = "'check.expect_eq' op (fc1) failed at [1, 0]: expected 5, but got 3 (2 of 4 elements differ)"
    assert caught.value.diagnostic.message == message


def test_close() -> None:
    _run(ExpectCloseOp, _f32(1.0, np.inf, np.nan), _f32(1.0, np.inf, np.nan))
    _run(ExpectCloseOp, _f32(1.25), _f32(1.0), absolute=0.25)
    _run(ExpectCloseOp, _f32(-110.0), _f32(-100.0), relative=0.1)
    for actual, expected in ((1.5, 1.0), (np.nan, 1.0), (np.inf, -np.inf)):
        with pytest.raises(DiagnosticError, match="failed at"):
            _run(ExpectCloseOp, _f32(actual), _f32(expected), absolute=0.25)


def test_shapes_differ() -> None:
    with pytest.raises(DiagnosticError, match=r"expected shape \[1, 2\], but got \[2\]"):
        _run(ExpectEqOp, _f32(1.0, 2.0), _f32(1.0, 2.0).reshape(1, 2))
