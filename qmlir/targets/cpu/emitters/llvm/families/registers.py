"""`vector` and `simd` in LLVM IR: registers of one axis; dot products are the instructions that the target names."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.simd import lanes as simd_lanes
from qmlir.dialects.simd import memory as simd_memory
from qmlir.dialects.simd.base import bits_of, element_of, lanes_of
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.llvm.arithmetic import compared, fold_of, reduced_halves
from qmlir.targets.cpu.emitters.llvm.builder import Builder
from qmlir.targets.cpu.emitters.llvm.conversions import same_bits
from qmlir.targets.cpu.emitters.llvm.families.memory import as_memory, define_loaded
from qmlir.targets.cpu.emitters.llvm.families.scalars import define_bits, define_converted, fused, splatted
from qmlir.targets.cpu.emitters.llvm.function import EmitOperation, IRWriter, held_type
from qmlir.targets.cpu.emitters.llvm.values import I32, I64, IRValue, Type, integer, poison, type_of
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.text import Index
from qmlir.targets.cpu.emitters.writing import Memory
from qmlir.targets.cpu.isa.base import DOT_PAIRS, MULTIPLY_PAIRS

# --- Memory -----------------------------------------------------------------------------------------------------------


def _held(op: Operation, memory: Memory, lanes: int) -> Type:
    """The type of so many elements as memory holds them."""
    return type_of(held_type(op, memory.element).element, lanes)


def _load(write: IRWriter, op: simd_memory.LoadOp | vector.LoadOp) -> None:
    memory, place = write.row_place(op, op.operands[0], op.indices, lanes_of(op.result), SLACK)
    type_ = _held(op, memory, lanes_of(op.result))
    loaded = write.build.load(type_, write.pointer(op, memory, place), write.align(memory))
    define_loaded(write, op, op.result, memory, loaded)


def _below(write: IRWriter, count: IRValue, lanes: int) -> IRValue:
    """The lanes below a count."""
    numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
    places = IRValue(type_of("i64", lanes), f"<{numbers}>")
    return write.build.compare("icmp slt", places, write.build.splat(count, lanes))


def _masked_load(write: IRWriter, pointer: str, mask: IRValue, others: IRValue, align: int) -> IRValue:
    """The elements where the mask holds, those of `others` elsewhere; nothing else is read."""
    name, type_ = f"llvm.masked.load.{others.type.suffix}.p0", others.type
    where = IRValue(type_of("ptr"), pointer)
    return write.build.call(name, type_, [where, integer(I32, align), mask, others])


def _load_partial(write: IRWriter, op: simd_memory.LoadPartialOp) -> None:
    memory, place = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.result))
    type_ = _held(op, memory, lanes_of(op.result))
    pointer = write.pointer(op, memory, place)
    mask = _below(write, write.value(op.count), type_.lanes)
    nothing = IRValue(type_, "zeroinitializer")
    define_loaded(write, op, op.result, memory, _masked_load(write, pointer, mask, nothing, write.align(memory)))


def _load_group_splat(write: IRWriter, op: simd_memory.LoadGroupSplatOp) -> None:
    memory, place = write.row_place(op, op.memory, op.indices, slack=SLACK)
    type_ = _held(op, memory, lanes_of(op.result))
    lanes, rest = divmod(type_.lanes * type_.bits, 32)
    if rest:
        raise op_error(op, f"repeats groups of 32 bits in a vector of {type_.lanes * type_.bits} bits")
    group = write.build.load(I32, write.pointer(op, memory, place), write.align(memory))
    loaded = same_bits(write.build, write.build.splat(group, lanes), type_.element)
    define_loaded(write, op, op.result, memory, loaded)


def _load_masked(write: IRWriter, op: vector.MaskedLoadOp) -> None:
    memory, place = write.row_place(op, op.base, op.indices, 0)
    others = as_memory(write, op, memory, write.value(op.pass_thru))
    pointer = write.pointer(op, memory, place)
    loaded = _masked_load(write, pointer, write.value(op.mask), others, write.align(memory))
    define_loaded(write, op, op.result, memory, loaded)


def _store(write: IRWriter, op: simd_memory.StoreOp | vector.StoreOp) -> None:
    memory, place = write.row_place(op, op.operands[1], op.indices, lanes_of(op.vector))
    value = as_memory(write, op, memory, write.value(op.vector))
    write.build.store(value, write.pointer(op, memory, place), write.align(memory))


def _unseen(write: IRWriter, number: IRValue) -> IRValue:
    """`number`, an i64, such that LLVM never learns its value.

    LLVM 22 for x86 makes one store of a masked one whose mask is known to have a single lane, and takes the lane before
    it was truncated: a byte out of an i32 writes three more bytes after it. It may learn a count long after emission,
    where it unrolls a loop.
    """
    return write.build.unseen(number, "=r") if write.parts.processor.is_x86 else number


def _masked_store(write: IRWriter, value: IRValue, pointer: str, mask: IRValue, align: int) -> None:
    """Write the elements where the mask holds, and nothing else."""
    where = IRValue(type_of("ptr"), pointer)
    write.build.call(f"llvm.masked.store.{value.type.suffix}.p0", None, [value, where, integer(I32, align), mask])


def _store_partial(write: IRWriter, op: simd_memory.StorePartialOp) -> None:
    memory, place = write.row_place(op, op.memory, op.indices, write.known_count(op.count, op.vector))
    value, number = as_memory(write, op, memory, write.value(op.vector)), write.index(op.count).number
    pointer = write.pointer(op, memory, place)
    if number == 1:
        write.build.store(write.build.extract(value, 0), pointer, write.align(memory))
        return
    count = write.value(op.count) if number is not None else _unseen(write, write.value(op.count))
    _masked_store(write, value, pointer, _below(write, count, value.type.lanes), write.align(memory))


def _store_masked(write: IRWriter, op: vector.MaskedStoreOp) -> None:
    memory, place = write.row_place(op, op.base, op.indices, 0)
    value, mask = as_memory(write, op, memory, write.value(op.value_to_store)), write.value(op.mask)
    build, bits = write.build, type_of(f"i{mask.type.lanes}")
    if write.parts.processor.is_x86 and mask.type.lanes <= I64.bits:
        known = build.cast("zext", build.cast("bitcast", mask, bits), I64)
        mask = build.cast("bitcast", build.cast("trunc", _unseen(write, known), bits), mask.type)
    _masked_store(write, value, write.pointer(op, memory, place), mask, write.align(memory))


def _prefetch(write: IRWriter, op: simd_memory.PrefetchOp) -> None:
    memory = write.memory(op.memory)  # a place that is not there is prefetched without harm
    pointer = write.pointer(op, memory, memory.place([write.index(op.index)]))
    # To read; 3 is the nearest level; data.
    numbers = [integer(I32, number) for number in (0, 4 - op.level.value.data, 1)]
    write.build.call("llvm.prefetch.p0", None, [IRValue(type_of("ptr"), pointer), *numbers])


def _gather(write: IRWriter, op: simd_memory.GatherOp) -> None:
    memory, places, build = write.memory(op.table), write.value(op.places), write.build
    if memory.offset.number != 0:
        raise op_error(op, "reads a table that must start at the beginning of its array")
    type_ = _held(op, memory, places.type.lanes)
    found = poison(type_)
    for lane in range(type_.lanes):
        index = build.cast("sext", build.extract(places, lane), I64)
        pointer = build.element_at(type_.scalar(), memory.array, index.text)
        found = build.insert(found, build.load(type_.scalar(), pointer, write.align(memory)), lane)
    define_loaded(write, op, op.result, memory, found)


_TABLE, _WIDE = 256, 64
"""The bytes of a table, and of the registers that hold a quarter of it."""


def _look_up(write: IRWriter, op: simd_memory.LookUpOp) -> None:
    """A table of 256 bytes at unsigned places: out of four registers where an instruction permutes bytes of two."""
    memory, places = write.memory(op.table), write.value(op.places)
    table = write.pointer(op, memory, memory.place([Index()]))
    look = _looked_up_in_registers if write.parts.has("avx512vbmi") else _looked_up_in_memory
    write.define(op.result, look(write.build, table, places))


def _looked_up_in_memory(build: Builder, table: str, places: IRValue) -> IRValue:
    found = poison(places.type)
    for lane in range(places.type.lanes):
        number = build.cast("zext", build.extract(places, lane), I64)
        loaded = build.load(places.type.scalar(), build.element_at(places.type.scalar(), table, number.text), 1)
        found = build.insert(found, loaded, lane)
    return found


def _looked_up_in_registers(build: Builder, table: str, places: IRValue) -> IRValue:
    wide, byte = type_of("i8", _WIDE), type_of("i8")
    every = _resized(build, places, _WIDE)
    parts = [build.load(wide, build.element_at(byte, table, str(start)), 1) for start in range(0, _TABLE, _WIDE)]
    low, high = (
        build.call("llvm.x86.avx512.vpermi2var.qi.512", wide, [parts[half], every, parts[half + 1]]) for half in (0, 2)
    )
    is_high = build.compare("icmp slt", every, integer(wide, 0))
    return _resized(build, build.select(is_high, high, low), places.type.lanes)


def _resized(build: Builder, value: IRValue, lanes: int) -> IRValue:
    """The first lanes of a vector; the lanes after them are undefined."""
    return build.lanes(value, [min(lane, value.type.lanes) for lane in range(lanes)])


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _broadcast(write: IRWriter, op: vector.BroadcastOp) -> None:
    write.define(op.vector, splatted(write, write.value(op.source), lanes_of(op.vector)))


def _lane_of(write: IRWriter, op: vector.ExtractOp | vector.InsertOp) -> IRValue | int:
    (static,) = integer_list(op.static_position)
    return write.value(op.dynamic_position[0]) if op.dynamic_position else static


def _extract(write: IRWriter, op: vector.ExtractOp) -> None:
    write.define(op.result, write.build.extract(write.value(op.vector), _lane_of(write, op)))


def _insert(write: IRWriter, op: vector.InsertOp) -> None:
    lane = _lane_of(write, op)
    write.define(op.result, write.build.insert(write.value(op.dest), write.value(op.source), lane))


def _shuffle(write: IRWriter, op: vector.ShuffleOp) -> None:
    numbers = [max(lane, 0) for lane in integer_list(op.mask)]  # any lane will do where none is asked for
    a, b, build = write.value(op.v1), write.value(op.v2), write.build
    count, other = a.type.lanes, b.type.lanes
    if count < other:  # LLVM mixes vectors of one length
        a = build.lanes(a, [*range(count)] + [0] * (other - count))
        numbers = [lane if lane < count else lane + other - count for lane in numbers]
    elif other < count:
        b = build.lanes(b, [*range(other)] + [0] * (count - other))
    write.define(op.result, build.shuffle(a, b, numbers))


def _create_mask(write: IRWriter, op: vector.CreateMaskOp) -> None:
    (count,) = op.mask_dim_sizes
    write.define(op.mask_vector, _below(write, write.value(count), lanes_of(op.mask_vector)))


def _vector_bits(write: IRWriter, op: vector.BitcastOp) -> None:
    define_bits(write, op, op.source, op.result)


def _reduction(write: IRWriter, op: vector.ReductionOp) -> None:
    """From the first lane to the last; an accumulator comes first: floats are not associative."""
    value, build = write.value(op.vector), write.build
    combine = fold_of(op.kind.data.value, value.type, write.parts.processor)
    scalars = [build.extract(value, lane) for lane in range(value.type.lanes)]
    if op.acc is not None:
        scalars.insert(0, write.value(op.acc))
    found = scalars[0]
    for scalar in scalars[1:]:
        found = combine(build, found, scalar)
    write.define(op.dest, found)


def _added_pairs(build: Builder, name: str, accumulator: IRValue, x: IRValue, w: IRValue) -> IRValue:
    """A multiplication with sums of neighbours and an addition, which LLVM makes one instruction where there is one."""
    return build.binary("add", accumulator, build.call(name, accumulator.type, [x, w]))


_BY_INTRINSICS: Mapping[str, Callable[[Builder, str, Type, Sequence[IRValue]], IRValue]] = {
    DOT_PAIRS: lambda build, name, type_, values: _added_pairs(build, name, *values)
}
"""Instructions that are more than a call of their intrinsic on all operands."""


def _instruction(write: IRWriter, op: Operation, result: SSAValue, name: str, bits: int) -> None:
    """What the instruction set of the module has one instruction for."""
    isa = write.parts.isa
    if bits not in isa.widths(name):
        raise op_error(op, f"{isa.name} has no '{name}' for registers of {bits} bits; run simd-legalize")
    intrinsic, type_ = isa.instructions[name][bits], write.type(op, result.type)
    call = _BY_INTRINSICS.get(name, lambda build, name, type_, values: build.call(name, type_, values))
    write.define(result, call(write.build, intrinsic, type_, write.operands(op)))


def _dot_accumulate(write: IRWriter, op: simd_lanes.DotAccumulateOp) -> None:
    _instruction(write, op, op.result, op.kind, lanes_of(op.result) * 32)


def _multiply_pairs(write: IRWriter, op: simd_lanes.MultiplyPairsOp) -> None:
    _instruction(write, op, op.result, MULTIPLY_PAIRS, lanes_of(op.result) * 16)


_UNSIGNED = frozenset({simd_lanes.Conversion.EXTUI, simd_lanes.Conversion.UITOFP, simd_lanes.Conversion.FPTOUI})


def _convert(write: IRWriter, op: simd_lanes.ConvertOp) -> None:
    kind = simd_lanes.Conversion(op.kind.data)
    if kind == simd_lanes.Conversion.BITCAST:
        define_bits(write, op, op.value, op.result)
    else:
        define_converted(write, op, op.value, op.result, is_signed=kind not in _UNSIGNED)


def _narrow(write: IRWriter, op: simd_lanes.NarrowOp) -> None:
    """Clamped and truncated, which LLVM makes one instruction where there is one."""
    values, build = [write.value(each) for each in op.values], write.build
    bits, result = bits_of(element_of(op.result)), write.type(op, op.result.type)
    low, high = integer_limits(bits, is_signed=op.unsigned is None)
    is_quarters = len(values) == 4 and values[0].type == type_of("i32", 16) and bits == 8
    if low < 0 and is_quarters and write.parts.has("avx512bw"):
        write.define(op.result, _packed(build, values))
        return
    value = _joined(build, values)
    value = build.overloaded("smax", value, integer(value.type, low))
    value = build.overloaded("smin", value, integer(value.type, high))
    write.define(op.result, build.cast("trunc", value, result))


def _packed(build: Builder, values: Sequence[IRValue]) -> IRValue:
    """Two steps of saturation inside the quarters of registers, and the quarters in their order: half the instructions
    of one conversion each."""
    halves, bytes_ = type_of("i16", 32), type_of("i8", 64)
    pairs = [build.call("llvm.x86.avx512.packssdw.512", halves, pair) for pair in (values[:2], values[2:])]
    mixed = build.cast("bitcast", build.call("llvm.x86.avx512.packsswb.512", bytes_, pairs), values[0].type)
    order = [4 * quarter + register for register in range(4) for quarter in range(4)]
    return build.cast("bitcast", build.lanes(mixed, order), bytes_)


def _joined(build: Builder, vectors: Sequence[IRValue]) -> IRValue:
    """The lanes of vectors of one type, concatenated."""
    whole = vectors[0]
    for added in vectors[1:]:
        count, other = whole.type.lanes, added.type.lanes
        if count != other:  # LLVM mixes vectors of one length
            added = build.lanes(added, [min(lane, other - 1) for lane in range(count)])
        whole = build.shuffle(whole, added, range(count + other))
    return whole


def _compare(write: IRWriter, op: simd_lanes.CompareOp) -> None:
    write.define(op.result, compared(write.build, op.predicate.data, write.value(op.lhs), write.value(op.rhs)))


def _select(write: IRWriter, op: simd_lanes.SelectOp) -> None:
    write.define(op.result, write.build.select(*write.operands(op)))


def _interleave(half: int) -> Callable[[IRWriter, simd_lanes.InterleaveOp], None]:
    def emit(write: IRWriter, op: simd_lanes.InterleaveOp) -> None:
        count, block = lanes_of(op.lhs), op.block_lanes
        firsts = [
            start + half * (block // 2) + place for start in range(0, count, block) for place in range(block // 2)
        ]
        mixed = [lane for first in firsts for lane in (first, count + first)]
        write.define(op.result, write.build.shuffle(write.value(op.lhs), write.value(op.rhs), mixed))

    return emit


def _reduce_add(write: IRWriter, op: simd_lanes.ReduceAddOp) -> None:
    write.define(op.result, reduced_halves(write.build, write.value(op.value)))


def _round_to_int(write: IRWriter, op: simd_lanes.RoundToIntOp) -> None:
    value, result = write.value(op.value), write.type(op, op.result.type)
    name = f"{result.suffix}.{value.type.suffix}"
    if write.parts.processor.is_wasm:  # it has both of these, and `lrint` is the C library's, lane by lane
        found = write.build.call(f"llvm.fptosi.sat.{name}", result, [write.build.overloaded("rint", value)])
    else:
        found = write.build.call(f"llvm.lrint.{name}", result, [value])
    write.define(op.result, found)


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        vector.BitcastOp: _vector_bits,
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
        simd_lanes.DotAccumulateOp: _dot_accumulate,
        simd_lanes.MultiplyPairsOp: _multiply_pairs,
        simd_lanes.ConvertOp: _convert,
        simd_lanes.RoundToIntOp: _round_to_int,
        simd_lanes.NarrowOp: _narrow,
        simd_lanes.CompareOp: _compare,
        simd_lanes.SelectOp: _select,
        simd_lanes.InterleaveLowOp: _interleave(0),
        simd_lanes.InterleaveHighOp: _interleave(1),
        simd_lanes.ReduceAddOp: _reduce_add,
    },
)
