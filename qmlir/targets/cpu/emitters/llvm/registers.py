"""Emits `memref`, `vector` and `simd` as LLVM IR: accesses of memory at computed addresses, registers, register tiles.

Views emit only address arithmetic. Dot products use the target's instructions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

from xdsl.dialects import memref, vector
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.simd import lanes as simd_lanes
from qmlir.dialects.simd import memory as simd_memory
from qmlir.dialects.simd.base import as_vector, is_tile, lanes_of, tile_of
from qmlir.dialects.simd.lanes import moved_places
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import item_size, register_name
from qmlir.targets.cpu.emitters.llvm.control import counted
from qmlir.targets.cpu.emitters.llvm.function import IRWriter, held_type
from qmlir.targets.cpu.emitters.llvm.scalars import fused, splatted
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.views import VIEWS
from qmlir.targets.cpu.emitters.writing import Index, Memory, contiguous_from, instruction_of, offsets_of
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.runtime.semantics import lanes
from qmlir.targets.cpu.runtime.semantics.arithmetic import fold_of, resized, same_bits
from qmlir.targets.cpu.runtime.semantics.values import I32, I64, PTR, IRValue, Type, type_of

# --- Memory -----------------------------------------------------------------------------------------------------------


def _as_memory(write: IRWriter, op: Operation, memory: Memory, value: IRValue) -> IRValue:
    """Converts a value in a register to its representation in memory, in which a true i1 is 1."""
    held = held_type(op, memory.element)
    if value.type.is_half:
        return IRValue(value.type.of("i16"), value.text)
    if value.type.is_float:
        return value
    return resized(write.build, value, held.element, is_signed=value.type.bits > 1)


def _as_register(write: IRWriter, op: Operation, memory: Memory, loaded: IRValue) -> IRValue:
    """Converts loaded elements to their representation in registers."""
    element = register_name(op, memory.element)
    if type_of(element if element != "index" else "i64").text == loaded.type.scalar().text:
        return IRValue(loaded.type.of("i64" if element == "index" else element), loaded.text)
    return resized(write.build, loaded, element, is_signed=True)


def _define_loaded(write: IRWriter, op: Operation, result: SSAValue, memory: Memory, loaded: IRValue) -> None:
    """Binds `result` to elements loaded from `memory`, converted to their representation in registers."""
    write.define(result, _as_register(write, op, memory, loaded))


def _load_element(write: IRWriter, op: memref.LoadOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    pointer = write.pointer(op, memory, position)
    loaded = write.build.load(held_type(op, memory.element), pointer, write.align(memory))
    _define_loaded(write, op, op.res, memory, loaded)


def _store_element(write: IRWriter, op: memref.StoreOp) -> None:
    memory, position = write.element_place(op, op.memref, op.indices)
    value = _as_memory(write, op, memory, write.value(op.value))
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
    count = prod(source.shape[run:])
    if not prod(source.shape):
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


def _held(op: Operation, memory: Memory, lanes: int) -> Type:
    """Returns the LLVM type of `lanes` elements in memory."""
    return type_of(held_type(op, memory.element).element, lanes)


def _pointers(write: IRWriter, op: Operation, memory: Memory, position: Index, offsets: Sequence[int]) -> Iterator[str]:
    return (write.pointer(op, memory, position.plus(Index(constant=offset))) for offset in offsets)


def _load(write: IRWriter, op: simd_memory.LoadOp | vector.LoadOp) -> None:
    offsets = offsets_of(op, op.result)
    memory, position = write.row_place(op, op.operands[0], op.indices, lanes_of(op.result) + max(offsets), SLACK)
    type_, align = _held(op, memory, lanes_of(op.result)), write.align(memory)
    loaded = (write.build.load(type_, pointer, align) for pointer in _pointers(write, op, memory, position, offsets))
    write.bind([op.result], [_as_register(write, op, memory, each) for each in loaded])


def _load_partial(write: IRWriter, op: simd_memory.LoadPartialOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.result))
    type_ = _held(op, memory, lanes_of(op.result))
    pointer = write.pointer(op, memory, position)
    mask = lanes.below(write.build, write.value(op.count), type_.lanes)
    nothing = IRValue(type_, "zeroinitializer")
    loaded = lanes.masked_load(write.build, pointer, mask, nothing, write.align(memory))
    _define_loaded(write, op, op.result, memory, loaded)


def _load_group_splat(write: IRWriter, op: simd_memory.LoadGroupSplatOp) -> None:
    offsets = offsets_of(op, op.result)
    memory, position = write.row_place(op, op.memory, op.indices, 1 + max(offsets), slack=SLACK)
    type_, align = _held(op, memory, lanes_of(op.result)), write.align(memory)
    count, rest = divmod(type_.lanes * type_.bits, 32)
    if rest:
        raise op_error(op, f"repeats groups of 32 bits in a vector of {type_.lanes * type_.bits} bits")
    groups = (write.build.load(I32, pointer, align) for pointer in _pointers(write, op, memory, position, offsets))
    loaded = (same_bits(write.build, write.build.splat(group, count), type_.element) for group in groups)
    write.bind([op.result], [_as_register(write, op, memory, each) for each in loaded])


def _load_masked(write: IRWriter, op: vector.MaskedLoadOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    others = _as_memory(write, op, memory, write.value(op.pass_thru))
    pointer = write.pointer(op, memory, position)
    loaded = lanes.masked_load(write.build, pointer, write.value(op.mask), others, write.align(memory))
    _define_loaded(write, op, op.result, memory, loaded)


def _store(write: IRWriter, op: simd_memory.StoreOp | vector.StoreOp) -> None:
    offsets, registers = offsets_of(op, op.vector), write.registers(op.vector)
    memory, position = write.row_place(op, op.operands[1], op.indices, lanes_of(op.vector) + max(offsets))
    pointers = _pointers(write, op, memory, position, offsets)
    for register, pointer in zip(registers, pointers, strict=True):
        write.build.store(_as_memory(write, op, memory, register), pointer, write.align(memory))


def _store_partial(write: IRWriter, op: simd_memory.StorePartialOp) -> None:
    memory, position = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.vector))
    value, align = _as_memory(write, op, memory, write.value(op.vector)), write.align(memory)
    pointer, is_x86 = write.pointer(op, memory, position), write.parts.processor.is_x86
    lanes.store_below(write.build, value, pointer, write.value(op.count), align, is_x86=is_x86)


def _store_masked(write: IRWriter, op: vector.MaskedStoreOp) -> None:
    memory, position = write.row_place(op, op.base, op.indices, 0)
    value, mask = _as_memory(write, op, memory, write.value(op.value_to_store)), write.value(op.mask)
    if write.parts.processor.is_x86 and mask.type.lanes <= I64.bits:
        mask = lanes.opaque_mask(write.build, mask)
    lanes.masked_store(write.build, value, write.pointer(op, memory, position), mask, write.align(memory))


def _prefetch(write: IRWriter, op: simd_memory.PrefetchOp) -> None:
    memory = write.memory(op.memory)  # a place that is not there is prefetched without harm
    pointer = write.pointer(op, memory, memory.position([write.index(op.index)]))
    lanes.prefetch(write.build, pointer, op.level.value.data)


def _gather(write: IRWriter, op: simd_memory.GatherOp) -> None:
    memory, positions = write.memory(op.table), write.value(op.positions)
    if memory.offset.number != 0:
        raise op_error(op, "reads a table that must start at the beginning of its array")
    found = lanes.gather(
        write.build, _held(op, memory, positions.type.lanes), memory.array, positions, write.align(memory)
    )
    _define_loaded(write, op, op.result, memory, found)


def _look_up(write: IRWriter, op: simd_memory.LookUpOp) -> None:
    memory, positions = write.memory(op.table), write.value(op.positions)
    table = write.pointer(op, memory, memory.offset)
    write.define(op.result, lanes.look_up(write.build, table, positions, write.parts.has))


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _broadcast(write: IRWriter, op: vector.BroadcastOp) -> None:
    """Repeats a scalar in all lanes, or the registers of a tile along axes of size 1 and along leading axes."""
    if as_vector(op.source.type) is not None:
        _move(write, op)
        return
    splat = splatted(write, write.value(op.source), lanes_of(op.vector))
    write.bind([op.vector], [splat] * prod(tile_of(op.vector)))


def _move(write: IRWriter, op: Operation) -> None:
    """Emits nothing: the result has registers of the operands."""
    places, registers = moved_places(op), write.all_registers(op.operands)
    if places is None:
        raise op_error(op, "must extract a register at a constant position of a tile")
    write.bind(op.results, [registers[place] for place in places])


def _lane_of(write: IRWriter, op: vector.ExtractOp | vector.InsertOp) -> IRValue | int:
    (static,) = integer_list(op.static_position)
    return write.value(op.dynamic_position[0]) if op.dynamic_position else static


def _extract(write: IRWriter, op: vector.ExtractOp) -> None:
    if is_tile(op.vector):
        _move(write, op)
        return
    write.define(op.result, write.build.extract(write.value(op.vector), _lane_of(write, op)))


def _insert(write: IRWriter, op: vector.InsertOp) -> None:
    lane = _lane_of(write, op)
    write.define(op.result, write.build.insert(write.value(op.dest), write.value(op.source), lane))


def _shuffle(write: IRWriter, op: vector.ShuffleOp) -> None:
    numbers = [max(lane, 0) for lane in integer_list(op.mask)]  # any lane will do where none is asked for
    write.define(op.result, lanes.shuffled(write.build, write.value(op.v1), write.value(op.v2), *numbers))


def _create_mask(write: IRWriter, op: vector.CreateMaskOp) -> None:
    (count,) = op.mask_dim_sizes
    write.define(op.mask_vector, lanes.below(write.build, write.value(count), lanes_of(op.mask_vector)))


def _reduction(write: IRWriter, op: vector.ReductionOp) -> None:
    value, start = write.value(op.vector), None if op.acc is None else write.value(op.acc)
    combine = fold_of(op.kind.data.value, value.type, has_extremes=write.parts.processor.has_extremes)
    write.define(op.dest, lanes.folded(write.build, combine, value, start))


def _instruction(write: IRWriter, op: simd_lanes.DotAccumulateOp | simd_lanes.MultiplyPairsOp) -> None:
    """Emits an operation that the module's instruction set must support as a single instruction."""
    name, bits = instruction_of(op, write.parts.isa)
    intrinsic, type_ = write.parts.isa.instructions[name][bits], write.type(op, op.result.type)
    write.define(op.result, lanes.by_intrinsic(write.build, name, intrinsic, type_, write.operands(op)))


def _narrow(write: IRWriter, op: simd_lanes.NarrowOp) -> None:
    result, is_signed = write.type(op, op.result.type), op.unsigned is None
    found = lanes.narrowed(write.build, write.operands(op), result, write.parts.has, is_signed=is_signed)
    write.define(op.result, found)


def _interleave(half: int) -> Callable[[IRWriter, simd_lanes.InterleaveOp], None]:
    def emit(write: IRWriter, op: simd_lanes.InterleaveOp) -> None:
        a, b = write.operands(op)
        write.define(op.result, lanes.interleaved(write.build, a, b, op.block_lanes, half))

    return emit


def _round_to_int(write: IRWriter, op: simd_lanes.RoundToIntOp) -> None:
    value, result = write.value(op.value), write.type(op, op.result.type)
    is_wasm = write.parts.processor.is_wasm
    write.define(op.result, lanes.rounded_to_integer(write.build, value, result, is_wasm=is_wasm))


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
    vector.FMAOp: fused,
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.MaskedLoadOp: _load_masked,
    vector.MaskedStoreOp: _store_masked,
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
    simd_lanes.RoundToIntOp: _round_to_int,
    simd_lanes.NarrowOp: _narrow,
    simd_lanes.InterleaveLowOp: _interleave(0),
    simd_lanes.InterleaveHighOp: _interleave(1),
    simd_lanes.StackOp: _move,
    simd_lanes.TransposeOp: _move,
}
