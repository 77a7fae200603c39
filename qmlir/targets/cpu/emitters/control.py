"""Emits `scf` as Python or C: loops and branches, with variables for loop-carried values."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.writing import TextWriter, loop_arguments, parallel_axes


def _carried(write: TextWriter, op: Operation, initial: Sequence[SSAValue], inside: Sequence[SSAValue]) -> list[str]:
    """Creates variables for the values that a loop carries, with their initial values; returns their names."""
    names: list[str] = []
    for value, argument in zip(initial, inside, strict=True):
        if memref_type(argument) is not None:
            raise op_error(op, "carries memory across iterations, which cannot be compiled")
        names.append(write.variable(argument, write.carried_hint, write.text(value)))
    return names


def _induction(write: TextWriter, value: SSAValue) -> str:
    name = write.names.new(write.hint(value, "i"))
    write.name(value, name)
    return name


def _for(write: TextWriter, op: scf.ForOp) -> None:
    induction, *inside = loop_arguments(op)
    names = _carried(write, op, tuple(op.iter_args), inside)
    bounds = write.bounds(op, (op.lb, op.ub, op.step))
    name = _induction(write, induction)
    with write.indented(write.loop_head(name, bounds), *bounds), write.steps(name, *bounds):
        write.assign(names, write.block(op.body.block))
    for name, result in zip(names, op.results, strict=True):
        write.name(result, name)


def _parallel(write: TextWriter, op: scf.ParallelOp) -> None:
    with ExitStack() as loops:
        for induction, *values in parallel_axes(op):
            bounds, name = write.bounds(op, values), _induction(write, induction)
            loops.enter_context(write.indented(write.loop_head(name, bounds), *bounds))
            loops.enter_context(write.steps(name, *bounds))
        write.block(op.body.block)


def branch(write: TextWriter, names: Sequence[str], region: Region) -> None:
    """Emits one region of a branch, and assigns its results to the variables `names`."""
    with write.perhaps():
        write.assign(names, write.region(region))


def results_of(write: TextWriter, op: Operation) -> list[str]:
    """Creates variables for the results of a branch; returns their names."""
    if any(memref_type(result) is not None for result in op.results):
        raise op_error(op, "returns memory, which cannot be compiled")
    return [write.variable(result) for result in op.results]


def _if(write: TextWriter, op: scf.IfOp) -> None:
    condition = write.condition(op.cond)
    names = results_of(write, op)
    with write.indented(write.if_head.format(condition), condition):
        branch(write, names, op.true_region)
    if op.false_region.blocks and (op.results or len(list(op.false_region.block.ops)) > 1):
        with write.indented("else"):
            branch(write, names, op.false_region)


def _while(write: TextWriter, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    names = _carried(write, op, tuple(op.arguments), before.args)
    results = [write.variable(result, "result") for result in op.results]
    for argument, name in zip(after.args, results, strict=True):
        write.name(argument, name)
    with write.indented(write.endless):
        condition, *forwarded = write.block(before)
        flag = write.flag(condition)
        write.assign(results, forwarded)
        write.leave_unless(flag)
        with write.perhaps():
            write.assign(names, write.block(after))


def _execute_region(write: TextWriter, op: scf.ExecuteRegionOp) -> None:
    branch(write, results_of(write, op), op.region)


CONTROL: dict[type[Operation], Any] = {
    scf.ForOp: _for,
    scf.ParallelOp: _parallel,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.ExecuteRegionOp: _execute_region,
}
"""The operations of `scf` that Python and C emit in the same way: all but `scf.index_switch`."""
