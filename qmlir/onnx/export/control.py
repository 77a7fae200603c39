"""Exports conditionals and loops as If and Loop. Regions become subgraphs, which capture outer tensors by name.

The supported operations are `scf.if`, `scf.for`, and `scf.while` with a loop-carried condition, as created by the
importers of Loop and Scan. Operations that only convert a tensor to a bound or condition are not exported. A quantized
recurrent layer of dynamic length becomes a Loop over its time steps.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeGuard, cast

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import ConcatOp, SplitOp
from qmlir.dialects.nn.recurrent.decompose import prefix_of
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp, Layer
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import known_bound, terminator_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import origins_of
from qmlir.onnx.export.emission import NodeEmitter, ValueNames, value_info

SILENT = (arith.ConstantOp, arith.IndexCastOp, tensor.ExtractOp)
"""Operations that convert a tensor to a loop bound or a condition."""


Structured = scf.IfOp | scf.ForOp | scf.WhileOp


def is_structured(op: Operation) -> TypeGuard[Structured]:
    """Returns True if an operation is a conditional or a loop."""
    return isinstance(op, Structured)


def of_regions(function: FuncOp) -> set[SSAValue]:
    """Returns the values that the regions of conditionals and loops use, forward or return.

    Subgraphs declare the types of these values, so they must be exported with their own types.
    """
    block = function.body.block
    inside = (op for op in function.body.walk() if op.parent is not block or is_structured(op))
    return {value for op in inside for value in (*op.operands, *op.results)}


def sink_constants(function: FuncOp) -> None:
    """Copies each quantized constant of `function` into every region that reads it.

    ONNX Runtime's optimizations look for weights in the graph that dequantizes them, and fail if the weights are in an
    enclosing graph (`TransposeDQWeightsForMatMulNBits` in
    core/optimizer/qdq_transformer/selectors_actions/qdq_actions.cc).
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
            Rewriter.erase_op(op)


def _add_inputs(
    graph: GraphProto, step: str, holds: str, carried: Iterable[SSAValue], names: Mapping[SSAValue, str]
) -> None:
    """Declares the inputs of the body of a Loop: its iteration number, its condition, and the loop-carried values."""
    graph.input.append(value_info(step, TensorType(i64, [])))
    graph.input.append(value_info(holds, TensorType(i1, [])))
    graph.input.extend(value_info(names[value], value.type) for value in carried)


WriteOperation = Callable[[GraphProto, Operation], Sequence[NodeProto]]
"""A function that adds the nodes of an operation to a graph."""


@dataclass
class ControlWriter:
    """Exports conditionals and loops. `names` contains the names of all values; `write` exports other operations.

    `taken` and `nodes_taken` contain the names of existing tensors and nodes.
    """

    names: Mapping[SSAValue, str]
    taken: ValueNames
    nodes_taken: ValueNames
    write: WriteOperation

    def nodes(self, op: Structured) -> list[NodeProto]:
        """Returns the nodes of a conditional or loop. Raises `DiagnosticError` for an unsupported loop."""
        match op:
            case scf.IfOp():
                return [self._choice(op)]
            case scf.ForOp():
                return self._counted(op)
            case scf.WhileOp():
                return self._conditional(op)

    def _name(self, op: Operation, what: str) -> str:
        return self.taken.take(f"{self.names[op.results[0]] if op.results else op.name}/{what}")

    def _node(self, op: Operation, kind: str, inputs: Sequence[str], **graphs: GraphProto) -> NodeProto:
        own = "+".join(map(str, origins_of(op)))
        name = self.nodes_taken.take(own, f"{own or self._name(op, 'node')}/{kind}")
        node = NodeProto(op_type=kind, name=name, input=inputs, output=[self.names[result] for result in op.results])
        node.attribute.extend(helper.make_attribute(key, graph) for key, graph in graphs.items())
        return node

    @staticmethod
    def _number(name: str, value: int, element: Attribute = i64) -> NodeProto:
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
        _add_inputs(graph, self._name(op, "step"), self._name(op, "held"), arguments, self.names)
        return graph

    def _counted(self, op: scf.ForOp) -> list[NodeProto]:
        induction, *arguments = op.body.block.args
        lower, upper, step = map(known_bound, (op.lb, op.ub, op.step))
        if induction.first_use is not None or lower != 0 or step != 1:
            raise op_error(op, "must count from 0 in steps of 1 and not use its index")
        end = terminator_of(op.body.block)
        body = self._body(op, op.body.block, arguments, end.operands)
        holds = self._name(op, "holds")
        body.node.append(self._number(holds, 1, i1))
        body.output.insert(0, value_info(holds, TensorType(i1, [])))
        nodes: list[NodeProto] = []
        if upper is None:
            count = self._tensor(op, op.ub)
        else:
            count = self._name(op, "count")
            nodes.append(self._number(count, upper))
        begins = [self.names[value] for value in op.iter_args]
        return [*nodes, self._node(op, "Loop", [count, "", *begins], body=body)]

    def _conditional(self, op: scf.WhileOp) -> list[NodeProto]:
        """Returns a Loop whose condition is the first loop-carried value; the others are forwarded unchanged."""
        before, after = op.before_region.block, op.after_region.block
        condition, end = before.last_op, terminator_of(after)
        assert isinstance(condition, scf.ConditionOp)
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
    """Yields the block arguments and operation results inside the regions of conditionals and loops."""
    for op in filter(is_structured, function.body.walk()):
        for block in (block for region in op.regions for block in region.blocks):
            yield from block.args
            yield from (result for inner in block.ops for result in inner.results)


# Quantized recurrent layers of dynamic length
#
# Such a layer is decomposed into the components of two time steps, which represent all others: the first step reads the
# initial states, and the second reads the states of the step before it. The first step is exported directly. The second
# becomes the body of a Loop, which gathers its data from the sequence. Both compute the same integers as the layer with
# a static length.

_SEQUENCE, _RESHAPE, _BACKWARD = "hidden/sequence", "hidden/reshape", prefix_of(1)

WritePart = Callable[[NodeEmitter, int, dict[SSAValue, str]], None]
"""Exports the component with a given index, given the names of earlier values, and adds the names of its results."""


@dataclass
class _Direction:
    """The components of one direction, by their indices."""

    is_reversed: bool
    splits: list[SplitOp] = field(default_factory=list[SplitOp])
    first: list[int] = field(default_factory=list[int])
    second: list[int] = field(default_factory=list[int])

    @property
    def positions(self) -> tuple[int, int]:
        """The indices of the split results that the first and the second time step read."""
        return (1, 0) if self.is_reversed else (0, 1)


def has_steps(op: Operation) -> bool:
    """Returns True if `op` is a recurrent layer of dynamic length that can be exported as a Loop."""
    return isinstance(op, Layer) and not isinstance(op, DynamicLstmOp) and op.lengths is None


def _directions(op: Layer, parts: Parts) -> list[_Direction]:
    """Returns the steps of each direction. Both steps have the same roles, with equal numbers of components."""
    found = [_Direction(is_reversed) for is_reversed in op.walks]
    by_role: dict[str, list[int]] = {}
    for number, role in enumerate(parts.roles):
        by_role.setdefault(role, []).append(number)
    for role, numbers in by_role.items():
        direction = found[1 if role.startswith(_BACKWARD) else 0]
        direction.splits += [part for number in numbers if isinstance(part := parts.operations[number], SplitOp)]
        if len(numbers) > 1:
            direction.first += numbers[: len(numbers) // 2]
            direction.second += numbers[len(numbers) // 2 :]
    for direction in found:
        direction.first.sort()
        direction.second.sort()
    return found


def write_steps(out: NodeEmitter, op: Layer, parts: Parts, write: WritePart) -> dict[SSAValue, str]:
    """Exports the components of a recurrent layer of dynamic length; returns the names of their results."""
    if out.settings.functions:
        raise out.error("is exported as a Loop, which cannot use local functions (functions=False)")
    names = dict(out.names)
    directions = _directions(op, parts)
    inside = {number for each in directions for number in each.second}
    splits = {split: each for each in directions for split in each.splits}
    for number, (role, part) in enumerate(zip(parts.roles, parts.operations, strict=True)):
        direction = directions[1 if role.startswith(_BACKWARD) else 0]
        if isinstance(part, SplitOp) and part in splits:
            position = out.constant([-1 if direction.is_reversed else 0])
            (sequence,) = part.operands
            first = part.results[direction.positions[0]]
            names[first] = out.node("Gather", [names[sequence], position], axis=0)
        elif role.endswith(_SEQUENCE):
            assert isinstance(part, ConcatOp)
            names[part.result] = _write_loop(out, op, parts, direction, part, names, write)
        elif role.endswith(_RESHAPE):
            names[part.results[0]] = names[part.operands[0]]
        elif number not in inside:
            write(out, number, names)
    return names


def _write_loop(
    out: NodeEmitter,
    op: Layer,
    parts: Parts,
    direction: _Direction,
    joined: ConcatOp,
    names: dict[SSAValue, str],
    write: WritePart,
) -> str:
    """Exports the steps after the first one; returns the name of the hidden states, `[T, 1, N, H]`."""
    before = _results(parts, direction.first)
    after = dict(zip(before, _results(parts, direction.second), strict=True))
    read = {operand for number in direction.second for operand in parts.operations[number].operands}
    carried = [value for value in before if value in read]
    given = [joined.operands[position] for position in direction.positions]
    if after.get(given[0]) is not given[1] or any(
        element_of(value) != element_of(after[value]) for value in (*carried, given[0])
    ):
        raise out.error("has iterations of different types, which ONNX Loop does not support")
    prefix = names[given[0]]
    body = replace(out, nodes=[], prefix=f"{prefix}/body", _known={})
    counter, holds = f"{prefix}/step", f"{prefix}/holds"
    inner = names | {value: f"{prefix}/state{position}" for position, value in enumerate(carried)}
    # Steps are counted from the second one. In the backward direction, it reads the last but one element.
    operator, start = ("Sub", -2) if direction.is_reversed else ("Add", 1)
    position = body.node(operator, [body.constant([start]), counter])
    for split in direction.splits:
        (sequence,) = split.operands
        inner[split.results[direction.positions[1]]] = body.node("Gather", [names[sequence], position], axis=0)
    for number in direction.second:
        write(body, number, inner)
    graph = GraphProto(name=f"{prefix}/steps")
    _add_inputs(graph, counter, holds, carried, inner)
    gives = [*(after[value] for value in carried), given[1]]
    outputs = [body.node("Identity", [holds]), *(body.node("Identity", [inner[value]]) for value in gives)]
    graph.output.append(value_info(outputs[0], TensorType(i1, [])))
    graph.output.extend(value_info(name, value.type) for name, value in zip(outputs[1:], gives, strict=True))
    graph.node.extend(body.nodes)
    length = out.node("Shape", [out.name(op.data)], start=0, end=1)
    count = out.node("Squeeze", [out.node("Sub", [length, out.constant([1])])])
    last, rest = [f"{prefix}/last{position}" for position in range(len(carried))], f"{prefix}/rest"
    out.node("Loop", [count, "", *(names[value] for value in carried)], [*last, rest], body=graph)
    names.update(zip((after[value] for value in carried), last, strict=True))
    first = out.node("Unsqueeze", [names[given[0]], out.constant([0])])
    if not direction.is_reversed:
        return out.node("Concat", [first, rest], axis=0)
    # ONNX Runtime replaces a Gather by a Range down to -1 by a Slice that ends at the last element.
    upwards = out.node("Range", [out.constant(0), count, out.constant(1)])
    downwards = out.node("Sub", [out.node("Sub", [count, out.constant(1)]), upwards])
    turned = out.node("Gather", [rest, downwards], axis=0)
    return out.node("Concat", [turned, first], axis=0)


def _results(parts: Parts, numbers: Sequence[int]) -> list[SSAValue]:
    return list(chain.from_iterable(parts.operations[number].results for number in numbers))
