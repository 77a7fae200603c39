"""Rows of choices and loops of `scf`, as If, Loop and Scan are imported, with quantized operations inside."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, TensorType, i1, i64
from xdsl.ir import Block, Region, SSAValue

from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.reduction import ops as reduction
from tests.levels.graph import Graph, RejectedError, Value
from tests.levels.row import Make, Row, need

MOST_STEPS = 3
MOST_OF_BODY = 2
"""A body has so many operations at most before those that give its state."""


def _index(graph: Graph, number: int) -> SSAValue:
    op = arith.ConstantOp.from_int_and_width(number, IndexType())
    graph.block.add_op(op)
    return op.result


def _number(graph: Graph, number: int) -> Value:
    return graph.constant(i64, (), np.array(number, np.int64))


def _extracted(graph: Graph, value: Value) -> SSAValue:
    """The one element of a value without axes."""
    op = tensor.ExtractOp(value.ssa, [], value.element)
    graph.block.add_op(op)
    return op.result


def _condition(graph: Graph, x: Value) -> Value:
    """Whether the largest element of `x` exceeds a number near it."""
    largest = graph.add(reduction.ReduceMaxOp, [x], {"axes": list(range(len(x.shape))), "keep_dims": False})
    stored = np.asarray(largest.array) if graph.chance(0.5) else None
    return graph.add(elementwise.LessOp, [graph.constant(largest.element, (), stored), largest])


def _body(graph: Graph, x: Value, state: Value, rows: Sequence[Row]) -> Value:
    """Some operations on `x`, and one that gives the type of `state`, which has the shape of `x`."""
    for _ in range(graph.integer(0, MOST_OF_BODY)):
        try:
            made = graph.pick(rows).make(graph, x)
        except RejectedError:
            continue
        x = made if made.shape == state.shape and made.uniform is not None else x
    if graph.chance(0.3):
        return graph.add(elementwise.ClipOp, [x], {"minimum": -1.0}, element=state.uniform)
    other = graph.like(state, state.shape) if graph.chance(0.5) else state
    kind = graph.pick([elementwise.AddOp, elementwise.MulOp, elementwise.MaxOp, elementwise.SubOp])
    return graph.add(kind, [x, other], element=state.uniform)


def _choice(rows: Sequence[Row]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and bool(x.shape), "one scale")
        holds = _extracted(graph, _condition(graph, x))
        regions: list[Region] = []
        for _ in range(2):
            with graph.inside(Block()) as block:
                value = x if graph.chance(0.15) else _body(graph, x, x, rows)
                block.add_op(scf.YieldOp(value.ssa))
            regions.append(Region(block))
        return graph.keep_region(scf.IfOp(holds, [x.ssa.type], *regions))

    return make


def _loop(rows: Sequence[Row]) -> Make:
    """A loop that runs a known number of times, which may carry two states that change places."""

    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and bool(x.shape), "one scale")
        states = [x, *([graph.like(x, x.shape)] if graph.chance(0.4) else [])]
        bounds = [_index(graph, number) for number in (0, graph.integer(0, MOST_STEPS), 1)]
        with graph.inside(Block(arg_types=[IndexType(), *(each.ssa.type for each in states)])) as block:
            carried = graph.carried(block.args[1:], [each.array for each in states])
            after = [_body(graph, carried[0], x, rows), *carried[:-1]]
            block.add_op(scf.YieldOp(*(each.ssa for each in after)))
        return graph.keep_region(scf.ForOp(*bounds, [each.ssa for each in states], Region(block)))

    return make


def _while(rows: Sequence[Row]) -> Make:
    """A loop that ends by what it computes, after so many steps at the latest."""

    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and bool(x.shape), "one scale")
        begins, start = graph.constant(i1, (), np.array(1, np.int8)), _number(graph, 0)
        given = [begins, x, start]
        before = Block(arg_types=[each.ssa.type for each in given])
        with graph.inside(before) as block:
            holds = graph.carried(before.args[:1], [begins.array])[0]
            block.add_op(scf.ConditionOp(_extracted(graph, holds), *before.args))
        with graph.inside(Block(arg_types=[each.ssa.type for each in given])) as block:
            _, state, number = graph.carried(block.args, [each.array for each in given])
            value = _body(graph, state, x, rows)
            following = graph.add(elementwise.AddOp, [number, _number(graph, 1)])
            is_left = graph.add(elementwise.LessOp, [following, _number(graph, graph.integer(1, MOST_STEPS))])
            goes_on = graph.add(elementwise.AndOp, [_condition(graph, value), is_left])
            block.add_op(scf.YieldOp(goes_on.ssa, value.ssa, following.ssa))
        loop = scf.WhileOp(
            [each.ssa for each in given], [each.ssa.type for each in given], Region(before), Region(block)
        )
        return graph.keep_region(loop, 1)

    return make


def _scan(rows: Sequence[Row]) -> Make:
    """A step for each slice along the first axis: each is written to its place of a result, in a type of its own."""

    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and len(x.shape) >= 2 and x.shape[0] <= 2 * MOST_STEPS, "one scale, and slices")
        bounds = [_index(graph, number) for number in (0, x.shape[0], 1)]
        state = graph.like(x, x.shape[1:])
        element = graph.result_type(x.real())
        need(not element.scales.ndim, "one scale")
        given = [state, graph.constant(element, x.shape), _number(graph, 0)]
        with graph.inside(Block(arg_types=[IndexType(), *(each.ssa.type for each in given)])) as block:
            own, written, number = graph.carried(block.args[1:], [each.array for each in given])
            piece = graph.add(indexing.GatherOp, [x, number], {"axis": 0})
            value = _body(graph, graph.add(elementwise.AddOp, [piece, own], element=state.uniform), state, rows)
            stored = graph.add(elementwise.ClipOp, [value], {"minimum": -2.0}, element=element)
            position = graph.add(movement.ReshapeOp, [number, None], result_types=[TensorType(i64, [1])])
            stacked = graph.add(indexing.ScatterNDOp, [written, position, stored])
            following = graph.add(elementwise.AddOp, [number, _number(graph, 1)])
            block.add_op(scf.YieldOp(value.ssa, stacked.ssa, following.ssa))
        loop = scf.ForOp(*bounds, [each.ssa for each in given], Region(block))
        return graph.keep_region(loop, 1)

    return make


_KINDS: dict[str, tuple[Callable[[Sequence[Row]], Make], float]] = {
    "if": (_choice, 1.5),
    "loop": (_loop, 1.0),
    "while": (_while, 0.7),
    "scan": (_scan, 1.0),
}


def regions(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of control flow, whose bodies are made of `rows`."""
    return tuple(Row(name, make(rows), weight) for name, (make, weight) in _KINDS.items())
