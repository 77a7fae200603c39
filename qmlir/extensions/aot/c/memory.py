"""Emission of `memref` as C: pointers and offsets.

Helper functions load and store elements wider than a byte bytewise.
"""

import math
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import Operation

from qmlir.extensions.aot.c.elements import element_of, memory_type
from qmlir.extensions.aot.c.function import CWriter
from qmlir.extensions.aot.c.helpers import access
from qmlir.extensions.aot.c.statements import LANE
from qmlir.targets.cpu.emitters.elements import item_size
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import Index, Memory, Text, contiguous_from, name_text

EACH_LANE = Index.of(name_text(LANE))


def pointer(memory: Memory, position: Index) -> str:
    """Returns a C expression for the address at offset `position` of `memory`."""
    return memory.array if position.number == 0 else f"{memory.array} + {position}"


def loaded(write: CWriter, op: Operation, memory: Memory, position: Index) -> Text:
    """Returns a C expression for the element at offset `position` of `memory`."""
    helper = access(memory_type(op, memory.element), "load")
    if helper is not None:
        found = write.call(helper, pointer(memory, position))
        return Text(found.text, position.reads)
    text = Text(f"{memory.array}[{position}]", position.reads)
    element = element_of(op, memory.element)
    return write.call(f"wrap_{element.name}", text) if element.bits < element.held_bits and element.bits > 1 else text


def stored(write: CWriter, op: Operation, memory: Memory, position: Index, value: Text) -> str:
    """Returns the statement that stores `value` at offset `position` of `memory`."""
    helper = access(memory_type(op, memory.element), "store")
    if helper is not None:
        return f"{write.call(helper, pointer(memory, position), value)};"
    is_bool = element_of(op, memory.element).bits == 1
    return f"{memory.array}[{position}] = {f'(int8_t){value.inner}' if is_bool else value};"


def keep_loaded(write: CWriter, op: Operation, memory: Memory, position: Index) -> None:
    """Defines the result of `op`, if it is used, as the element at offset `position` of `memory`."""
    if op.results[0].uses:
        write.keep(op.results[0], loaded(write, op, memory, position), loads=True)


def _load(write: CWriter, op: memref.LoadOp) -> None:
    keep_loaded(write, op, *write.element_place(op, op.memref, op.indices))


def _store(write: CWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    value = write.text(op.value)
    write.line(stored(write, op, memory, position, value), value, position)


def _alloca(write: CWriter, op: memref.AllocaOp) -> None:
    count, kind = write.scratch_count(op), memory_type(op, op.memref.type.get_element_type())
    name = write.names.new(write.hint(op.memref, "scratch"))
    if kind == "int8_t":  # may be viewed as memory of larger elements
        words = write.names.new(f"{name}_words")
        write.line(f"int64_t {words}[{max(-(-count // 8), 1)}];")
        write.line(f"int8_t *const {name} = (int8_t *){words};")
    else:
        write.line(f"{kind} {name}[{max(count, 1)}];")
    write.array_memory(op, op.memref, name)


def _view(write: CWriter, op: memref.ViewOp) -> None:
    source, start, _ = write.viewed_bytes(op)
    name = write.names.new(write.hint(op.result, "buffer"))
    kind = memory_type(op, op.result.type.get_element_type())
    through = "" if kind == "int8_t" else f"({kind} *)(void *)"
    pointed = pointer(source, start)
    write.line(f"{kind} *const {name} = {through}{f'({pointed})' if through and ' ' in pointed else pointed};", start)
    write.array_memory(op, op.result, name)


def _copy(write: CWriter, op: memref.CopyOp) -> None:
    source, target = write.memory(op.source), write.memory(op.destination)
    run = contiguous_from(source, target)
    count, depth, indices = math.prod(source.shape[run:]), write.depth, list[Index]()
    if not count:
        return
    for size in source.shape[:run]:
        name = write.names.new("i")
        write.line(f"for (int32_t {name} = 0; {name} < {size}; {name}++)")
        write.depth += 1
        indices.append(Index.of(name_text(name)))
    inner = [*indices, *[Index()] * (len(source.shape) - run)]
    positions = (pointer(target, target.position(inner)), pointer(source, source.position(inner)))
    write.line(f"memmove({positions[0]}, {positions[1]}, {count * item_size(source.element)});")
    write.depth = depth


EMISSIONS: dict[type[Operation], Any] = {
    **VIEWS,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    memref.ViewOp: _view,
    memref.CopyOp: _copy,
}
