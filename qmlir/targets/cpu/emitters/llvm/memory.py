"""Emits `memref` as LLVM IR: loads, stores and copies at computed addresses. Views emit only address arithmetic."""

import math
from contextlib import ExitStack
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from qmlir.targets.cpu.emitters.elements import item_size, register_name
from qmlir.targets.cpu.emitters.llvm.control import counted
from qmlir.targets.cpu.emitters.llvm.function import IRWriter, held_type
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import Index, Memory, contiguous_from
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.runtime.semantics.arithmetic import resized
from qmlir.targets.cpu.runtime.semantics.values import PTR, IRValue, type_of


def as_memory(write: IRWriter, op: Operation, memory: Memory, value: IRValue) -> IRValue:
    """Converts a value in a register to its representation in memory, in which a true i1 is 1."""
    held = held_type(op, memory.element)
    if value.type.is_half:
        return IRValue(value.type.of("i16"), value.text)
    if value.type.is_float:
        return value
    return resized(write.build, value, held.element, is_signed=value.type.bits > 1)


def as_register(write: IRWriter, op: Operation, memory: Memory, loaded: IRValue) -> IRValue:
    """Converts loaded elements to their representation in registers."""
    element = register_name(op, memory.element)
    if type_of(element if element != "index" else "i64").text == loaded.type.scalar().text:
        return IRValue(loaded.type.of("i64" if element == "index" else element), loaded.text)
    return resized(write.build, loaded, element, is_signed=True)


def define_loaded(write: IRWriter, op: Operation, result: SSAValue, memory: Memory, loaded: IRValue) -> None:
    """Binds `result` to elements loaded from `memory`, converted to their representation in registers."""
    write.define(result, as_register(write, op, memory, loaded))


def _load(write: IRWriter, op: memref.LoadOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    pointer = write.pointer(op, memory, position)
    loaded = write.build.load(held_type(op, memory.element), pointer, write.align(memory))
    define_loaded(write, op, op.res, memory, loaded)


def _store(write: IRWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    value = as_memory(write, op, memory, write.value(op.value))
    write.build.store(value, write.pointer(op, memory, position), write.align(memory))


def _alloca(write: IRWriter, op: memref.AllocaOp) -> None:
    count, element = write.scratch_count(op), held_type(op, op.memref.type.get_element_type())
    write.array_memory(op, op.memref, write.build.alloca(f"[{max(count, 1)} x {element.text}]", ALIGNMENT))


def _view(write: IRWriter, op: memref.ViewOp) -> None:
    source, start, _ = write.viewed_bytes(op)
    pointer = write.pointer(op, source, start)
    if pointer != source.array:
        write.point(pointer, source.array, start, 1)
    write.array_memory(op, op.result, pointer)


def _copy(write: IRWriter, op: memref.CopyOp) -> None:
    source, target = write.memory(op.source), write.memory(op.destination)
    run = contiguous_from(source, target)
    count = math.prod(source.shape[run:])
    if not math.prod(source.shape):
        return
    with ExitStack() as nest:
        indices = [nest.enter_context(counted(write, size)) for size in source.shape[:run]]
        inner = [*indices, *[Index()] * (len(source.shape) - run)]
        into, from_ = (write.pointer(op, each, each.position(inner)) for each in (target, source))
        _copy_bytes(write, into, from_, count * item_size(source.element))


def _copy_bytes(write: IRWriter, into: str, from_: str, size: int) -> None:
    """Emits a copy that is skipped if source and target are the same, as for state that the caller updates in place."""
    build = write.build
    yes, after = build.new("copy"), build.new("after")
    build.branch(build.compare("icmp ne", IRValue(PTR, into), IRValue(PTR, from_)), yes, after)
    build.begin(yes)
    build.declarations["llvm.memmove.p0.p0.i64"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1 immarg)"
    build.line(f"call void @llvm.memmove.p0.p0.i64(ptr {into}, ptr {from_}, i64 {size}, i1 false)")
    build.jump(after)
    build.begin(after)


EMISSIONS: dict[type[Operation], Any] = {
    **VIEWS,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    memref.ViewOp: _view,
    memref.CopyOp: _copy,
}
