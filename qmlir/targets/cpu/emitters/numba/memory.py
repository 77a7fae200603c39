"""Emits `memref` as Python: loads, stores and copies at computed positions of flat arrays. Most views emit no code."""

import math
from contextlib import ExitStack
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from qmlir.targets.cpu.emitters.elements import item_size, memory_name, register_name
from qmlir.targets.cpu.emitters.numba.function import FunctionWriter
from qmlir.targets.cpu.emitters.numba.scalars import WHOLE, as_register
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, contiguous_from, name_text


def as_memory(write: FunctionWriter, op: Operation, memory: Memory, value: Text) -> Text:
    """Converts a value in a register to its representation in memory, in which a true i1 is 1."""
    name = register_name(op, memory.element)
    if name in WHOLE:
        return value
    if name in ("f16", "bf16"):
        return write.call("bits_i16", value)
    held = f"i{8 * item_size(memory.element)}"
    return write.call(f"unsigned_{held}" if name == "i1" else held, value)


def load_value(
    write: FunctionWriter, op: Operation, result: SSAValue, memory: Memory, name: str, *operands: Text | Index | int
) -> None:
    """Binds `result` to the value that the runtime operation `name` loads from `memory`."""
    loaded = write.call(name, Text(memory.array), *operands)
    value = as_register(write, register_name(op, memory.element), loaded)
    if result.uses:
        write.keep(result, value)


def _load(write: FunctionWriter, op: memref.LoadOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    load_value(write, op, op.res, memory, "load", position)


def _store(write: FunctionWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    write.run("store", Text(memory.array), position, as_memory(write, op, memory, write.text(op.value)))


def _alloca(write: FunctionWriter, op: memref.AllocaOp) -> None:
    count, kind = write.scratch_count(op), memory_name(op, op.memref.type.get_element_type())
    name = write.names.new(write.hint(op.memref, "scratch"))
    made = write.call("scratch", count, f'"{kind}"')
    write.line(f"{name} = {made}")
    write.array_memory(op, op.memref, name)


def _view(write: FunctionWriter, op: memref.ViewOp) -> None:
    source, start, count = write.viewed_bytes(op)
    name = write.names.new(write.hint(op.result, "buffer"))
    made = write.call(
        "view", Text(source.array), start, count, f'"{memory_name(op, op.result.type.get_element_type())}"'
    )
    write.line(f"{name} = {made}")
    write.array_memory(op, op.result, name)


def _copy(write: FunctionWriter, op: memref.CopyOp) -> None:
    source, target = write.memory(op.source), write.memory(op.destination)
    run = contiguous_from(source, target)
    count = math.prod(source.shape[run:])
    with ExitStack() as nest:
        inner = [Index()] * len(source.shape)
        for axis, size in enumerate(source.shape[:run]):
            name = write.names.new("i")
            nest.enter_context(write.indented(f"for {name} in range({size})"))
            inner[axis] = Index.of(name_text(name))
        if count:
            into, from_ = target.position(inner), source.position(inner)
            write.run("copy", Text(target.array), into, Text(source.array), from_, count)


EMISSIONS: dict[type[Operation], Any] = {
    **VIEWS,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    memref.ViewOp: _view,
    memref.CopyOp: _copy,
}
