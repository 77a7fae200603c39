"""Evaluators of the tree write no operand: files whose numbers are known by hand pass on read-only arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType

from qmlir.interpreter.interpreter import Frame
from tests.support.run_lines import run_file

FOLDER = Path(__file__).parents[2] / "filecheck" / "dialects" / "nn"
FILES = ("activations", "contraction", "dynamic", "indexing", "movement", "normalization", "quantized", "recurrent")


@pytest.mark.parametrize("name", FILES)
def test_operands_may_be_read_only(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    computed, protected = Frame._results, 0

    def on_read_only(frame: Frame, step: Any, operands: Sequence[Any]) -> Any:
        nonlocal protected
        given = list(operands)
        for position, (value, operand) in enumerate(zip(operands, step.op.operands, strict=True)):
            if isinstance(value, np.ndarray) and isinstance(operand.type, TensorType):
                given[position] = value.view()
                given[position].flags.writeable = False
                protected += 1
        return computed(frame, step, given)

    monkeypatch.setattr(Frame, "_results", on_read_only)
    assert run_file(FOLDER / f"interpret_{name}.mlir", tmp_path).code == "PASS"
    assert protected > 10
