"""One ONNX node, imported and interpreted, against the same node in ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, helper

import qmlir

IR_VERSION = 10


def model_of(
    op_type: str,
    inputs: Sequence[np.ndarray | None],
    outputs: Sequence[str],
    opset: int,
    *,
    is_open: bool = False,
    **attributes: Any,
) -> ModelProto:
    """A model of one node. Its inputs are `i0`, `i1`, …; one that is `None` is left out, an output that is `""` too.

    With `is_open` the model leaves all sizes open.
    """
    names = ["" if each is None else f"i{place}" for place, each in enumerate(inputs)]
    node = helper.make_node(op_type, names, outputs, "node", **attributes)
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(each.dtype), [None] * each.ndim if is_open else each.shape
        )
        for name, each in zip(names, inputs, strict=True)
        if each is not None
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([node], "graph", infos, results)
    domains = {"": opset} | ({attributes["domain"]: 1} if attributes.get("domain") else {})
    opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def both(
    op_type: str, inputs: Sequence[np.ndarray | None], outputs: Sequence[str], opset: int, **attributes: Any
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each output by name: ours, and ONNX Runtime's."""
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    model = model_of(op_type, inputs, outputs, opset, **attributes)
    values = {f"i{place}": each for place, each in enumerate(inputs) if each is not None}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
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
