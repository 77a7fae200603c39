"""Exported models in ONNX Runtime: without optimizations it computes what the model says, operator by operator."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession

EXACT = OrtOptions(optimization="none")

FORMS: tuple[dict[str, Any], ...] = ({"format": "qdq", "exact": True}, {"format": "qoperator"}, {"format": "integer"})
"""The forms whose integers are certain."""


def check_equal(ours: np.ndarray, theirs: np.ndarray, name: str) -> None:
    """Integers and booleans are equal; floats, whose functions and sums differ between runtimes, nearly."""
    assert ours.shape == theirs.shape, name
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)
    else:
        np.testing.assert_array_equal(ours.astype(np.int64), theirs.astype(np.int64), err_msg=name)


def check_exported(module: ModuleOp, inputs: Mapping[str, Any], *sessions: OrtOptions, **settings: Any) -> None:
    """Every output of the exported module in ONNX Runtime, in each of the sessions, is that of the interpreter."""
    model = qmlir.export_onnx(module, **settings).SerializeToString()
    arrays = {name: np.asarray(array) for name, array in inputs.items()}
    ours = qmlir.interpret(module, inputs)
    for options in sessions or (EXACT,):
        theirs = OrtSession(model, options)(arrays)
        for name, array in ours.items():
            check_equal(np.asarray(array), theirs[name], name)
