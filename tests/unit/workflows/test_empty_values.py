"""Models with values of no elements, through what takes samples: one line says what is wrong, or it works."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.extensions.recovery.repairing import MOST, runs_to_repair
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError
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
    "search": lambda module, data: qmlir.search(module, data, max_drop=0.1),
    "compare": lambda module, data: qmlir.compare(module, module, data),
    "report": qmlir.report,
}


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("shape", EMPTY)
def test_values_without_elements(shape: str, workflow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a report is written to the working directory
    batch, rows, columns = EMPTY[shape]
    module = _products(batch, rows, columns)
    samples = {"x0": np.random.default_rng(0).standard_normal((8, rows, 6), np.float32)}
    if batch == 0:
        with pytest.raises(DiagnosticError, match="has a batch size of 0") as raised:
            WORKFLOWS[workflow](module, samples)
        assert "\n" not in str(raised.value)
        return
    with suppress(DiagnosticError):  # such as types that are asked for where nothing was observed
        WORKFLOWS[workflow](module, samples)


def _decoder_step() -> tuple[ModuleOp, str]:
    """A cache `x1` of any length, to which a step appends one entry, and its name afterwards."""
    net = Net()
    x = net.input(np.zeros((1, 1, 4), np.float32))
    past = net.input(np.zeros((1, 0, 4), np.float32), (1, "past", 4))
    entry = net.node("MatMul", x, net.constant(np.random.default_rng(3).standard_normal((4, 4), np.float32)))
    present = net.node("Concat", past, entry, axis=1)
    mean = net.node("ReduceMean", present, net.constant(np.array([1])))
    return qmlir.load(net.model(mean, present)), present


@pytest.mark.parametrize("is_state", [False, True])
def test_a_cache_that_is_empty_in_all_samples(is_state: bool) -> None:
    """It has the range of what it becomes a part of, and later steps run with a cache that is not empty."""
    (module, present), random = _decoder_step(), np.random.default_rng(0)
    empty = np.zeros((1, 0, 4), np.float32)
    samples = [{"x0": random.standard_normal((1, 1, 4), np.float32), "x1": empty} for _ in range(6)]
    states = {"x1": present} if is_state else {}
    quantized = qmlir.quantize(module, samples, validate=False, states=states).module
    (concat,) = (op for op in quantized.walk() if op.name == "nn.concat")
    assert len({str(element_of(value)) for value in (*concat.operands, *concat.results)}) == 1
    assert "!quant.uniform<i8" in str(concat.results[0].type)
    program = qmlir.compile(quantized, codegen="llvm")
    for length in (0, 3):
        past = random.integers(-9, 9, (1, length, 4)).astype(np.int8 if is_state else np.float32)
        given = {"x0": samples[0]["x0"], "x1": past}
        for name, expected in qmlir.interpret(quantized, given).items():
            np.testing.assert_array_equal(program(given)[name], expected)


def test_a_repair_of_values_without_elements() -> None:
    """Nothing takes memory, so that no value bounds the runs."""
    assert runs_to_repair(_products(1, 0, 0)) == MOST
