"""Emits `memref`, `vector` and `simd` as calls of runtime operations on flat arrays, registers and register tiles.

Elements are loaded, stored and copied at computed positions of flat arrays; most views emit no code.
"""

import math
from contextlib import ExitStack
from typing import Any

from xdsl.dialects import memref, vector
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.simd import lanes as simd_lanes
from qmlir.dialects.simd import memory as simd_memory
from qmlir.dialects.simd.base import as_vector, bits_of, element_of, lanes_of, tile_of
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import item_size, memory_name, register_name
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter
from qmlir.targets.cpu.emitters.numba.scalars import WHOLE, as_register, infix
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import (
    Index,
    Memory,
    Text,
    contiguous_from,
    instruction_of,
    name_text,
    offsets_of,
)

# --- Memory -----------------------------------------------------------------------------------------------------------


def _as_memory(write: FunctionWriter, op: Operation, memory: Memory, value: Text) -> Text:
    """Converts a value in a register to its representation in memory, in which a true i1 is 1."""
    name = register_name(op, memory.element)
    if name in WHOLE:
        return value
    if name in ("f16", "bf16"):
        return write.call("bits_i16", value)
    held = f"i{8 * item_size(memory.element)}"
    return write.call(f"unsigned_{held}" if name == "i1" else held, value)


def _load_value(
    write: FunctionWriter, op: Operation, result: SSAValue, memory: Memory, name: str, *operands: Text | Index | int
) -> None:
    """Binds `result` to the value that the runtime operation `name` loads from `memory`."""
    loaded = write.call(name, Text(memory.array), *operands)
    value = as_register(write, register_name(op, memory.element), loaded)
    if result.uses:
        write.keep(result, value)


def _load_element(write: FunctionWriter, op: memref.LoadOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    _load_value(write, op, op.res, memory, "load", position)


def _store_element(write: FunctionWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    write.run("store", Text(memory.array), position, _as_memory(write, op, memory, write.text(op.value)))


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


def _strides(op: Operation) -> tuple[int, ...]:
    strides = op.strides if isinstance(op, simd_memory.TileTransferOp) else None
    return () if strides is None else tuple(integer_list(strides))


def _shape(op: Operation, value: SSAValue) -> tuple[int, ...]:
    """Returns the sizes of a tile, and the distances in memory along its axes."""
    return (*tile_of(value), *_strides(op))


def _load(write: FunctionWriter, op: simd_memory.LoadOp | vector.LoadOp) -> None:
    offsets = offsets_of(op, op.result)
    memory, position = write.row_place(op, op.operands[0], op.indices, lanes_of(op.result) + max(offsets), SLACK)
    _load_value(write, op, op.result, memory, "load", position, lanes_of(op.result), *_shape(op, op.result))


def _load_partial(write: FunctionWriter, op: simd_memory.LoadPartialOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.result))
    _load_value(write, op, op.result, memory, "load_partial", position, write.index(op.count), lanes_of(op.result))


def _load_group_splat(write: FunctionWriter, op: simd_memory.LoadGroupSplatOp) -> None:
    offsets, shape = offsets_of(op, op.result), _shape(op, op.result)
    memory, position = write.row_place(op, op.memory, op.indices, 1 + max(offsets), slack=SLACK)
    _load_value(write, op, op.result, memory, "load_group_splat", position, lanes_of(op.result), *shape)


def _masked_load(write: FunctionWriter, op: vector.MaskedLoadOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    others = _as_memory(write, op, memory, write.text(op.pass_thru))
    _load_value(write, op, op.result, memory, "load_masked", position, write.text(op.mask), others)


def _store(write: FunctionWriter, op: simd_memory.StoreOp | vector.StoreOp) -> None:
    offsets = offsets_of(op, op.vector)
    memory, position = write.row_place(op, op.operands[1], op.indices, lanes_of(op.vector) + max(offsets))
    value = _as_memory(write, op, memory, write.text(op.vector))
    write.run("store", Text(memory.array), position, value, *_strides(op))


def _store_partial(write: FunctionWriter, op: simd_memory.StorePartialOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.vector))
    value = _as_memory(write, op, memory, write.text(op.vector))
    write.run("store_partial", Text(memory.array), position, value, write.index(op.count))


def _prefetch(write: FunctionWriter, op: simd_memory.PrefetchOp) -> None:
    memory = write.memory(op.memory)  # a place that is not there is prefetched without harm
    write.run("prefetch", Text(memory.array), memory.position([write.index(op.index)]), op.level.value.data)


def _masked_store(write: FunctionWriter, op: vector.MaskedStoreOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    value = _as_memory(write, op, memory, write.text(op.value_to_store))
    write.run("store_masked", Text(memory.array), position, write.text(op.mask), value)


def _gather(write: FunctionWriter, op: simd_memory.GatherOp) -> None:
    memory = write.memory(op.table)
    positions = write.text(op.positions)
    if memory.offset.number != 0:
        raise op_error(op, "reads a table that must start at the beginning of its array")
    _load_value(write, op, op.result, memory, "gather", positions)


def _look_up(write: FunctionWriter, op: simd_memory.LookUpOp) -> None:
    memory = write.memory(op.table)
    write.define(op.result, write.call("look_up", Text(memory.array), memory.offset, write.text(op.positions)))


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _broadcast(write: FunctionWriter, op: vector.BroadcastOp) -> None:
    value = write.text(op.source)
    if as_vector(op.source.type) is None:
        value = write.call("splat", value, lanes_of(op.vector))
    tile = tile_of(op.vector)
    write.define(op.vector, write.call("repeat", value, *tile) if tile else value)


def _stack(write: FunctionWriter, op: simd_lanes.StackOp) -> None:
    tile = tile_of(op.result)
    shape = tile[: len(tile) - len(tile_of(op.values[0]))]
    write.define(op.result, write.call("stack", *map(write.text, op.values), *shape))


def _extract(write: FunctionWriter, op: vector.ExtractOp) -> None:
    if tile := tile_of(op.vector):
        position = integer_list(op.static_position)
        if op.dynamic_position or len(position) > len(tile):
            raise op_error(op, "must extract a register at a constant position of a tile")
        write.define(op.result, write.call("register", write.text(op.vector), *position))
        return
    write.define(op.result, write.call("lane", write.text(op.vector), write.lane_index(op)))


def _insert(write: FunctionWriter, op: vector.InsertOp) -> None:
    lane = write.lane_index(op)
    write.define(op.result, write.call("with_lane", write.text(op.dest), lane, write.text(op.source)))


def _shuffle(write: FunctionWriter, op: vector.ShuffleOp) -> None:
    lanes = (max(lane, 0) for lane in integer_list(op.mask))  # any lane will do where none is asked for
    write.define(op.result, write.call("shuffle", write.text(op.v1), write.text(op.v2), *lanes))


def _create_mask(write: FunctionWriter, op: vector.CreateMaskOp) -> None:
    (count,) = op.mask_dim_sizes
    write.define(op.mask_vector, write.call("lanes_below", write.index(count), lanes_of(op.mask_vector)))


def _called(name: str) -> EmitOperation:
    """Returns a function that emits a call of the runtime operation `name` with all operands."""

    def emit(write: FunctionWriter, op: Operation) -> None:
        write.define(op.results[0], write.call(name, *map(write.text, op.operands)))

    return emit


_OPERATORS = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}


def _reduction(write: FunctionWriter, op: vector.ReductionOp) -> None:
    name, value = op.kind.data.value, write.text(op.vector)
    if op.acc is None:
        write.define(op.dest, write.call(f"fold_{name}", value))
        return
    found = write.text(op.acc)  # it comes first: floats are not associative
    for lane in range(lanes_of(op.vector)):
        each = write.call("lane", value, lane)
        found = infix(_OPERATORS[name], found, each) if name in _OPERATORS else write.call(name, found, each)
        kept = write.names.new("folded")
        write.line(f"{kept} = {found}")
        found = name_text(kept)
    write.define(op.dest, found)


def _instruction(write: FunctionWriter, op: simd_lanes.DotAccumulateOp | simd_lanes.MultiplyPairsOp) -> None:
    """Emits an operation that the module's instruction set must support as a single instruction."""
    name, _ = instruction_of(op, write.tables.isa)
    write.tables.instructions.add(name)
    write.define(op.result, write.called(name, *map(write.text, op.operands)))


def _narrow(write: FunctionWriter, op: simd_lanes.NarrowOp) -> None:
    kind = "i" if op.unsigned is None else "u"
    name = f"narrow_{kind}{bits_of(element_of(op.result))}"
    write.define(op.result, write.call(name, *map(write.text, op.values)))


def _interleave(write: FunctionWriter, op: simd_lanes.InterleaveOp) -> None:
    name = op.name.removeprefix("simd.")
    write.define(op.result, write.call(name, write.text(op.lhs), write.text(op.rhs), op.block_lanes))


EMISSIONS: dict[type[Operation], Any] = {
    **VIEWS,
    memref.AllocaOp: _alloca,
    memref.CopyOp: _copy,
    memref.LoadOp: _load_element,
    memref.StoreOp: _store_element,
    memref.ViewOp: _view,
    vector.BroadcastOp: _broadcast,
    vector.CreateMaskOp: _create_mask,
    vector.ExtractOp: _extract,
    vector.FMAOp: _called("fma"),
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.ReductionOp: _reduction,
    vector.ShuffleOp: _shuffle,
    vector.StoreOp: _store,
    simd_memory.LoadOp: _load,
    simd_memory.LoadPartialOp: _load_partial,
    simd_memory.LoadGroupSplatOp: _load_group_splat,
    simd_memory.PrefetchOp: _prefetch,
    simd_memory.StoreOp: _store,
    simd_memory.StorePartialOp: _store_partial,
    simd_memory.GatherOp: _gather,
    simd_memory.LookUpOp: _look_up,
    simd_lanes.DotAccumulateOp: _instruction,
    simd_lanes.MultiplyPairsOp: _instruction,
    simd_lanes.RoundToIntOp: _called("round_to_int"),
    simd_lanes.NarrowOp: _narrow,
    simd_lanes.SelectOp: _called("select"),
    simd_lanes.InterleaveLowOp: _interleave,
    simd_lanes.InterleaveHighOp: _interleave,
    simd_lanes.ReduceAddOp: _called("reduce_add"),
    simd_lanes.StackOp: _stack,
    simd_lanes.TransposeOp: _called("turned"),
}
