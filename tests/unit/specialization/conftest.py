"""What tests of padding share."""

import numpy as np
import pytest

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.ops import QuantizeCastOp


@pytest.fixture
def nan_is_quantized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code makes some integer of NaN; the interpreter, which refuses it, makes one here."""
    table = registry.evaluators("quant")
    exact = table[QuantizeCastOp]

    def evaluator(op: QuantizeCastOp, x: Array) -> tuple[Array]:
        return exact(op, np.where(np.isnan(x), x.dtype.type(1), x))

    monkeypatch.setitem(table, QuantizeCastOp, evaluator)  # type: ignore[arg-type]
