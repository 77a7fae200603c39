"""A kernel that the threads of a team run together: they take pieces of parallel loops, and one of them does the rest.

Each is the thread `number` of `team`. What stands behind a loop waits until all of its pieces are done. A thread has a
share of each loop, in pieces that get smaller; who is through with its own takes what is left of the others'. So a
thread that the system held up delays nobody, but by the piece that it is in.
"""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects, is_side_effect_free

from qmlir.dialects.kernel.hand_made import HandMadeOp
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.numba.function import FunctionWriter
from qmlir.targets.cpu.emitters.numba.memory_use import is_written, overwritten, root_of
from qmlir.targets.cpu.emitters.numba.text import Index, Text, name_text

TEAM, NUMBER = "team", "number"

MOST_PIECES = 5
"""Of the share of a thread: each is half of what is left, the last one all of it."""


def _is_for_one(op: Operation, written: frozenset[SSAValue]) -> bool:
    """Whether only one thread may do it: it does more than compute and read, or reads what the kernel writes."""
    effects = get_effects(op)
    if op.regions or effects is None or any(each.kind is not MemoryEffectKind.READ for each in effects):
        return True
    return bool(effects) and any(
        root_of(each) in written or is_written(root_of(each)) for each in op.operands if memref_type(each) is not None
    )


def _of_thread(write: FunctionWriter, name: str, *operands: Text | int) -> Text:
    """The call of an operation on the team and the thread."""
    return write.call(name, name_text(TEAM), name_text(NUMBER), *operands)


@contextmanager
def write_for_one(write: FunctionWriter, *, is_for_first: bool = False) -> Generator[None]:
    """Write what one thread does, and the others wait for: the first one, or whoever is there in its place.

    For the first one is what a person wrote: it may keep something for each thread, such as a state of random numbers.
    """
    condition = _of_thread(write, "alone")
    write.line(f"if {NUMBER} == 0 and {condition}:" if is_for_first else f"if {condition}:")
    with write.indented():
        yield
    write.line(str(_of_thread(write, "finished", 0)))


@dataclass(frozen=True)
class Part:
    """Operations behind each other that all threads do, that one does, or a parallel loop that they divide."""

    ops: tuple[Operation, ...]
    is_alone: bool = False

    @property
    def is_shared(self) -> bool:
        return isinstance(self.ops[0], scf.ParallelOp)

    def hands_on(self) -> bool:
        """Whether something outside needs a result."""
        uses = (use.operation for op in self.ops for result in op.results for use in result.uses)
        return any(_outermost(each, self.ops[0].parent) not in self.ops for each in uses)


def _outermost(op: Operation, block: Block | None) -> Operation | None:
    """The operation of `block` that `op` is in."""
    return None if block is None else block.find_ancestor_op_in_block(op)


def _parts(block: Block, is_for_one: Callable[[Operation], bool]) -> list[Part]:
    """The operations of a kernel in parts; from the first that one thread must do on, all up to the next loop."""
    parts: list[Part] = []
    run: list[Operation] = []

    def close() -> None:
        if run:
            parts.append(Part(tuple(run), any(map(is_for_one, run))))
        run.clear()

    for op in block.ops:
        if isinstance(op, scf.ParallelOp):
            close()
            parts.append(Part((op,)))
        elif not op.has_trait(IsTerminator):
            if is_for_one(op) and not any(map(is_for_one, run)):
                close()
            run.append(op)
    close()
    return parts


def divided_parts(kernel: FuncOp, calls: Sequence[CallOp]) -> Sequence[Part]:
    """The parts of a kernel that threads divide, which is called so; none where they don't.

    It must have parallel loops, and nothing may need what one thread has in registers.
    """
    if not any(isinstance(op, scf.ParallelOp) for op in kernel.body.block.ops):
        return ()
    parts = _parts(kernel.body.block, partial(_is_for_one, written=overwritten(kernel, calls)))
    alone = [part for part in parts if part.is_alone or part.is_shared]
    return () if any(part.hands_on() for part in alone) else parts


def write_divided(write: FunctionWriter, parts: Sequence[Part]) -> None:
    """Write the operations of a kernel that is divided."""
    readings: list[Operation] = []
    for part in parts:
        if part.is_alone:
            with write_for_one(write, is_for_first=any(isinstance(op, HandMadeOp) for op in part.ops)):
                _write_all(write, [*readings, *part.ops])
        elif isinstance(loop := part.ops[0], scf.ParallelOp):
            _write_loop(write, loop, readings)
        else:
            for op in part.ops:
                # Memory may be gone for a thread that comes too late: it reads where it has something to do.
                if is_side_effect_free(op) and not any(value.owner in readings for value in op.operands):
                    write.operation(op)
                else:
                    readings.append(op)


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
    if lower is None or upper is None or step is None or step < 1:
        raise op_error(op, "runs in steps that are not known, or not positive, which threads can't divide")
    return max(-(-(upper - lower) // step), 0)


def _step_of(write: FunctionWriter, op: scf.ParallelOp, axis: int, number: str) -> None:
    """Let the induction variable of an axis be that of a step."""
    lower, step = (write.index(each[axis]).number for each in (op.lowerBound, op.step))
    assert lower is not None
    assert step is not None
    write.ranges[number] = 0, _count(write, op, axis) - 1
    write.values[op.body.block.args[axis]] = Index({name_text(number): step}, lower)


def _write_loop(write: FunctionWriter, op: scf.ParallelOp, readings: Sequence[Operation]) -> None:
    """The pieces of a loop that a thread takes: of the last axis, or of two loops in each other as if they were one."""
    loops = divided_loops(op)
    counts = [_count(write, each, len(op.lowerBound) - 1) for each in loops]
    steps = math.prod(counts)
    pieces = max(1, min(MOST_PIECES, (steps // 2).bit_length()))
    piece, begin, end = (write.names.new(name) for name in ("piece", "begin", "end"))
    write.line(f"{piece} = {_of_thread(write, 'taken', -1, pieces)}")
    write.line(f"while {piece} >= 0:")
    with write.indented():
        for bound, name in ((begin, "piece_begin"), (end, "piece_end")):
            write.line(f"{bound} = {write.call(name, name_text(TEAM), name_text(piece), pieces, steps)}")
        _write_all(write, readings)
        _write_steps(write, loops, counts, (begin, end))
        write.line(f"{piece} = {_of_thread(write, 'taken', name_text(piece), pieces)}")
    write.line(str(_of_thread(write, "finished", pieces)))


def _write_steps(
    write: FunctionWriter, loops: Sequence[scf.ParallelOp], counts: Sequence[int], bounds: tuple[str, str]
) -> None:
    """Some steps of a loop, or of two loops around each other."""
    op, depth, (begin, end) = loops[0], write.depth, bounds
    last = len(op.lowerBound) - 1
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
