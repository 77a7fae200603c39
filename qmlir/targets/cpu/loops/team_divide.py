"""`team-divide`: divides parallel loops into chunks for a team of threads; a single thread runs all other code.

All threads of the team run `@main` and the kernels with divided loops. In such a kernel, all threads execute the
operations without side effects and share the parallel loops; a single thread executes everything else. By the time a
slow thread runs the code between these regions, memory may have been reused. So values from memory that the kernel
doesn't write are read inside each region that needs them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects, is_side_effect_free

from qmlir.dialects.kernel.attributes import TARGET, TargetAttr
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.dialects.team.ops import THREADS, ChunksOp, SingleOp, TeamOperation
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.kernel_mark_read_only import is_written, overwritten, root_of

CHUNKS = 5
"""The most chunks per thread; each is half of the remaining range of the thread, and the last one is all of it."""

_OF_ALL = (CallOp, scf.ForOp, scf.YieldOp, func.ReturnOp, memref.AllocOp, memref.GetGlobalOp)
"""What `@main` may have where all threads run it: none of it reads memory or chooses."""


def _is_for_one(op: Operation, written: frozenset[SSAValue]) -> bool:
    """Whether only one thread may do it: it does more than compute and read, or reads what the kernel writes."""
    effects = get_effects(op)
    if op.regions or effects is None or any(each.kind is not MemoryEffectKind.READ for each in effects):
        return True
    return bool(effects) and any(
        root_of(each) in written or is_written(root_of(each)) for each in op.operands if memref_type(each) is not None
    )


@dataclass(frozen=True)
class _Part:
    """Successive operations that either all threads or a single thread executes, or a parallel loop to divide."""

    ops: tuple[Operation, ...]
    is_alone: bool = False

    @property
    def is_shared(self) -> bool:
        return isinstance(self.ops[0], scf.ParallelOp)

    def has_users(self) -> bool:
        """Returns true if an operation outside of this part uses one of its results."""
        uses = (use.operation for op in self.ops for result in op.results for use in result.uses)
        block = self.ops[0].parent
        assert block is not None
        return any(block.find_ancestor_op_in_block(each) not in self.ops for each in uses)


def _parts(block: Block, is_for_one: Callable[[Operation], bool]) -> list[_Part]:
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


def _divided_parts(kernel: FuncOp, calls: Sequence[CallOp]) -> Sequence[_Part]:
    """The parts of a kernel with parallel loops; none where something needs what one thread has in registers."""
    block = kernel.body.block
    if not any(isinstance(op, scf.ParallelOp) for op in block.ops):
        return ()
    parts = _parts(block, partial(_is_for_one, written=overwritten(kernel, calls)))
    return () if any(part.has_users() for part in parts if part.is_alone or part.is_shared) else parts


def _divide_kernel(parts: Sequence[_Part]) -> None:
    """Write the parts of a kernel as work of a team."""
    readings: list[Operation] = []
    for part in parts:
        if part.is_alone or part.is_shared:
            at = InsertPoint.after(part.ops[-1])
            made = _chunks(part.ops[0]) if isinstance(part.ops[0], scf.ParallelOp) else _single(part.ops)
            Builder(at).insert(made)
            _read_within(made, readings)
        else:
            for op in part.ops:
                if not is_side_effect_free(op) or any(value.owner in readings for value in op.operands):
                    readings.append(op)
    for op in reversed(readings):
        Rewriter.erase_op(op)


def _read_within(made: TeamOperation, readings: Sequence[Operation]) -> None:
    """Do in the region of `made` what it needs of `readings`."""
    block = made.body.block
    for op in reversed(readings):
        inside = [use for result in op.results for use in result.uses if made.is_ancestor(use.operation)]
        if inside:
            copy = op.clone()
            block.insert_op_before(copy, block.first_op) if block.first_op else block.add_op(copy)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                old.replace_uses_with_if(new, lambda use: made.is_ancestor(use.operation))


def _single(ops: Sequence[Operation], custom: frozenset[str] = frozenset()) -> SingleOp:
    """The operations as one thread's work; `custom` names the functions that run custom kernels."""
    is_first = any(
        isinstance(op, CustomOp) or (isinstance(op, CallOp) and op.callee.root_reference.data in custom) for op in ops
    )
    for op in ops:
        op.detach()
    return SingleOp(Region(Block(ops)), first=is_first)


# --- Chunks of loops --------------------------------------------------------------------------------------------------


def _number(op: scf.ParallelOp, value: SSAValue) -> int:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            raise op_error(op, "must have a static positive step to be divided among threads")


@dataclass(frozen=True)
class _Axis:
    """One axis of a parallel loop: its variable, the first value, the distance of values, and their number."""

    variable: SSAValue
    lower: int
    step: int
    count: int


def _axes(op: scf.ParallelOp) -> list[_Axis]:
    rows = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    found: list[_Axis] = []
    for variable, *bounds in rows:
        lower, upper, step = (_number(op, value) for value in bounds)
        if step < 1:
            raise op_error(op, "must have a static positive step to be divided among threads")
        found.append(_Axis(variable, lower, step, max(-(-(upper - lower) // step), 0)))
    return found


def _loops(op: scf.ParallelOp) -> list[scf.ParallelOp]:
    """A parallel loop, and the one in it where that is all it does: threads divide the steps of both together."""
    ops = [each for each in op.body.block.ops if not each.has_trait(IsTerminator)]
    inside = [each for each in ops if each.regions or not is_side_effect_free(each)]
    inner = inside[0] if inside else None
    if len(inside) != 1 or not isinstance(inner, scf.ParallelOp) or inner.initVals:
        return [op]
    return [op, inner] if len(op.lowerBound) == len(inner.lowerBound) == 1 else [op]


def _chunks(op: scf.ParallelOp) -> ChunksOp:
    """Chunks of the last axis of a loop, or of two nested loops as if they were one."""
    loops = _loops(op)
    axes = [_axes(each) for each in loops]
    steps = math.prod(each[-1].count for each in axes)
    body = Block(arg_types=[IndexType(), IndexType()])
    body.args[0].name_hint, body.args[1].name_hint = "begin", "end"
    write = _LoopWriter(Builder(InsertPoint.at_end(body)))
    if len(loops) == 1:
        for axis in axes[0][:-1]:
            write = write.loop(axis, write.number(0), write.number(axis.count))
        write.loop(axes[0][-1], *body.args).take(op.body.block)
    else:
        (outer,), (inner,) = axes
        first, last = body.args
        if inner.count > 1:
            size = write.number(inner.count)
            last = write.made(arith.CeilDivSIOp(last, size))
            first = write.made(arith.FloorDivSIOp(first, size))
        write = write.loop(outer, first, last)
        base = write.made(arith.MuliOp(write.position, write.number(inner.count)))
        low = write.made(arith.MaxSIOp(write.made(arith.SubiOp(body.args[0], base)), write.number(0)))
        high = write.made(arith.MinSIOp(write.made(arith.SubiOp(body.args[1], base)), write.number(inner.count)))
        for each in list(op.body.block.ops):
            if each is loops[1]:
                write.loop(inner, low, high).take(loops[1].body.block)
            elif not each.has_trait(IsTerminator):
                each.detach()
                write.builder.insert(each)
    Rewriter.erase_op(op)
    return ChunksOp(steps, max(1, min(CHUNKS, (steps // 2).bit_length())), Region(body))


class _LoopWriter:
    """Creates the loops of a chunk; `position` is the step of the innermost loop, counted from 0."""

    def __init__(self, builder: Builder, position: SSAValue | None = None):
        self.builder = builder
        self._position = position

    @property
    def position(self) -> SSAValue:
        assert self._position is not None
        return self._position

    def made(self, op: Operation) -> SSAValue:
        """Inserts a new operation and returns its result."""
        return self.builder.insert(op).results[0]

    def number(self, value: int) -> SSAValue:
        return self.made(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def loop(self, axis: _Axis, first: SSAValue, last: SSAValue) -> "_LoopWriter":
        """Creates a loop over the steps from `first` to below `last` of an axis; returns the writer of its body.

        The variable of the axis is computed from the step.
        """
        block = Block([scf.YieldOp()], arg_types=[IndexType()])
        self.builder.insert(scf.ForOp(first, last, self.number(1), [], block))
        position = block.args[0]
        position.name_hint = axis.variable.name_hint or "i"
        inside = _LoopWriter(Builder(InsertPoint.before(terminator_of(block))), position)
        value: SSAValue = position
        if axis.step != 1:
            value = inside.made(arith.MuliOp(value, inside.number(axis.step)))
        if axis.lower:
            value = inside.made(arith.AddiOp(value, inside.number(axis.lower)))
        axis.variable.replace_all_uses_with(value)
        return inside

    def take(self, block: Block) -> None:
        """Moves the operations of a loop body here, except its terminator."""
        for op in list(block.ops):
            if not op.has_trait(IsTerminator):
                op.detach()
                self.builder.insert(op)


# --- @main ------------------------------------------------------------------------------------------------------------


def _is_divisible(main: FuncOp) -> bool:
    """Whether all threads may run `@main`: it reads no memory and chooses nothing, which each would for itself."""
    return all(isinstance(op, _OF_ALL) or is_side_effect_free(op) for op in main.body.walk())


def _runs_of_calls(block: Block, divided: frozenset[str]) -> Iterator[list[CallOp]]:
    """Successive calls of kernels that one thread runs; what stands between them computes, and goes before them."""
    run: list[CallOp] = []
    for op in block.ops:
        is_call = isinstance(op, CallOp) and op.callee.root_reference.data not in divided
        if isinstance(op, CallOp) and is_call:
            run.append(op)
        elif run and isinstance(op, CallOp | scf.ForOp):
            yield run
            run = []
    if run:
        yield run


def _divide_main(main: FuncOp, divided: frozenset[str], custom: frozenset[str], threads: int) -> None:
    main.attributes[THREADS] = IntegerAttr(threads, i64)
    blocks = [main.body.block, *(op.body.block for op in main.body.walk() if isinstance(op, scf.ForOp))]
    for block in blocks:
        for run in list(_runs_of_calls(block, divided)):
            at = run[-1].next_op
            assert at is not None
            block.insert_op_before(_single(run, custom), at)


@dataclass(frozen=True)
class TeamDivide(ModulePass):
    """Divides the parallel loops of kernels among threads. The module's `kernel.target` gives the number of threads.

    A loop becomes `team.chunks`. Writes of a kernel outside of loops become `team.single`, and so do calls of kernels
    without parallel loops. Nothing is divided if the target has one thread, or if `@main` reads memory or contains
    `scf.if`. A kernel is not divided if other threads would use a value that only one thread computes.

    Before:

    ```mlir
    builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
      func.func private @twice(%x: memref<64xi32>) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %c1 = arith.constant 1 : index
        "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
        ^bb0(%i: index):
          %v = memref.load %x[%i] : memref<64xi32>
          %w = arith.addi %v, %v : i32
          memref.store %w, %x[%i] : memref<64xi32>
          scf.reduce
        }) : (index, index, index) -> ()
        func.return
      }
      func.func @main(%x: memref<64xi32> {nn.result}) {
        func.call @twice(%x) : (memref<64xi32>) -> ()
        func.return
      }
    }
    ```

    After:

    ```mlir
    builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
      func.func private @twice(%x: memref<64xi32>) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %c1 = arith.constant 1 : index
        team.chunks (%begin, %end) of 64 in 5 {
          %one = arith.constant 1 : index
          scf.for %i = %begin to %end step %one {
            %v = memref.load %x[%i] : memref<64xi32>
            %w = arith.addi %v, %v : i32
            memref.store %w, %x[%i] : memref<64xi32>
          }
        }
        func.return
      }
      func.func @main(%x: memref<64xi32> {nn.result}) attributes {team.threads = 2 : i64} {
        func.call @twice(%x) : (memref<64xi32>) -> ()
        func.return
      }
    }
    ```
    """

    name = "team-divide"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = op.attributes.get(TARGET)
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        main = functions.pop("main", None)
        if main is None or not isinstance(target, TargetAttr) or target.threads < 2 or not _is_divisible(main):
            return
        calls: defaultdict[str, list[CallOp]] = defaultdict(list)
        for each in main.walk():
            if isinstance(each, CallOp):
                calls[each.callee.root_reference.data].append(each)
        parts = {
            name: _divided_parts(kernel, calls[name]) for name, kernel in functions.items() if not kernel.is_declaration
        }
        divided = frozenset(name for name, found in parts.items() if found)
        for found in parts.values():
            _divide_kernel(found)
        if divided:
            kernels = functions.items()
            custom = {name for name, each in kernels if any(isinstance(inner, CustomOp) for inner in each.walk())}
            _divide_main(main, divided, frozenset(custom), target.threads)
