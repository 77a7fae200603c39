"""One ONNX node, imported and interpreted, against the same node in ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import qmlir
from tests.support.nets import node_model


def both(
    op_type: str, inputs: Sequence[np.ndarray | None], outputs: Sequence[str], opset: int, **attributes: Any
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each output by name: ours, and ONNX Runtime's."""
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    model = node_model(op_type, inputs, outputs, opset, **attributes)
    values = {f"i{position}": each for position, each in enumerate(inputs) if each is not None}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # idle threads of a pool keep a processor busy
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [name for name in outputs if name]
    theirs = session.run(names, values)
    ours = qmlir.interpret(qmlir.load(model), values)
    return [(name, ours[name], expected) for name, expected in zip(names, theirs, strict=True)]


def agree(
    op_type: str,
    inputs: Sequence[np.ndarray | None],
    outputs: Sequence[str] = ("y",),
    *,
    opset: int,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **attributes: Any,
) -> None:
    """Check that the outputs have one type and shape, and are close."""
    for name, ours, theirs in both(op_type, inputs, outputs, opset, **attributes):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), name
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=name)
