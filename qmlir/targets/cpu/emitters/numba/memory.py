"""Emits `memref` as Python: loads, stores and copies at computed positions of flat arrays. Most views emit no code."""

import math
from typing import cast

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from qmlir.targets.cpu.emitters.elements import item_size, memory_name, register_name
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter
from qmlir.targets.cpu.emitters.numba.scalars import WHOLE, as_register
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, contiguous_from


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
        text = str(value)
        write.line(f"{write.variable(result)} = {text}")


def _load(write: FunctionWriter, op: memref.LoadOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    load_value(write, op, op.res, memory, "load", position)


def _store(write: FunctionWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    value = as_memory(write, op, memory, write.text(op.value))
    write.line(str(write.call("store", Text(memory.array), position, value)))


def _alloca(write: FunctionWriter, op: memref.AllocaOp) -> None:
    count, kind = write.scratch_count(op), memory_name(op, op.memref.type.get_element_type())
    name = write.names.new(write.hint(op.memref, "scratch"))
    write.line(f"{name} = {write.call('scratch', count, _quoted(kind))}")
    write.array_memory(op, op.memref, name)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _view(write: FunctionWriter, op: memref.ViewOp) -> None:
    source, start, count = write.viewed_bytes(op)
    name = write.names.new(write.hint(op.result, "buffer"))
    kind = _quoted(memory_name(op, op.result.type.get_element_type()))
    write.line(f"{name} = {write.call('view', Text(source.array), start, count, kind)}")
    write.array_memory(op, op.result, name)


def _copy(write: FunctionWriter, op: memref.CopyOp) -> None:
    source, target = write.memory(op.source), write.memory(op.destination)
    run = contiguous_from(source, target)
    depth = write.depth
    indices: list[Index] = []
    for size in source.shape[:run]:
        name = write.names.new("i")
        write.line(f"for {name} in range({size}):")
        write.depth += 1
        indices.append(Index.of(Text(name, frozenset({name}))))
    inner = [*indices, *[Index()] * (len(source.shape) - run)]
    count = math.prod(source.shape[run:])
    positions = target.position(inner), source.position(inner)
    if count:
        call = write.call("copy", Text(target.array), positions[0], Text(source.array), positions[1], count)
        write.line(str(call))
    else:
        write.line("pass")
    write.depth = depth


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        **VIEWS,
        memref.LoadOp: _load,
        memref.StoreOp: _store,
        memref.AllocaOp: _alloca,
        memref.ViewOp: _view,
        memref.CopyOp: _copy,
    },
)
