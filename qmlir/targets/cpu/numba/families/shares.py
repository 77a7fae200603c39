"""A kernel that the threads of a team run together: each has its share of a parallel loop, the first one does the rest.

Each is the thread `number` of `team`. What stands behind a loop waits until all threads have done their share.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects, is_side_effect_free

from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.numba.function import FunctionWriter
from qmlir.targets.cpu.numba.text import Index, name_text

TEAM, NUMBER = "team", "number"


def is_for_one(op: Operation) -> bool:
    """Whether only one thread may do it: it does more than compute and read."""
    effects = get_effects(op)
    return bool(op.regions) or effects is None or any(each.kind is not MemoryEffectKind.READ for each in effects)


def write_barrier(write: FunctionWriter) -> None:
    """Let all threads wait for each other."""
    write.line(str(write.call("barrier", name_text(TEAM))))


@dataclass(frozen=True)
class _Part:
    """Operations behind each other that all threads do, that one does, or a parallel loop that they divide."""

    ops: tuple[Operation, ...]
    is_alone: bool = False

    @property
    def is_shared(self) -> bool:
        return isinstance(self.ops[0], scf.ParallelOp)

    @property
    def is_pure(self) -> bool:
        """Whether it has nothing to do with memory."""
        return not self.is_shared and all(not op.regions and is_side_effect_free(op) for op in self.ops)

    def hands_on(self) -> bool:
        """Whether something outside needs a result."""
        uses = (use.operation for op in self.ops for result in op.results for use in result.uses)
        return any(_outermost(each, self.ops[0].parent) not in self.ops for each in uses)


def _outermost(op: Operation, block: Block | None) -> Operation | None:
    """The operation of `block` that `op` is in."""
    return None if block is None else block.find_ancestor_op_in_block(op)


def _parts(block: Block) -> list[_Part]:
    """The operations of a kernel in parts; from the first that one thread must do on, all up to the next loop."""
    parts: list[_Part] = []
    run: list[Operation] = []

    def close() -> None:
        if run:
            parts.append(_Part(tuple(run), any(map(is_for_one, run))))
        run.clear()

    for op in block.ops:
        if isinstance(op, scf.ParallelOp):
            close()
            parts.append(_Part((op,)))
        elif not op.has_trait(IsTerminator):
            if is_for_one(op) and not any(map(is_for_one, run)):
                close()
            run.append(op)
    close()
    return parts


def is_divided(block: Block) -> bool:
    """Whether threads divide a kernel: it has parallel loops, and nothing needs what one thread has in registers."""
    parts = _parts(block)
    alone = [part for part in parts if part.is_alone or part.is_shared]
    return any(part.is_shared for part in parts) and not any(part.hands_on() for part in alone)


def write_divided(write: FunctionWriter, block: Block) -> None:
    """Write the operations of a kernel that is divided."""
    is_apart = False
    for part in _parts(block):
        if not part.is_pure:
            # Nobody reads what another thread hasn't written yet, or writes what it hasn't read.
            if is_apart:
                write_barrier(write)
            is_apart = True
        if part.is_alone:
            write.line(f"if {NUMBER} == 0:")
            with write.indented():
                _write_all(write, part.ops)
        elif isinstance(loop := part.ops[0], scf.ParallelOp):
            _write_share(write, loop)
        else:
            _write_all(write, part.ops)


def _write_all(write: FunctionWriter, ops: Sequence[Operation]) -> None:
    for op in ops:
        write.operation(op)


def divided_loops(op: scf.ParallelOp) -> list[scf.ParallelOp]:
    """A parallel loop, and the one in it where that is all it does: threads divide the steps of both together."""
    ops = [each for each in op.body.block.ops if not each.has_trait(IsTerminator)]
    inside = [each for each in ops if each.regions or not is_side_effect_free(each)]
    inner = inside[0] if inside else None
    if len(inside) != 1 or not isinstance(inner, scf.ParallelOp) or inner.initVals:
        return [op]
    return [op, inner] if len(op.lowerBound) == len(inner.lowerBound) == 1 else [op]


def _count(write: FunctionWriter, op: scf.ParallelOp, axis: int) -> int:
    bounds = (each[axis] for each in (op.lowerBound, op.upperBound, op.step))
    lower, upper, step = (write.index(each).number for each in bounds)
    if lower is None or upper is None or step is None:
        raise op_error(op, "runs in steps that are not known, which threads can't divide")
    return max(-(-(upper - lower) // step), 0)


def _step_of(write: FunctionWriter, op: scf.ParallelOp, axis: int, number: str) -> None:
    """Let the induction variable of an axis be that of a step."""
    lower, step = (write.index(each[axis]).number for each in (op.lowerBound, op.step))
    assert lower is not None
    assert step is not None
    write.values[op.body.block.args[axis]] = Index({name_text(number): step}, lower)


def _write_share(write: FunctionWriter, op: scf.ParallelOp) -> None:
    """A thread's share of a loop: of its last axis, or of two loops around each other as if they were one."""
    depth, loops = write.depth, divided_loops(op)
    last = len(op.lowerBound) - 1
    counts = [_count(write, each, last) for each in loops]
    bounds = [write.names.new(name) for name in ("begin", "end")]
    for bound, number in zip(bounds, (Index.of(name_text(NUMBER)), Index({name_text(NUMBER): 1}, 1)), strict=True):
        share = write.call("share", name_text(TEAM), number, math.prod(counts))
        write.line(f"{bound} = {share}")
    begin, end = bounds
    if len(loops) == 1:
        for axis in range(last + 1):
            name = write.names.new(write.hint(op.body.block.args[axis], "i"))
            steps = f"{begin}, {end}" if axis == last else str(_count(write, op, axis))
            write.line(f"for {name} in range({steps}):")
            write.depth += 1
            _step_of(write, op, axis, name)
        _write_body(write, op)
        write.depth = depth
        return
    outer, inner = loops
    names = [write.names.new(write.hint(each.body.block.args[0], "i")) for each in loops]
    write.line(f"for {names[0]} in range({begin} // {counts[1]}, ({end} + {counts[1] - 1}) // {counts[1]}):")
    write.depth += 1
    _step_of(write, outer, 0, names[0])
    for each in outer.body.block.ops:
        if each is inner:
            first = f"max({begin} - {names[0]} * {counts[1]}, 0)"
            last = f"min({end} - {names[0]} * {counts[1]}, {counts[1]})"
            write.line(f"for {names[1]} in range({first}, {last}):")
            write.depth += 1
            _step_of(write, inner, 0, names[1])
            _write_body(write, inner)
            write.depth -= 1
        elif not each.has_trait(IsTerminator):
            write.operation(each)
    write.depth = depth


def _write_body(write: FunctionWriter, op: scf.ParallelOp) -> None:
    count = len(write.lines)
    write.block(op.body.block)
    if len(write.lines) == count:
        write.line("pass")
