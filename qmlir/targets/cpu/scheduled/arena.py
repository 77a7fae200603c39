"""The memory plan: lifetimes of buffers, their offsets in one arena, and a picture of the plan."""

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.attributes import overwritten
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.scheduled.bufferization.aliases import memory_type
from qmlir.text.elements import dense_dtype
from qmlir.text.writing import write_file

# How long each buffer of a function is used, and which may take over the memory of one that ends.
#
# Time is counted in operations of the function's own block that do something, views and constants do not: what is
# used inside a loop is used as long as the loop runs. The output of a kernel takes over the memory of an input where
# the kernel allows it (`kernel.may_overwrite`), the input is not used afterwards, and no other argument of the call
# lies in it.
#
# Finding the smallest arena is NP-hard (dynamic storage allocation). Greedy best fit is near the lower bound on
# networks: buffers are placed one by one, each in the smallest gap between those that live with it. Several orders
# are tried.


def aligned(size: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is used from step `start` to step `end`, both included."""

    size: int
    start: int
    end: int


@dataclass(frozen=True)
class ArenaPlan:
    """Where each buffer lies, in bytes from the beginning, and the bytes that all need together."""

    offsets: tuple[int, ...]
    peak: int


Order = Callable[[Lifetime], tuple[int, ...]]

_ORDERS: tuple[Order, ...] = (
    lambda each: (-each.size, each.start),
    lambda each: (-each.size * (1 + each.end - each.start), each.start),
    lambda each: (each.start, -each.size),
)
"""By size, as TensorFlow Lite does; by size and time; by the time at which they begin."""


def place(buffers: Sequence[Lifetime]) -> ArenaPlan:
    """The best layout that is found; every offset is a multiple of the alignment."""
    layouts = [_placed_in_order(buffers, order) for order in _ORDERS]
    return min(layouts, key=lambda layout: layout.peak)


def most_alive(buffers: Sequence[Lifetime]) -> int:
    """The most bytes that live at one step: no arena is smaller."""
    begun = [(each.start, aligned(each.size)) for each in buffers]
    ended = [(each.end + 1, -aligned(each.size)) for each in buffers]
    # What ends before a step comes in front of what begins there.
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
    """Where `size` bytes fit most tightly between the taken ranges, which are in order; behind all otherwise."""
    best, best_gap, free = None, 0, 0
    for start, end in taken:
        gap = start - free
        if gap >= size and (best is None or gap < best_gap):
            best, best_gap = free, gap
        free = max(free, end)
    return free if best is None else best


_VIEWS = (memref.SubviewOp, memref.CastOp, ReshapeOp, memref.ViewOp)


@dataclass(eq=False)
class Buffer:
    """The memory of one allocation, or of several that take it over from each other."""

    allocations: list[memref.AllocOp]
    values: list[SSAValue]
    size: int
    start: int
    end: int

    def lifetime(self) -> Lifetime:
        """The same as numbers."""
        return Lifetime(self.size, self.start, self.end)


def bytes_of(op: memref.AllocOp) -> int:
    """The size of an allocation. Raises `DiagnosticError` where that is not known."""
    type_ = op.memref.type
    dtype = dense_dtype(type_.get_element_type())
    if dtype is None or any(size < 0 for size in type_.get_shape()):
        raise op_error(op, f"allocations must have a static shape of integers or floats, but got {type_}")
    return math.prod(type_.get_shape()) * dtype.itemsize


def is_view(op: Operation) -> bool:
    """Whether `op` gives the memory of its operand, or a part of it, under another type."""
    return isinstance(op, _VIEWS)


def views_of(value: SSAValue) -> Iterator[SSAValue]:
    """`value` and every view of its memory."""
    yield value
    for use in value.uses:
        if is_view(use.operation):
            yield from views_of(use.operation.results[0])


def _takes_no_time(op: Operation) -> bool:
    """Whether `op` only says where something is."""
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    return is_constant or isinstance(op, (*_VIEWS, memref.AllocOp, memref.GetGlobalOp))


class Lifetimes:
    """The buffers of `function`, whose kernels are in `kernels` by name."""

    def __init__(self, function: FuncOp, kernels: Mapping[str, FuncOp]):
        self._kernels = kernels
        self._block = function.body.block
        self._steps: dict[Operation, int] = {}
        self._running: list[Operation] = []
        for op in self._block.ops:
            self._steps[op] = len(self._running)
            if not _takes_no_time(op):
                self._running.append(op)
        self._of: dict[SSAValue, Buffer] = {}
        self.unused: list[memref.AllocOp] = []
        """Allocations that nothing uses."""
        for op in self._block.ops:
            if isinstance(op, memref.AllocOp):
                self._found(op)
        for op in self._block.ops:
            if isinstance(op, CallOp):
                self._take_over(op)

    def operations(self) -> Sequence[Operation]:
        """The operation of each step."""
        return self._running

    def buffers(self) -> list[Buffer]:
        """The buffers, in the order of their first allocations."""
        return list(dict.fromkeys(self._of[value] for value in self._of))

    def _found(self, op: memref.AllocOp) -> None:
        views = list(views_of(op.memref))
        users = (use.operation for view in views for use in view.uses)
        steps = [self._step(user) for user in users if not is_view(user)]
        if not steps:
            self.unused.append(op)
            return
        buffer = Buffer([op], views, bytes_of(op), min(steps), max(steps))
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
        for place in sorted(allowed):
            source = self._whole(call.arguments[place])
            if source is None or source is target or source.end != step or source.size != target.size:
                continue
            others = {number for number, value in enumerate(call.arguments) if self._of.get(value) is source}
            if not others <= allowed or not all(self._whole(call.arguments[each]) for each in others):
                continue
            self._merge(source, target)
            return

    def _whole(self, value: SSAValue) -> Buffer | None:
        """The buffer that `value` is all of."""
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
    """What a picture calls a buffer: the names of its values and their types."""
    parts: list[str] = []
    for op in buffer.allocations:
        type_: Attribute = op.memref.type
        shape = "x".join(map(str, memory_type(type_).get_shape())) or "scalar"
        parts.append(f"{op.memref.name_hint or 'buffer'} {shape} {memory_type(type_).get_element_type()}")
    return ", ".join(parts)


# A memory plan as a picture, time across and offsets upwards: SVG, or text of 100 columns.


@dataclass(frozen=True)
class Box:
    """A buffer in the plan: what it is called, the steps in which it is used, and its bytes."""

    label: str
    start: int
    end: int
    offset: int
    size: int


@dataclass(frozen=True)
class Picture:
    """The plan of one function: what each step is called, the buffers, and how large the arena is."""

    title: str
    steps: Sequence[str]
    boxes: Sequence[Box]
    peak: int

    def svg(self) -> str:
        """A vector graphic that needs nothing else; the names are shown where the pointer rests."""
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
        for number, box in enumerate(self.boxes):
            x, w = left + box.start * across, (1 + box.end - box.start) * across
            y, h = top + height - (box.offset + box.size) * up, box.size * up
            colour = f"hsl({number * 137 % 360}, 60%, 70%)"  # the golden angle: neighbours differ
            title = f"{box.label}: {box.size} bytes at {box.offset}, steps {box.start} to {box.end}"
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
        """A chart of 72 columns and up to 40 rows, highest offset first, and the list of the buffers."""
        columns, rows = min(72, max(len(self.steps), 1)), 40
        row_bytes = max(-(-self.peak // rows), 1)
        chart = [["."] * columns for _ in range(-(-self.peak // row_bytes))]
        listed: list[str] = []
        for number, box in enumerate(self.boxes):
            mark = _MARKS[number % len(_MARKS)]
            first, last = (step * columns // max(len(self.steps), 1) for step in (box.start, box.end))
            for row in range(box.offset // row_bytes, -(-(box.offset + box.size) // row_bytes)):
                chart[row][first : last + 1] = mark * (1 + last - first)
            listed.append(f"{mark}  {box.offset:>10} {box.size:>10}  {box.start:>5}-{box.end:<5}  {box.label}")
        lines = [f"{_bytes(row * row_bytes):>10} |{''.join(cells)}" for row, cells in enumerate(chart)]
        heading = "       offset       size  steps        buffer"
        return "\n".join([self.title, "", *reversed(lines), "", heading, *listed, ""])

    def write(self, path: Path) -> None:
        """Write the picture as the suffix of `path` says. Raises `DiagnosticError` where that is none of the two."""
        kinds = {".svg": self.svg, ".txt": self.text}
        if path.suffix not in kinds:
            raise text_error(f"cannot draw a memory plan as '{path}': the file name must end in {' or '.join(kinds)}")
        write_file(path, kinds[path.suffix]())


_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _bytes(size: int) -> str:
    """`1.5 MiB`: a size for people."""
    thousands = max(size.bit_length() - 1, 0) // 10
    return f"{size / 1024**thousands:.4g} {_UNITS[thousands]}"
