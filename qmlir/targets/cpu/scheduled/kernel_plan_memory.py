"""`kernel-plan-memory`: places all buffers of a function in one arena; buffers share memory if lifetimes allow it."""

import html
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i8
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.attributes import overwritten
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.ir.diagnostics import emit_remark, op_error, text_error
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import WritesFiles, count
from qmlir.ir.provenance import origins_of
from qmlir.levels import check_level
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.scheduled.rewriting import allocation
from qmlir.text.elements import dense_dtype
from qmlir.text.writing import write_file

# Lifetimes of the buffers of a function, and reuse of memory in place.
#
# Time is counted in operations of the function's top-level block, without views and constants. A buffer used inside a
# loop lives as long as the loop. The output of a kernel reuses the memory of an input if the kernel allows it
# (`kernel.may_overwrite`), the input is not used afterwards, and no other argument of the call shares it.
#
# Finding the smallest arena is NP-hard (dynamic storage allocation). Greedy best fit is near the lower bound on neural
# networks: buffers are placed one by one, each in the smallest gap between the placed buffers that are alive at the
# same time. Several orders are tried.


def aligned(size: int) -> int:
    """Rounds `size` up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(eq=False)
class Lifetime:
    """A buffer of `size` bytes that is used from step `start` to step `end`, inclusive."""

    size: int
    start: int
    end: int


@dataclass(frozen=True)
class ArenaPlan:
    """The offset of each buffer in the arena, and the size of the arena, in bytes."""

    offsets: tuple[int, ...]
    peak: int


Order = Callable[[Lifetime], tuple[int, ...]]

_ORDERS: tuple[Order, ...] = (
    lambda each: (-each.size, each.start),
    lambda each: (-each.size * (1 + each.end - each.start), each.start),
    lambda each: (each.start, -each.size),
)
"""The orders to try: by size, as TensorFlow Lite does; by size and lifetime; by start."""


def plan_arena(buffers: Sequence[Lifetime]) -> ArenaPlan:
    """Returns the smallest layout found; every offset is a multiple of the alignment."""
    layouts = [_placed_in_order(buffers, order) for order in _ORDERS]
    return min(layouts, key=lambda layout: layout.peak)


def most_alive(buffers: Sequence[Lifetime]) -> int:
    """Returns the most bytes alive at any step, a lower bound on the arena size."""
    begun = [(each.start, aligned(each.size)) for each in buffers]
    ended = [(each.end + 1, -aligned(each.size)) for each in buffers]
    # Buffers that end before a step sort before those that begin at it.
    return max(accumulate(size for _, size in sorted([*begun, *ended])), default=0)


def _placed_in_order(buffers: Sequence[Lifetime], order: Order) -> ArenaPlan:
    count = len(buffers)
    offsets, sizes = np.zeros(count, np.int64), np.array([aligned(each.size) for each in buffers], np.int64)
    starts = np.array([each.start for each in buffers], np.int64)
    ends = np.array([each.end for each in buffers], np.int64)
    is_placed = np.zeros(count, bool)
    for number in sorted(range(count), key=lambda number: order(buffers[number])):
        together = np.flatnonzero(is_placed & (starts <= ends[number]) & (ends >= starts[number]))
        by_offset = together[np.argsort(offsets[together], kind="stable")]
        taken = [(int(offsets[each]), int(offsets[each] + sizes[each])) for each in by_offset]
        offsets[number] = _best_gap(taken, int(sizes[number]))
        is_placed[number] = True
    peak = int((offsets + sizes).max(initial=0))
    return ArenaPlan(tuple(int(offset) for offset in offsets), peak)


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Returns the offset of the smallest gap of at least `size` bytes between sorted ranges, or the end of the last."""
    best, best_gap, free = None, 0, 0
    for start, end in taken:
        gap = start - free
        if gap >= size and (best is None or gap < best_gap):
            best, best_gap = free, gap
        free = max(free, end)
    return free if best is None else best


_VIEWS = (memref.SubviewOp, memref.CastOp, ReshapeOp, memref.ViewOp)


@dataclass(eq=False)
class Buffer(Lifetime):
    """The memory of one allocation, or of several that reuse it in place."""

    allocations: list[memref.AllocOp]
    values: list[SSAValue]


def bytes_of(op: memref.AllocOp) -> int:
    """Returns the size of an allocation in bytes. Raises `DiagnosticError` if it is unknown."""
    type_ = op.memref.type
    dtype = dense_dtype(type_.get_element_type())
    if dtype is None or any(size < 0 for size in type_.get_shape()):
        raise op_error(op, f"allocations must have a static shape of integers or floats, but got {type_}")
    return math.prod(type_.get_shape()) * dtype.itemsize


def is_view(op: Operation) -> bool:
    """Returns true if `op` returns a view of its operand."""
    return isinstance(op, _VIEWS)


def views_of(value: SSAValue) -> Iterator[SSAValue]:
    """Yields `value` and every view of its memory."""
    yield value
    for use in value.uses:
        if is_view(use.operation):
            yield from views_of(use.operation.results[0])


def _takes_no_time(op: Operation) -> bool:
    """Returns true if `op` runs no code: a constant, view or allocation."""
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    return is_constant or isinstance(op, (*_VIEWS, memref.AllocOp, memref.GetGlobalOp))


class Lifetimes:
    """The buffers of `function` and their lifetimes; `kernels` are the functions that it calls, by name."""

    def __init__(self, function: FuncOp, kernels: Mapping[str, FuncOp]):
        self._kernels = kernels
        self._block = function.body.block
        self._steps: dict[Operation, int] = {}
        self.running: list[Operation] = []
        """The operation of each step."""

        for op in self._block.ops:
            self._steps[op] = len(self.running)
            if not _takes_no_time(op):
                self.running.append(op)
        self._of: dict[SSAValue, Buffer] = {}
        self.unused: list[memref.AllocOp] = []
        """The allocations that no operation uses."""
        for op in self._block.ops:
            if isinstance(op, memref.AllocOp):
                self._found(op)
        for op in self._block.ops:
            if isinstance(op, CallOp):
                self._take_over(op)

    def buffers(self) -> list[Buffer]:
        """Returns the buffers, in the order of their first allocation."""
        return list(dict.fromkeys(self._of.values()))

    def _found(self, op: memref.AllocOp) -> None:
        views = list(views_of(op.memref))
        users = (use.operation for view in views for use in view.uses)
        steps = [self._step(user) for user in users if not is_view(user)]
        if not steps:
            self.unused.append(op)
            return
        buffer = Buffer(bytes_of(op), min(steps), max(steps), [op], views)
        for view in views:
            self._of[view] = buffer

    def _step(self, op: Operation) -> int:
        ancestor = self._block.find_ancestor_op_in_block(op)
        assert ancestor is not None
        return self._steps[ancestor]

    def _take_over(self, call: CallOp) -> None:
        kernel = self._kernels.get(call.callee.string_value())
        if kernel is None or not kernel.arg_attrs:
            return
        for written, entry in enumerate(kernel.arg_attrs):
            if allowed := overwritten(entry):
                self._take_over_argument(call, written, set(allowed))

    def _take_over_argument(self, call: CallOp, written: int, allowed: set[int]) -> None:
        step, target = self._steps[call], self._whole(call.arguments[written])
        if target is None or target.start != step:
            return
        for position in sorted(allowed):
            source = self._whole(call.arguments[position])
            if source is None or source is target or source.end != step or source.size != target.size:
                continue
            others = {number for number, value in enumerate(call.arguments) if self._of.get(value) is source}
            if not others <= allowed or not all(self._whole(call.arguments[each]) for each in others):
                continue
            self._merge(source, target)
            return

    def _whole(self, value: SSAValue) -> Buffer | None:
        """Returns the buffer that `value` covers completely; `None` if it is only a part."""
        buffer = self._of.get(value)
        source = value.owner
        while isinstance(source, ReshapeOp | memref.CastOp):
            source = source.source.owner
        return buffer if isinstance(source, memref.AllocOp) else None

    def _merge(self, first: Buffer, second: Buffer) -> None:
        first.end = second.end
        first.allocations += second.allocations
        first.values += second.values
        self._of.update(dict.fromkeys(second.values, first))


def names_of(buffer: Buffer) -> str:
    """Returns the label of a buffer: the names and types of its allocations."""
    parts: list[str] = []
    for op in buffer.allocations:
        sizes, element = shaped(op.memref)
        shape = "x".join(map(str, sizes)) or "scalar"
        parts.append(f"{op.memref.name_hint or 'buffer'} {shape} {element}")
    return ", ".join(parts)


# The picture of a memory plan, time on the x-axis and offsets on the y-axis: SVG, or text of 100 columns.


@dataclass(frozen=True)
class Picture:
    """The picture of one function's plan: labels of steps, the buffers and their offsets, and the size of the arena."""

    title: str
    steps: Sequence[str]
    boxes: Sequence[tuple[Buffer, int]]
    peak: int

    def svg(self) -> str:
        """Returns a self-contained SVG; names appear as tooltips."""
        left, top, width, height = 80.0, 40.0, 1000.0, 500.0
        across, up = width / max(len(self.steps), 1), height / max(self.peak, 1)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20:g} {top + height + 60:g}" '
            'font-family="sans-serif" font-size="12">',
            f'<text x="{left:g}" y="24" font-size="15">{html.escape(self.title)}</text>',
        ]
        for part in range(5):
            size = self.peak * part // 4
            y = top + height - size * up
            lines.append(f'<line x1="{left:g}" y1="{y:.1f}" x2="{left + width:g}" y2="{y:.1f}" stroke="#ccc"/>')
            lines.append(f'<text x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{_bytes(size)}</text>')
        for number, (box, offset) in enumerate(self.boxes):
            x, w = left + box.start * across, (1 + box.end - box.start) * across
            y, h = top + height - (offset + box.size) * up, box.size * up
            colour = f"hsl({number * 137 % 360}, 60%, 70%)"  # the golden angle: neighbours differ
            title = f"{names_of(box)}: {box.size} bytes at {offset}, steps {box.start} to {box.end}"
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{colour}" stroke="#333" '
                f'stroke-width="0.5"><title>{html.escape(title)}</title></rect>'
            )
        for number, step in enumerate(self.steps):
            if step:
                x = left + number * across
                lines.append(
                    f'<rect x="{x:.1f}" y="{top + height:g}" width="{across:.1f}" height="10" fill="#888">'
                    f"<title>{html.escape(step)}</title></rect>"
                )
        lines.append(f'<text x="{left:g}" y="{top + height + 30:g}">time, in operations; grey: calls</text>')
        return "\n".join([*lines, "</svg>", ""])

    def text(self) -> str:
        """Returns a chart of up to 72 columns and 40 rows, highest offset first, and a list of the buffers."""
        columns, rows = min(72, max(len(self.steps), 1)), 40
        row_bytes = max(-(-self.peak // rows), 1)
        chart = [["."] * columns for _ in range(-(-self.peak // row_bytes))]
        listed: list[str] = []
        for number, (box, offset) in enumerate(self.boxes):
            mark = _MARKS[number % len(_MARKS)]
            first, last = (step * columns // max(len(self.steps), 1) for step in (box.start, box.end))
            for row in range(offset // row_bytes, -(-(offset + box.size) // row_bytes)):
                chart[row][first : last + 1] = mark * (1 + last - first)
            listed.append(f"{mark}  {offset:>10} {box.size:>10}  {box.start:>5}-{box.end:<5}  {names_of(box)}")
        lines = [f"{_bytes(row * row_bytes):>10} |{''.join(cells)}" for row, cells in enumerate(chart)]
        heading = "       offset       size  steps        buffer"
        return "\n".join([self.title, "", *reversed(lines), "", heading, *listed, ""])

    def write(self, path: Path) -> None:
        """Writes the picture in the format of the suffix of `path`. Raises `DiagnosticError` for an unknown suffix."""
        kinds = {".svg": self.svg, ".txt": self.text}
        if path.suffix not in kinds:
            raise text_error(f"cannot draw a memory plan as '{path}': the file name must end in {' or '.join(kinds)}")
        write_file(path, kinds[path.suffix]())


_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _bytes(size: int) -> str:
    """Formats a size, such as `1.5 MiB`."""
    thousands = max(size.bit_length() - 1, 0) // 10
    return f"{size / 1024**thousands:.4g} {_UNITS[thousands]}"


_NO_NAME = re.compile(r"[^\w.-]")
"""What doesn't stand in the names of files that have those of functions."""

SLACK = ALIGNMENT
"""The number of bytes after the last buffer, since vector loads may read past the end of a buffer."""


def _called(op: Operation) -> str:
    if not isinstance(op, CallOp):
        return ""
    origins = ", ".join(map(str, origins_of(op)))
    return f"@{op.callee.string_value()}" + (f" ({origins})" if origins else "")


def _picture(function: FuncOp, lifetimes: Lifetimes, buffers: list[Buffer], layout: ArenaPlan) -> Picture:
    boxes = list(zip(buffers, layout.offsets, strict=True))
    title = f"@{function.sym_name.data}: {layout.peak} bytes for {len(boxes)} buffers"
    return Picture(title, list(map(_called, lifetimes.running)), boxes, layout.peak)


def _use_arena(function: FuncOp, buffers: list[Buffer], layout: ArenaPlan) -> None:
    """Replace the allocations of `function` by views into one."""
    block = function.body.block
    first = block.first_op
    assert first is not None
    arena = allocation(MemRefType(i8, [layout.peak + SLACK]))
    arena.memref.name_hint = "arena"
    block.insert_op_before(arena, first)
    shifts: dict[int, SSAValue] = {}
    for offset in sorted(set(layout.offsets)):
        constant = arith.ConstantOp(IntegerAttr(offset, IndexType()))
        block.insert_op_before(constant, first)
        shifts[offset] = constant.result
    for buffer, offset in zip(buffers, layout.offsets, strict=True):
        for op in buffer.allocations:
            view = memref.ViewOp(arena, shifts[offset], [], op.memref.type)
            view.result.name_hint = op.memref.name_hint
            block.insert_op_before(view, op)
            op.memref.replace_all_uses_with(view.result)
            Rewriter.erase_op(op)


def _check_budget(op: Operation, size: int) -> None:
    if size > budget("arena-bytes"):
        raise op_error(op, f"needs an arena of {over('arena-bytes', size)}")


@dataclass(frozen=True)
class KernelPlanMemory(WritesFiles):
    """Places the buffers of each public function in one arena, without overlap between buffers alive at the same time.

    A buffer lives from its first use to its last; a buffer that a loop uses lives at least as long as the loop. The
    output of a kernel reuses the memory of an input whose last use is that kernel if `kernel.may_overwrite` allows it.
    Buffers are aligned to 64 bytes, and 64 bytes follow the last one. A remark reports the size of the arena, the total
    size of all buffers, and a lower bound: the most bytes alive at one time. `plan_file` is the path of a picture of
    the plan, an `.svg` or `.txt` file. If there are several functions, the function name is inserted before the suffix.

    Before:

    ```mlir
    func.func private @neg(%x: memref<4xi8>, %y: memref<4xi8> {kernel.may_overwrite = array<i64: 0>}) {
      func.return
    }
    func.func @main(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}) {
      %0 = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
      func.call @neg(%x, %0) : (memref<4xi8>, memref<4xi8>) -> ()
      %1 = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
      func.call @neg(%0, %1) : (memref<4xi8>, memref<4xi8>) -> ()
      func.call @neg(%1, %y) : (memref<4xi8>, memref<4xi8>) -> ()
      func.return
    }
    ```

    After:

    ```mlir
    func.func private @neg(%x: memref<4xi8>, %y: memref<4xi8> {kernel.may_overwrite = array<i64: 0>}) {
      func.return
    }
    func.func @main(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}) {
      %arena = memref.alloc() {alignment = 64 : i64} : memref<128xi8>
      %zero = arith.constant 0 : index
      %0 = memref.view %arena[%zero][] : memref<128xi8> to memref<4xi8>
      func.call @neg(%x, %0) : (memref<4xi8>, memref<4xi8>) -> ()
      %1 = memref.view %arena[%zero][] : memref<128xi8> to memref<4xi8>
      func.call @neg(%0, %1) : (memref<4xi8>, memref<4xi8>) -> ()
      func.call @neg(%1, %y) : (memref<4xi8>, memref<4xi8>) -> ()
      func.return
    }
    ```
    """

    name = "kernel-plan-memory"

    WRITES: ClassVar[tuple[str, ...]] = ("plan_file",)

    plan_file: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        planned = [each for each in functions.values() if any(isinstance(o, memref.AllocOp) for o in each.walk())]
        for function in planned:
            self._plan(function, functions, is_only=len(planned) == 1)
        check_level(ctx, op, "scheduled")

    def _plan(self, function: FuncOp, functions: dict[str, FuncOp], *, is_only: bool) -> None:
        lifetimes = Lifetimes(function, functions)
        for unused in lifetimes.unused:
            Rewriter.erase_op(unused)
        buffers = lifetimes.buffers()
        if not buffers:
            return
        for buffer in buffers:
            _check_budget(buffer.allocations[0], buffer.size)
        layout = plan_arena(buffers)
        _check_budget(function, layout.peak)
        together = sum(aligned(buffer.size) * len(buffer.allocations) for buffer in buffers)
        lowest = most_alive(buffers)
        count("bytes of the arena", layout.peak)
        count("bytes of all buffers", together)
        count("bytes alive at one time", lowest)
        emit_remark(
            function,
            f"@{function.sym_name.data} needs an arena of {layout.peak} bytes for buffers of {together} bytes; at most "
            f"{lowest} live at one time",
        )
        if self.plan_file is not None:
            path = Path(self.plan_file)
            path = path if is_only else path.with_stem(f"{path.stem}.{re.sub(_NO_NAME, '_', function.sym_name.data)}")
            _picture(function, lifetimes, buffers, layout).write(path)
        _use_arena(function, buffers, layout)
