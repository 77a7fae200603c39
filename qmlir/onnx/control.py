"""Imports If, Loop and Scan as `scf` operations: subgraphs become regions, which capture outer values directly.

A Loop whose trip count is known before it starts becomes an `scf.for`, as does every Scan. A Loop whose body computes
the condition becomes an `scf.while`. A slice of a Scan input is an `nn.gather` at the iteration number. A stacked
output is a loop-carried tensor; each iteration writes one slice (`nn.scatter_nd`). A loop that changes the type of a
loop-carried value is not supported: the importer raises `NoRegionForm` with the reason, and the node becomes an island.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np
from onnx import GraphProto
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AddOp, AndOp, LessOp, SubOp
from qmlir.dialects.nn.indexing.ops import GatherOp, ScatterNDOp
from qmlir.dialects.nn.island.ops import RUNS, OnnxIslandOp
from qmlir.dialects.nn.movement.ops import TransposeOp, normalized_axis
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor, shape_of
from qmlir.ir.builtin_types import tensor as tensor_type
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.interfaces import HasParameters
from qmlir.ir.limits import budget, over
from qmlir.ir.provenance import origins_of
from qmlir.onnx.graph import GraphBuilder
from qmlir.onnx.node import Node
from qmlir.specialization.specialize import values_behind

UNBOUNDED = 2**31
"""The minimum trip count that denotes an unbounded Loop: exporters write a large number if there is no bound."""

OLDEST_SCAN = 9
"""The first version of Scan without a batch axis."""

ImportGraph = Callable[[GraphProto, GraphBuilder, Sequence[SSAValue]], list[SSAValue]]
"""Imports a subgraph into the block of a builder, given the values of its inputs; returns the values of its outputs."""

ImportIsland = Callable[[GraphProto, GraphBuilder, Sequence[AnyTensor], str], list[SSAValue]]
"""Adds a graph without inputs as one island with the given output types and reason."""


class NoRegionForm(Exception):
    """Raised if a node can't be imported to `scf`. The message is a predicate that follows the name of the node."""


@dataclass(frozen=True)
class Control:
    """A node with subgraphs, and the functions that import these subgraphs."""

    node: Node
    import_graph: ImportGraph
    import_island: ImportIsland | None = None
    """Imports a subgraph as an island; `None` if islands are not allowed."""

    def inside(self, block: Block) -> Node:
        """Returns the node with `block` as the insertion point of new operations."""
        return replace(self.node, graph=self.node.graph.inside(block))

    def graph_into(self, block: Block, graph: GraphProto, inputs: Sequence[SSAValue]) -> list[SSAValue]:
        """Imports `graph` at the end of `block` and returns its outputs as tensors. Raises `NoRegionForm`."""
        builder = self.node.graph.inside(block)
        values = self.import_graph(graph, builder, inputs)
        island = next((op for op in _outermost(block) if isinstance(op, OnnxIslandOp)), None)
        if island is not None:
            raise NoRegionForm(f"contains an unsupported operator ({island.cause})")
        _check_parameters(block)
        return [builder.plain(_as_tensor(value, each.name)) for value, each in zip(values, graph.output, strict=True)]


def _number(node: Node, number: int) -> SSAValue:
    """Returns an i64 scalar constant."""
    return node.part("constant").add_constant(np.array(number, dtype=np.int64), i64)


def _truth(node: Node) -> SSAValue:
    return node.part("condition").add_constant(np.array(1, dtype=np.int8), i1)


def _index(node: Node, number: int) -> SSAValue:
    """Returns a constant of type `index`, such as a loop bound."""
    return node.insert(arith.ConstantOp.from_int_and_width(number, IndexType())).result


def _element(node: Node, value: SSAValue) -> SSAValue:
    """Extracts the only element of a tensor."""
    zeros = [_index(node, 0) for _ in shape_of(value)]
    return node.insert(tensor.ExtractOp(value, zeros, element_of(value))).result


def _flat(node: Node, value: SSAValue) -> SSAValue:
    """Reshapes a value of one element to a scalar."""
    return node.part("condition").reshaped(value, []) if shape_of(value) else value


def _known_condition(node: Node, value: SSAValue | None) -> bool | None:
    """Returns the value of a condition, or `None` if it is known only at run time; an omitted one is true."""
    if value is None:
        return True
    array = node.graph.constant_value(value)
    return None if array is None or array.size != 1 else bool(array.item())


def _outermost(block: Block) -> Iterator[Operation]:
    """Yields the operations of `block` and the operations directly in their regions, which may be islands for branches.

    Deeper islands were already rejected when the inner nodes were imported.
    """
    for op in block.ops:
        yield op
        for region in op.regions:
            for inside in region.blocks:
                yield from inside.ops


def _check_parameters(block: Block) -> None:
    """Raises `NoRegionForm` if a size or a parameter of an operation depends on the arguments of the block."""
    given = set(block.args)
    for op in block.walk() if given else ():
        if isinstance(op, HasParameters) and not given.isdisjoint(values_behind(op.parameter_operands())):
            role = origins_of(op)[0].role if origins_of(op) else op.name
            raise NoRegionForm(f"computes a parameter of '{role}' from loop-carried data")


def _as_tensor(value: SSAValue, name: str) -> SSAValue:
    if ranked_tensor(value.type) is None:
        raise NoRegionForm(f"passes '{name}' of type {value.type}, but regions can pass only tensors")
    return value


def _zeros(type_: AnyTensor) -> ConstantOp:
    dtype = GraphBuilder.dtype_of(type_.get_element_type())
    size = math.prod(type_.get_shape()) * dtype.itemsize
    if size > budget("value-bytes"):
        raise NoRegionForm(f"collects a tensor of {type_}, whose size in bytes is {over('value-bytes', size)}")
    return ConstantOp.of(np.zeros(type_.get_shape(), dtype=dtype), type_)


def _region(block: Block, values: Sequence[SSAValue]) -> Region:
    block.add_op(scf.YieldOp(*values))
    GraphBuilder(block).sweep()
    return Region(block)


def _discard(blocks: Iterable[Block]) -> None:
    for block in blocks:
        for op in reversed(list(block.ops)):
            op.drop_all_references()


@contextmanager
def _kept_if_imported(blocks: Iterable[Block]) -> Generator[None]:
    """Discards `blocks` under construction if an error is raised."""
    try:
        yield
    except Exception:
        _discard(blocks)
        raise


# --- If ---------------------------------------------------------------------------------------------------------------


def import_if(control: Control) -> Sequence[SSAValue]:
    """Imports If as an `scf.if`. Raises `NoRegionForm` if the branches return different types.

    A branch that can't be imported becomes an island in its region, if the other branch determines its types.
    """
    node = control.node
    (condition,) = node.inputs
    assert condition is not None
    names = "then", "else"
    blocks = {name: Block() for name in names}
    graphs: dict[str, GraphProto] = {name: node.attribute(f"{name}_branch") for name in names}
    values: dict[str, list[SSAValue]] = {}
    refused: dict[str, NoRegionForm | DiagnosticError] = {}
    with _kept_if_imported(blocks.values()):
        for name, block in blocks.items():
            try:
                values[name] = control.graph_into(block, graphs[name], [])
            except (NoRegionForm, DiagnosticError) as error:
                refused[name] = error
        for name, error in refused.items():
            other = next(iter(values.values()), None)
            if other is None or control.import_island is None or any(DYNAMIC_INDEX in shape_of(each) for each in other):
                raise error
            _discard([blocks[name]])
            blocks[name] = Block()
            cause = error.diagnostic.message if isinstance(error, DiagnosticError) else f"it {error}"
            types = [tensor_type(each.type) for each in other]
            reason = f"If cannot form its {name} branch: {cause}{RUNS}"
            inside = node.graph.inside(blocks[name])
            values[name] = control.import_island(graphs[name], inside, types, reason)
        then, other = values["then"], values["else"]
        for position, (one, two, name) in enumerate(zip(then, other, node.proto.output, strict=True)):
            if one.type != two.type and _is_flag(one) and _is_flag(two):
                # They are equivalent as conditions: an `and` of TorchScript has an axis of size 1 in one branch only.
                one = then[position] = _flat(control.inside(blocks["then"]), one)
                two = other[position] = _flat(control.inside(blocks["else"]), two)
            if one.type != two.type:
                raise NoRegionForm(
                    f"'{name}' must have the same type in both branches, but got {one.type} and {two.type}"
                )
    holds = _element(node, condition)
    regions = _region(blocks["then"], then), _region(blocks["else"], other)
    return node.insert(scf.IfOp(holds, [value.type for value in then], *regions)).results


def _is_flag(value: SSAValue) -> bool:
    return element_of(value) == i1 and set(shape_of(value)) <= {1}


# --- Loops ------------------------------------------------------------------------------------------------------------


@dataclass
class _Loop:
    """The body of a loop under construction. It carries states, stacked outputs and the iteration number."""

    control: Control
    names: Sequence[str]
    """The names of the loop-carried states, for messages."""

    states: list[SSAValue]
    """The initial values of the states."""

    def __post_init__(self) -> None:
        self.block = Block(arg_types=[*(value.type for value in self.states), TensorType(i64, [])])
        self.inside = self.control.inside(self.block)
        """The node of the loop, with the body as the insertion point of new operations."""

        self.stacks: list[SSAValue] = []
        self.written: list[SSAValue] = []

    @property
    def number(self) -> SSAValue:
        """The iteration number, counted from 0."""
        return self.block.args[-1]

    def check(self, after: Sequence[SSAValue]) -> None:
        """Raises `NoRegionForm` if an iteration changes the type of a state."""
        for name, before, value in zip(self.names, self.states, after, strict=True):
            if before.type != value.type:
                raise NoRegionForm(
                    f"'{name}' must keep its type across iterations, but changes from {before.type} to {value.type}"
                )

    def stack(self, name: str, value: SSAValue, count: int, position: SSAValue) -> None:
        """Adds a stacked output `name` with `count` slices; each iteration writes `value` to slice `position`."""
        shape = shape_of(value)
        if DYNAMIC_INDEX in shape:
            raise NoRegionForm(f"stacks slices of {value.type}, whose size is unknown")
        type_ = TensorType(tensor_type(value.type).get_element_type(), [count, *shape])
        whole = self.block.insert_arg(type_, len(self.states) + len(self.stacks))
        at = self.inside.part(f"{name}/place").reshaped(position, [1])
        self.written.append(self.inside.part(f"{name}/stack").add(ScatterNDOp, whole, at, value).result)
        self.stacks.append(self.control.node.part(f"{name}/empty").insert(_zeros(type_)).result)

    def finish(self, after: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue]]:
        """Returns the initial and the yielded values of the loop, including the iteration number if it is used."""
        begins, gives = [*self.states, *self.stacks], [*after, *self.written]
        if self.number.first_use is None:
            self.block.erase_arg(self.block.args[-1])
            return begins, gives
        return [*begins, _number(self.control.node, 0)], [*gives, self.following()]

    def following(self) -> SSAValue:
        """Returns the number of the next iteration."""
        return self.inside.part("next_step").add(AddOp, self.number, _number(self.inside, 1)).result

    def counted(self, count: SSAValue, after: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Returns the results of an `scf.for` with `count` iterations: the states, then the stacked outputs."""
        begins, gives = self.finish(after)
        self.block.insert_arg(IndexType(), 0)
        node = self.control.node
        bounds = _index(node, 0), count, _index(node, 1)
        loop = node.insert(scf.ForOp(*bounds, begins, _region(self.block, gives)))
        return loop.results[: len(self.states) + len(self.stacks)]


def import_loop(control: Control) -> Sequence[SSAValue]:
    """Imports Loop as an `scf.for` if its condition is always true, else as an `scf.while`. Raises `NoRegionForm`."""
    node = control.node
    bound, condition, *_ = *node.inputs, None
    graph: GraphProto = node.attribute("body")
    states = _tensors(node, 2)
    loop = _Loop(control, [each.name for each in graph.input[2:]], states)
    with _kept_if_imported([loop.block]):
        # The condition is true whenever the body runs, so the body's input for it is a constant.
        held = _truth(loop.inside)
        values = control.graph_into(loop.block, graph, [loop.number, held, *loop.block.args[: len(states)]])
        goes_on, after, slices = values[0], values[1 : 1 + len(states)], values[1 + len(states) :]
        loop.check(after)
        known = None if bound is None else node.graph.constant_value(bound)
        steps = None if known is None else max(0, int(known.item()))
        begins, is_counted = _known_condition(node, condition), _known_condition(node, goes_on) is True
        steps = 0 if begins is False else steps
        is_counted = begins is not None and bound is not None and (is_counted or steps == 0)
        if slices and (not is_counted or steps is None):
            raise NoRegionForm(f"returns '{node.proto.output[len(states)]}', whose length depends on the data")
        if is_counted:
            for value, each in zip(slices, graph.output[1 + len(states) :], strict=True):
                loop.stack(each.name, value, cast(int, steps), loop.number)
            return loop.counted(_steps(node, bound, steps), after)
        is_bounded = steps is None or steps < UNBOUNDED
        return _while(loop, goes_on, after, condition, bound if is_bounded else None)


def _tensors(node: Node, first: int) -> list[SSAValue]:
    """Returns the inputs from `first` on that exist, as plain tensors. Raises `NoRegionForm` for other values."""
    named = zip(node.inputs[first:], node.proto.input[first:], strict=True)
    return [node.graph.plain(_as_tensor(value, name)) for value, name in named if value is not None]


def _steps(node: Node, bound: SSAValue | None, steps: int | None) -> SSAValue:
    """Returns the trip count as an index; a negative one counts as 0."""
    if steps is not None:
        return _index(node, steps)
    assert bound is not None
    return node.insert(arith.IndexCastOp(_element(node, bound), IndexType())).result


def _while(
    loop: _Loop, goes_on: SSAValue, after: Sequence[SSAValue], condition: SSAValue | None, bound: SSAValue | None
) -> Sequence[SSAValue]:
    """Returns the results of an `scf.while`, which carries the condition in front of the states."""
    node, inside = loop.control.node, loop.inside
    if bound is not None:
        runs = inside.part("is_left").add(LessOp, loop.following(), _flat(inside, bound)).result
        goes_on = inside.part("goes_on").add(AndOp, _flat(inside, goes_on), runs).result
    else:
        goes_on = _flat(inside, goes_on)
    begin = _truth(node) if condition is None else _flat(node, condition)
    if bound is not None:
        some = node.part("is_any").add(LessOp, _number(node, 0), _flat(node, bound)).result
        begin = node.part("begins").add(AndOp, begin, some).result
    begins, gives = loop.finish(after)
    before = Block(arg_types=[begin.type, *(value.type for value in begins)])
    first, *carried = before.args
    before.add_op(scf.ConditionOp(_element(loop.control.inside(before), first), *carried))
    regions = Region(before), _region(loop.block, [goes_on, *gives])
    made = node.insert(scf.WhileOp([begin, *begins], [value.type for value in begins], *regions))
    return made.results[: len(loop.states)]


def import_scan(control: Control) -> Sequence[SSAValue]:
    """Imports Scan as an `scf.for` over the slices. Raises `NoRegionForm` if the number of slices is unknown."""
    node = control.node
    if node.version < OLDEST_SCAN:
        raise NoRegionForm(
            f"uses Scan of operator set {node.version}, which has batch and length inputs; convert the model "
            "to operator set 9 or later"
        )
    graph: GraphProto = node.attribute("body")
    count: int = node.attribute("num_scan_inputs")
    values = _tensors(node, 0)
    states, sequences = values[: len(values) - count], values[len(values) - count :]
    zeros = [0] * count
    axes = [
        normalized_axis(axis, len(shape_of(each)))
        for axis, each in zip(node.attribute("scan_input_axes", zeros), sequences, strict=True)
    ]
    steps = {shape_of(each)[axis] for each, axis in zip(sequences, axes, strict=True)} - {DYNAMIC_INDEX}
    if len(steps) != 1:
        raise NoRegionForm(
            "scans a number of slices that is not known (--shape says it)" if not steps else f"scans {steps}"
        )
    (total,) = steps
    loop = _Loop(control, [each.name for each in graph.input][: len(states)], list(states))

    @cache
    def position(is_reversed: int) -> SSAValue:
        """Returns the index of the current slice of a forward or reversed sequence."""
        if not is_reversed:
            return loop.number
        last = _number(loop.inside, total - 1)
        return loop.inside.part("from_end").add(SubOp, last, loop.number).result

    with _kept_if_imported([loop.block]):
        directions = node.attribute("scan_input_directions", zeros)
        scanned = zip(graph.input[len(states) :], sequences, axes, directions, strict=True)
        slices = [
            loop.inside.part(given.name).add(GatherOp, each, position(is_reversed), axis=axis).result
            for given, each, axis, is_reversed in scanned
        ]
        given = control.graph_into(loop.block, graph, [*loop.block.args[: len(states)], *slices])
        after, outputs = given[: len(states)], given[len(states) :]
        loop.check(after)
        zeros, named = [0] * len(outputs), graph.output[len(states) :]
        directions = node.attribute("scan_output_directions", zeros)
        for each, value, is_reversed in zip(named, outputs, directions, strict=True):
            loop.stack(each.name, value, total, position(is_reversed))
        results = loop.counted(_index(node, total), after)
    ends = zip(named, results[len(states) :], node.attribute("scan_output_axes", zeros), strict=True)
    return [*results[: len(states)], *(_with_front_at(node, each.name, value, axis) for each, value, axis in ends)]


def _with_front_at(node: Node, name: str, value: SSAValue, axis: int) -> SSAValue:
    """Returns `value` with its first axis moved to position `axis`."""
    rank = len(shape_of(value))
    position = normalized_axis(axis, rank)
    if not position:
        return value
    order = list(range(1, rank))
    order.insert(position, 0)
    return node.part(f"{name}/transpose").add(TransposeOp, value, permutation=order).result


STRUCTURED: dict[str, Callable[[Control], Sequence[SSAValue]]] = {
    "If": import_if,
    "Loop": import_loop,
    "Scan": import_scan,
}
"""The importers of ONNX operators with subgraphs."""
