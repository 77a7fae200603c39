"""ONNX models that are wrong, small enough to be written in one expression, and what a tool says of one."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

from qmlir.tools import qmlir_translate


def model_of(
    nodes: Sequence[NodeProto],
    *,
    inputs: Sequence[Any] = (),
    initializers: Sequence[TensorProto] = (),
    opset: int = 21,
    output: str = "y",
) -> ModelProto:
    given = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(
        list(nodes), "g", list(given), [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        initializer=list(initializers),
    )  # fmt: skip
    domains = {each.domain for each in nodes} - {"", "com.example"}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def node_of(op_type: str, inputs: Sequence[str], name: str = "n1", output: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, list(inputs), [output], name=name, **attributes)


def refused(path: Path, *arguments: str) -> str:
    """The one line of standard error of a translation that must fail."""
    out, err = io.StringIO(), io.StringIO()
    target = path.parent / "out.mlir"
    words = ["--import-onnx", str(path), "-o", str(target), *arguments]
    assert qmlir_translate.main(words, stdin=io.StringIO(), stdout=out, stderr=err) == 1
    assert not target.exists()
    assert not out.getvalue()
    assert err.getvalue().count("\n") == 1, err.getvalue()
    return err.getvalue()
