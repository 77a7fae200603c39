"""ONNX models put together node by node, with the data of their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import qmlir


def held(array: np.ndarray) -> np.ndarray:
    """What the interpreter takes: a byte for each element of 2 or 4 bits, for which NumPy alone has no type."""
    name = array.dtype.name
    return array.astype(np.uint8 if name.startswith("u") else np.int8) if name.endswith(("int2", "int4")) else array


@dataclass
class Net:
    """A model under construction; names of tensors are made up."""

    opset: int = 21
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)

    def input(self, array: Any, shape: Sequence[int | str] | None = None) -> str:
        """An input of the graph with its data."""
        array, name = np.asarray(array), f"x{len(self.inputs)}"
        data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(
            helper.make_tensor_value_info(name, data_type, list(array.shape if shape is None else shape))
        )
        self.feeds[name] = array
        return name

    def constant(self, array: Any) -> str:
        """An initializer."""
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def tensor(self, array: Any, *, is_constant: bool) -> str:
        """An initializer or an input."""
        return self.constant(array) if is_constant else self.input(array)

    def nodes_of(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        """A node; the names of its outputs."""
        names = [f"{op_type}{len(self.nodes)}" + (f"_{position}" if position else "") for position in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=names[0], **attributes))
        return names

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output; its name."""
        return self.nodes_of(op_type, *inputs, **attributes)[0]

    def model(self, *outputs: str) -> ModelProto:
        """The model that gives `outputs`."""
        infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def run(self, *outputs: str) -> list[np.ndarray]:
        """What the interpreter makes of `outputs`."""
        results = qmlir.interpret(qmlir.load(self.model(*outputs)), {k: held(v) for k, v in self.feeds.items()})
        return [results[name] for name in outputs]


def node_model(
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
    names = ["" if each is None else f"i{position}" for position, each in enumerate(inputs)]
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
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
