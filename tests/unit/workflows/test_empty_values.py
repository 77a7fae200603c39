"""Models with values of no elements, through what takes samples: one line says what is wrong, or it works."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.workflows.repairing import MOST, runs_to_repair
from tests.support.nets import Net


def _products(batch: int | str, rows: int, columns: int) -> ModuleOp:
    """Rows of six elements, times a matrix of so many columns."""
    net = Net()
    x = net.input(np.zeros((1, rows, 6), np.float32), (batch, rows, 6))
    return qmlir.load(net.model(net.node("MatMul", x, net.constant(np.ones((6, columns), np.float32)))))


EMPTY: dict[str, tuple[int | str, int, int]] = {
    "no batch": (0, 1, 5),
    "no rows": (1, 0, 5),
    "no rows in any batch": ("N", 0, 5),
    "no columns": (1, 1, 0),
}

WORKFLOWS: dict[str, Callable[[ModuleOp, Any], Any]] = {
    **{
        f"quantize, effort {effort}": lambda module, data, effort=effort: qmlir.quantize(module, data, effort=effort)
        for effort in (None, 0, 1, 2, 3)
    },
    "profile": qmlir.profile,
    "search": lambda module, data: qmlir.search(module, data, drop=0.1),
    "compare": lambda module, data: qmlir.compare(module, module, data),
    "report": qmlir.report,
}


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("shape", EMPTY)
def test_values_without_elements(shape: str, workflow: str) -> None:
    batch, rows, columns = EMPTY[shape]
    module = _products(batch, rows, columns)
    samples = {"x0": np.random.default_rng(0).standard_normal((8, rows, 6), np.float32)}
    if batch == 0:
        with pytest.raises(DiagnosticError, match="takes batches of 0 samples") as raised:
            WORKFLOWS[workflow](module, samples)
        assert "\n" not in str(raised.value)
        return
    with suppress(DiagnosticError):  # such as types that are asked for where nothing was observed
        WORKFLOWS[workflow](module, samples)


def test_a_repair_of_values_without_elements() -> None:
    """Nothing takes memory, so that no value bounds the runs."""
    assert runs_to_repair(_products(1, 0, 0)) == MOST
