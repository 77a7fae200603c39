"""Local functions for composites. Each contains the nodes of one operation, or of the components of one model node.

Tensors have the same names inside and outside a function. Each function has a single call.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, ModelProto, NodeProto, helper
from xdsl.ir import Operation

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.provenance import origins_of
from qmlir.onnx.export.naming import ValueNames

DOMAIN = "qmlir"
"""The domain of local functions in exported models."""


@dataclass(frozen=True)
class Group:
    """An operation and its nodes."""

    op: Operation
    nodes: Sequence[NodeProto]


def _composite(op: Operation) -> tuple[str, str] | None:
    """Returns name and operator of the model node that an operation is a component of, or `None`."""
    origins = origins_of(op)
    if len(origins) != 1 or not origins[0].role:
        return None
    return origins[0].name, origins[0].op_type


def _runs(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """Groups adjacent components of one composite; every other operation is a separate group."""
    run: list[Group] = []
    for group in groups:
        if isinstance(group.op, ConstantOp):
            continue  # tensors have no position among the nodes
        composite = _composite(group.op)
        if run and (composite is None or composite != _composite(run[-1].op)):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")


def _name(run: Sequence[Group]) -> str:
    composite = _composite(run[0].op)
    kind = composite[1] if composite and composite[1] else run[0].op.name.rpartition(".")[2]
    origins = origins_of(run[0].op)
    own = origins[0].name if composite and origins else "_".join(map(str, origins))
    return _NO_NAME.sub("_", f"{kind}_{own}" if own else kind).strip("_")


def with_functions(model: ModelProto, groups: Sequence[Group], outputs: Iterable[str]) -> None:
    """Moves the nodes of each composite with several nodes into a function, and replaces them with a call."""
    graph = model.graph
    rest = list(graph.node)[sum(len(group.nodes) for group in groups) :]
    wanted = set(outputs)
    users: dict[str, int] = {}
    for node in graph.node:
        for name in node.input:
            users[name] = users.get(name, 0) + 1
    names, nodes = ValueNames(), list[NodeProto]()
    opsets = list(model.opset_import)
    infos = {each.name: each for each in graph.value_info}
    for run in _runs(groups):
        body = [node for group in run for node in group.nodes]
        if len(body) < 2:
            nodes.extend(body)
            continue
        function = FunctionProto(name=names.take(_name(run)), domain=DOMAIN)
        function.opset_import.extend(opsets)
        inside = {name for node in body for name in node.output if name}
        used = [name for node in body for name in node.input if name]
        function.input.extend(dict.fromkeys(name for name in used if name not in inside))
        function.output.extend(
            name
            for node in body
            for name in node.output
            if name and (name in wanted or users.get(name, 0) > used.count(name) or name not in used)
        )
        function.node.extend(body)
        kept = inside - set(function.output)
        function.value_info.extend(infos.pop(name) for name in list(infos) if name in kept)
        origins = dict.fromkeys(origin.name for group in run for origin in origins_of(group.op))
        function.doc_string = ", ".join(origins)
        model.functions.append(function)
        nodes.append(helper.make_node(function.name, function.input, function.output, function.name, domain=DOMAIN))
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    del graph.value_info[:]
    graph.value_info.extend(infos.values())
    if model.functions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
