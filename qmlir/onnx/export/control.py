"""Exports conditionals and loops as If and Loop. Regions become graphs, which capture outer tensors by name.

Supported are `scf.for`, and `scf.while` with a loop-carried condition, as created by the import of If, Loop and Scan.
Operations that only convert a tensor to a bound or condition are not exported.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import CONTROL, known_bound
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import origins_of
from qmlir.onnx.export.emission import value_info
from qmlir.onnx.export.naming import ValueNames

SILENT = (arith.ConstantOp, arith.IndexCastOp, tensor.ExtractOp)
"""Operations that convert a tensor to a bound or condition."""


def is_structured(op: Operation) -> bool:
    """Returns True if an operation is a conditional or a loop."""
    return bool(op.regions) and isinstance(op, CONTROL)


def of_regions(function: FuncOp) -> set[SSAValue]:
    """Returns the values that regions of conditionals and loops use, forward or return.

    Graphs declare the types of these values, so they must be exported with their own types.
    """
    block = function.body.block
    inside = (op for op in function.body.walk() if op.parent is not block or is_structured(op))
    return {value for op in inside for value in (*op.operands, *op.results)}


def sink_constants(function: FuncOp) -> None:
    """Copies each quantized constant of `function` into every region that reads it.

    ONNX Runtime's optimizations look for weights in the graph that dequantizes them, and fail at those of a graph
    around it (`TransposeDQWeightsForMatMulNBits` in core/optimizer/qdq_transformer/selectors_actions/qdq_actions.cc).
    """
    block = function.body.block
    for op in list(block.ops):
        if not isinstance(op, ConstantOp) or not isinstance(element_of(op.result), StoredType):
            continue
        copies: dict[Block, ConstantOp] = {}
        for use in list(op.result.uses):
            inner = use.operation.parent
            assert inner is not None
            if inner is block:
                continue
            if inner not in copies:
                copies[inner] = op.clone()
                inner.insert_op_before(copies[inner], cast(Operation, inner.first_op))
            use.operation.operands[use.index] = copies[inner].result
        if copies and op.result.first_use is None:
            op.detach()
            op.erase()


WriteOperation = Callable[[GraphProto, Operation], Sequence[NodeProto]]
"""A function that adds the nodes of an operation to a graph."""


@dataclass
class ControlWriter:
    """Exports conditionals and loops. `names` are the names of all values; `write` exports other operations.

    `taken` and `nodes_taken` are the names of existing tensors and nodes.
    """

    names: Mapping[SSAValue, str]
    taken: ValueNames
    nodes_taken: ValueNames
    write: WriteOperation

    def nodes(self, op: Operation) -> list[NodeProto]:
        """Returns the nodes of a conditional or loop. Raises `DiagnosticError` for an unsupported loop."""
        match op:
            case scf.IfOp():
                return [self._choice(op)]
            case scf.ForOp():
                return self._counted(op)
            case scf.WhileOp():
                return self._conditional(op)
            case _:
                raise op_error(op, "cannot be exported to ONNX")

    def _name(self, op: Operation, what: str) -> str:
        return self.taken.take(f"{self.names[op.results[0]] if op.results else op.name}/{what}")

    def _node(self, op: Operation, kind: str, inputs: Sequence[str], **graphs: GraphProto) -> NodeProto:
        own = "+".join(map(str, origins_of(op)))
        name = self.nodes_taken.take(own, f"{own or self._name(op, 'node')}/{kind}")
        node = NodeProto(op_type=kind, name=name, input=inputs, output=[self.names[result] for result in op.results])
        node.attribute.extend(helper.make_attribute(key, graph) for key, graph in graphs.items())
        return node

    def _number(self, op: Operation, name: str, value: int, element: Attribute = i64) -> NodeProto:
        array = np.array(value, dtype=np.bool_ if element == i1 else np.int64)
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))

    def _graph(self, op: Operation, block: Block, values: Sequence[SSAValue], what: str) -> GraphProto:
        """Returns the graph of a region with the outputs `values`, each computed by a separate node."""
        graph = GraphProto(name=self._name(op, what))
        for inner in block.ops:
            if not isinstance(inner, (scf.YieldOp, scf.ConditionOp, *SILENT)):
                self.write(graph, inner)
        for number, value in enumerate(values):
            given = self._name(op, f"{what}{number}")
            graph.node.append(helper.make_node("Identity", [self.names[value]], [given]))
            graph.output.append(value_info(given, value.type))
        return graph

    def _choice(self, op: scf.IfOp) -> NodeProto:
        graphs: list[GraphProto] = []
        for region, what in zip(op.regions, ("then", "else"), strict=True):
            end = region.block.last_op if region.blocks else None
            if end is None:
                raise op_error(op, "has no else branch, but ONNX If requires values from both branches")
            graphs.append(self._graph(op, region.block, end.operands, what))
        return self._node(op, "If", [self._tensor(op, op.cond)], then_branch=graphs[0], else_branch=graphs[1])

    def _tensor(self, op: Operation, value: SSAValue) -> str:
        """Returns the name of the one-element tensor that a condition or bound is read from."""
        owner = value.owner
        if isinstance(owner, arith.IndexCastOp):
            owner = owner.input.owner
        if not isinstance(owner, tensor.ExtractOp):
            raise op_error(op, "requires a condition and bounds that are tensor elements")
        return self.names[owner.tensor]

    def _body(
        self, op: Operation, block: Block, arguments: Sequence[SSAValue], gives: Sequence[SSAValue]
    ) -> GraphProto:
        """Returns the body of a Loop, without its condition."""
        graph = self._graph(op, block, gives, "body")
        counted, held = self._name(op, "step"), self._name(op, "held")
        graph.input.append(value_info(counted, TensorType(i64, [])))
        graph.input.append(value_info(held, TensorType(i1, [])))
        graph.input.extend(value_info(self.names[argument], argument.type) for argument in arguments)
        return graph

    def _counted(self, op: scf.ForOp) -> list[NodeProto]:
        induction, *arguments = op.body.block.args
        lower, upper, step = map(known_bound, (op.lb, op.ub, op.step))
        if induction.first_use is not None or lower != 0 or step != 1:
            raise op_error(op, "must count from 0 in steps of 1 and not use its index")
        end = op.body.block.last_op
        assert end is not None
        body = self._body(op, op.body.block, arguments, end.operands)
        holds = self._name(op, "holds")
        body.node.append(self._number(op, holds, 1, i1))
        body.output.insert(0, value_info(holds, TensorType(i1, [])))
        nodes: list[NodeProto] = []
        if upper is None:
            count = self._tensor(op, op.ub)
        else:
            count = self._name(op, "count")
            nodes.append(self._number(op, count, upper))
        begins = [self.names[value] for value in op.iter_args]
        return [*nodes, self._node(op, "Loop", [count, "", *begins], body=body)]

    def _conditional(self, op: scf.WhileOp) -> list[NodeProto]:
        """Returns a Loop whose condition is the first loop-carried value; the others are forwarded unchanged."""
        before, after = op.before_region.block, op.after_region.block
        condition, end = before.last_op, after.last_op
        assert isinstance(condition, scf.ConditionOp)
        assert end is not None
        first, *carried = before.args
        source = condition.condition.owner
        is_plain = isinstance(source, tensor.ExtractOp) and source.tensor is first and not shape_of(first)
        others = [each for each in before.ops if each is not condition and not isinstance(each, SILENT)]
        if not is_plain or others or list(condition.args) != carried:
            raise op_error(
                op, "has a condition computed before an iteration, but ONNX Loop needs one computed by the iteration"
            )
        goes_on, *gives = end.operands
        body = self._body(op, after, after.args, [goes_on, *gives])
        begin, *begins = (self.names[value] for value in op.arguments)
        return [self._node(op, "Loop", ["", begin, *begins], body=body)]


def nested_values(function: FuncOp) -> Iterator[SSAValue]:
    """Yields the block arguments and results inside regions of conditionals and loops."""
    for op in function.body.walk():
        if is_structured(op):
            for region in op.regions:
                for block in region.blocks:
                    yield from block.args
                    yield from (result for inner in block.ops for result in inner.results)
