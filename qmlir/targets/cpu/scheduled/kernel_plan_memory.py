"""`kernel-plan-memory`: all buffers of a function in one arena, each where nothing else lives meanwhile."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i8
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import WritesFiles, count
from qmlir.ir.provenance import origins_of
from qmlir.levels import check_level
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.scheduled.arena import (
    ArenaPlan,
    Box,
    Buffer,
    Lifetimes,
    Picture,
    aligned,
    most_alive,
    names_of,
    place,
)
from qmlir.targets.cpu.scheduled.bufferization.rewriting import allocation

_NO_NAME = re.compile(r"[^\w.-]")
"""What doesn't stand in the names of files that have those of functions."""

SLACK = ALIGNMENT
"""Bytes behind the last buffer: a vector load may read past the end of what it needs."""


def _called(op: Operation) -> str:
    if not isinstance(op, CallOp):
        return ""
    origins = ", ".join(map(str, origins_of(op)))
    return f"@{op.callee.string_value()}" + (f" ({origins})" if origins else "")


def _picture(function: FuncOp, lifetimes: Lifetimes, buffers: list[Buffer], layout: ArenaPlan) -> Picture:
    boxes = [
        Box(names_of(buffer), buffer.start, buffer.end, offset, buffer.size)
        for buffer, offset in zip(buffers, layout.offsets, strict=True)
    ]
    title = f"@{function.sym_name.data}: {layout.peak} bytes for {len(boxes)} buffers"
    return Picture(title, [_called(op) for op in lifetimes.operations()], boxes, layout.peak)


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
    """Place the buffers of each public function in one arena, without overlap between buffers alive at the same time.

    A buffer lives from its first use to its last; one that a loop uses lives as long as the loop. The output of a
    kernel reuses the memory of an input that ends there if `kernel.may_overwrite` allows it. Buffers are aligned to 64
    bytes, and 64 bytes follow the last one. A remark reports the size of the arena, the sum of all buffers, and the
    lower bound: the most bytes alive at one time. `plan_file` is the file for a picture of the plan, `.svg` or `.txt`;
    with several functions, the function name is added before the suffix.

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
        wanted = [buffer.lifetime() for buffer in buffers]
        layout = place(wanted)
        _check_budget(function, layout.peak)
        together = sum(aligned(buffer.size) * len(buffer.allocations) for buffer in buffers)
        lowest = most_alive(wanted)
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
