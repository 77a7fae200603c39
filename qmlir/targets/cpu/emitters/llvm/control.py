"""Emits branches, loops and team operations as LLVM IR."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from qmlir.dialects.kernel.custom import CustomOp
from qmlir.dialects.team.ops import ChunksOp, SingleOp
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.llvm.function import IRWriter, index_of
from qmlir.targets.cpu.emitters.writing import Index, loop_arguments, parallel_axes
from qmlir.targets.cpu.runtime.semantics.values import I1, I64, PTR, IRValue
from qmlir.targets.cpu.runtime.team_code import ALONE, BEGIN, END, FINISHED, TAKEN

# Counted loops in LLVM IR: their blocks, and the phis of loop-carried values.


@dataclass
class Loop:
    """A loop whose body is being emitted."""

    index: Index
    """The induction variable of the loop."""

    carried: list[IRValue]
    """The loop-carried values: inside the body, those of the current iteration; after the loop, the final ones."""

    yielded: list[IRValue] = field(default_factory=list[IRValue])
    """The loop-carried values for the next iteration, which the code that emits the body must set."""


@contextmanager
def counting(
    write: IRWriter, lower: Index, upper: Index, step: Index, initial: Sequence[IRValue] = ()
) -> Generator[Loop]:
    """Emits a loop from `lower` to `upper` (exclusive); code emitted inside the `with` block is its body.

    `initial` are the initial loop-carried values. The condition is checked before each iteration; LLVM rotates the loop
    if that is faster.
    """
    build = write.build
    start, end, by = write.sum(lower), write.sum(upper), write.sum(step)
    head, body, after = (build.new(name) for name in ("loop", "body", "after"))
    before = build.here
    build.jump(head)
    build.begin(head)
    lines = [build.later() for _ in range(1 + len(initial))]
    counter = IRValue(I64, f"%{build.new('i')}")
    carried = [IRValue(each.type, f"%{build.new('c')}") for each in initial]
    build.branch(build.compare("icmp slt", counter, IRValue(I64, end)), body, after)
    build.begin(body)
    loop = Loop(index_of(counter.text), carried)
    with write.scope(), write.steps(counter.text, lower, upper, step):
        yield loop
        following = build.binary("add nsw", counter, IRValue(I64, by))
        build.jump(head)
        last = build.here
    first = [IRValue(I64, start), *initial]
    rows = zip(lines, [counter, *carried], first, [following, *loop.yielded], strict=True)
    for line, value, begun, goes_on in rows:
        build.fill_phi(line, value, [(begun, before), (goes_on, last)])
    build.begin(after)


@contextmanager
def counted(write: IRWriter, count: int) -> Generator[Index]:
    """Emits a loop of `count` iterations without loop-carried values; yields its variable."""
    with counting(write, Index(), Index(constant=count), Index(constant=1)) as loop:
        yield loop.index


# `scf` and `team` operations in LLVM IR.
#
# Every thread of a team runs the function. The team and the thread number are passed to each team function.


def _is_no_memory(op: Operation, values: Sequence[SSAValue], what: str) -> None:
    if any(memref_type(value) is not None for value in values):
        raise op_error(op, f"{what}, which cannot be compiled")


def _for(write: IRWriter, op: scf.ForOp) -> None:
    induction, *inside = loop_arguments(op)
    _is_no_memory(op, inside, "carries memory from step to step")
    initial = write.all_registers(tuple(op.iter_args))
    with counting(write, *write.bounds(op, (op.lb, op.ub, op.step)), initial) as loop:
        write.values[induction] = loop.index
        write.bind(inside, loop.carried)
        loop.yielded = write.all_registers(write.block(op.body.block))
    write.bind(op.results, loop.carried)


def _parallel(write: IRWriter, op: scf.ParallelOp) -> None:
    with ExitStack() as loops:
        for induction, *values in parallel_axes(op):
            loop = loops.enter_context(counting(write, *write.bounds(op, values)))
            write.values[induction] = loop.index
        write.block(op.body.block)


def _branch(write: IRWriter, region: Region, block: str, after: str) -> tuple[list[IRValue], str]:
    """Emits one region of a branch; returns its results, and the block where it ends."""
    write.build.begin(block)
    with write.scope(), write.perhaps():
        values = write.all_registers(write.region(region)) if region.blocks else []
    end = write.build.here
    write.build.jump(after)
    return values, end


def _join(write: IRWriter, op: Operation, after: str, ways: Sequence[tuple[list[IRValue], str]]) -> None:
    """Defines the results of a branch as phis of the results of its regions."""
    write.build.begin(after)
    rows = [[(value, end) for value in values] for values, end in ways]
    joined = [write.build.phi(each[0][0].type, list(each)) for each in zip(*rows, strict=True)]
    write.bind(op.results, joined)


def _if(write: IRWriter, op: scf.IfOp) -> None:
    _is_no_memory(op, op.results, "gives memory")
    yes, no, after = (write.build.new(name) for name in ("yes", "no", "after"))
    write.build.branch(write.value(op.cond), yes, no)
    regions = ((op.true_region, yes), (op.false_region, no))
    _join(write, op, after, [_branch(write, region, block, after) for region, block in regions])


def _while(write: IRWriter, op: scf.WhileOp) -> None:
    build, before, after = write.build, op.before_region.block, op.after_region.block
    _is_no_memory(op, (*before.args, *op.results), "carries memory from step to step")
    initial = write.all_registers(tuple(op.arguments))
    ask, body, end = (build.new(name) for name in ("ask", "again", "after"))
    start = build.here
    build.jump(ask)
    build.begin(ask)
    lines = [build.later() for _ in initial]
    carried = [IRValue(each.type, f"%{build.new('c')}") for each in initial]
    write.bind(before.args, carried)
    condition, *forwarded = write.block(before)
    given = write.all_registers(forwarded)
    write.bind(after.args, given)
    write.bind(op.results, given)
    build.branch(write.value(condition), body, end)
    build.begin(body)
    with write.scope(), write.perhaps():
        yielded = write.all_registers(write.block(after))
    for line, value, first, following in zip(lines, carried, initial, yielded, strict=True):
        build.fill_phi(line, value, [(first, start), (following, build.here)])
    build.jump(ask)
    build.begin(end)


def _index_switch(write: IRWriter, op: scf.IndexSwitchOp) -> None:
    _is_no_memory(op, op.results, "gives memory")
    build, chosen = write.build, write.value(op.arg)
    after, other = build.new("after"), build.new("other")
    cases = [(case, build.new("case")) for case in op.cases.get_values()]
    rows = " ".join(f"i64 {case}, label %{block}" for case, block in cases)
    build.line(f"switch {chosen.typed}, label %{other} [ {rows} ]")
    regions = [*zip(op.case_regions, (block for _, block in cases), strict=True), (op.default_region, other)]
    _join(write, op, after, [_branch(write, region, block, after) for region, block in regions])


def _execute_region(write: IRWriter, op: scf.ExecuteRegionOp) -> None:
    _is_no_memory(op, op.results, "gives memory")
    for result, value in zip(op.results, write.region(op.region), strict=True):
        write.values[result] = write.values[value]


# --- Work of a team ---------------------------------------------------------------------------------------------------


def _of_thread(write: IRWriter, name: str, *numbers: IRValue) -> IRValue:
    """Emits a call of the team function `name` with the team, the thread number, and `numbers`."""
    result = {ALONE: I1, TAKEN: I64}.get(name)
    return write.build.call(name, result, [IRValue(PTR, write.team), IRValue(I64, write.number), *numbers])


def _single(write: IRWriter, op: SingleOp) -> None:
    build = write.build
    ask, do, after = (build.new(name) for name in ("ask", "alone", "after"))
    if op.first is not None:
        build.branch(build.compare("icmp eq", IRValue(I64, write.number), build.index(0)), ask, after)
        build.begin(ask)
    build.branch(_of_thread(write, ALONE), do, after)
    build.begin(do)
    with write.scope():
        write.region(op.body)
    build.jump(after)
    build.begin(after)
    _of_thread(write, FINISHED, build.index(0))


def _chunks(write: IRWriter, op: ChunksOp) -> None:
    build, steps, chunks = write.build, op.steps.value.data, write.build.index(op.chunks.value.data)
    look, body, after = (build.new(name) for name in ("look", "chunk", "after"))
    first, start = _of_thread(write, TAKEN, build.index(-1), chunks), build.here
    build.jump(look)
    build.begin(look)
    line, chunk = build.later(), IRValue(I64, f"%{build.new('chunk')}")
    build.branch(build.compare("icmp sge", chunk, build.index(0)), body, after)
    build.begin(body)
    with write.scope():
        for argument, name in zip(op.body.block.args, (BEGIN, END), strict=True):
            bound = build.call(name, I64, [IRValue(PTR, write.team), chunk, chunks, build.index(steps)])
            write.chunks[bound.text] = range(steps)
            write.values[argument] = index_of(bound.text)
        write.region(op.body)
        following = _of_thread(write, TAKEN, chunk, chunks)
    build.fill_phi(line, chunk, [(first, start), (following, build.here)])
    build.jump(look)
    build.begin(after)
    _of_thread(write, FINISHED, chunks)


def _custom(write: IRWriter, op: CustomOp) -> None:
    raise op_error(
        op, f"is a custom numba kernel, '{op.function.data}', which requires codegen 'numba' (--codegen numba)"
    )


EMISSIONS: dict[type[Operation], Any] = {
    ChunksOp: _chunks,
    CustomOp: _custom,
    SingleOp: _single,
    scf.ForOp: _for,
    scf.ParallelOp: _parallel,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.IndexSwitchOp: _index_switch,
    scf.ExecuteRegionOp: _execute_region,
}
"""The control operations of the loops level. A custom kernel is an error, because it requires numba."""
