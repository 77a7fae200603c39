"""Vectors in LLVM instructions: lanes of memory, dot products, lanes that change places, reductions, saturation.

Pointers are the names of operands of type `ptr`.
"""

from collections.abc import Callable, Sequence

from .arithmetic import FOLDS, Lowering
from .builder import Builder
from .values import I32, I64, PTR, IRValue, Type, integer, numbers, poison, type_of

Has = Callable[[str], bool]
"""Whether the CPU has a feature, by LLVM's name."""

# --- Memory -----------------------------------------------------------------------------------------------------------


def below(build: Builder, count: IRValue, lanes: int) -> IRValue:
    """A mask of the lanes below a count, an i64."""
    return build.compare("icmp slt", numbers(type_of("i64", lanes), range(lanes)), build.splat(count, lanes))


def masked_load(build: Builder, pointer: str, mask: IRValue, others: IRValue, align: int) -> IRValue:
    """Load the lanes for which `mask` is true, and take the other ones from `others`; nothing else is read."""
    name, type_ = f"llvm.masked.load.{others.type.suffix}.p0", others.type
    return build.call(name, type_, [IRValue(PTR, pointer), integer(I32, align), mask, others])


def masked_store(build: Builder, value: IRValue, pointer: str, mask: IRValue, align: int) -> None:
    """Store the lanes for which `mask` is true; nothing else is written."""
    name = f"llvm.masked.store.{value.type.suffix}.p0"
    build.call(name, None, [value, IRValue(PTR, pointer), integer(I32, align), mask])


def store_below(build: Builder, value: IRValue, pointer: str, count: IRValue, align: int, *, is_x86: bool) -> None:
    """Store the first `count` lanes, an i64.

    LLVM 22 for x86 makes one store of a masked one whose mask is known to have a single lane, and takes the lane before
    it was truncated: a byte out of an i32 writes three more bytes after it. It may learn a count long after emission,
    where it unrolls a loop. So a count that is not known now is hidden from it.
    """
    if count.text == "1":
        build.store(build.extract(value, 0), pointer, align)
        return
    if is_x86 and count.text.startswith("%"):
        count = build.unseen(count, "=r")
    masked_store(build, value, pointer, below(build, count, value.type.lanes), align)


def opaque_mask(build: Builder, mask: IRValue) -> IRValue:
    """`mask` in a form that LLVM cannot evaluate, as for `store_below`."""
    bits = type_of(f"i{mask.type.lanes}")
    known = build.cast("zext", build.cast("bitcast", mask, bits), I64)
    return build.cast("bitcast", build.cast("trunc", build.unseen(known, "=r"), bits), mask.type)


def prefetch(build: Builder, pointer: str, level: int) -> None:
    """Prefetch data that is read, into the cache of `level` (1 is the nearest)."""
    numbers_ = [integer(I32, number) for number in (0, 4 - level, 1)]  # to read; 3 is the nearest level; data
    build.call("llvm.prefetch.p0", None, [IRValue(PTR, pointer), *numbers_])


def gather(build: Builder, type_: Type, table: str, places: IRValue, align: int) -> IRValue:
    """Load the elements of a table at `places`, as `type_`."""
    found = poison(type_)
    for lane in range(type_.lanes):
        index = build.cast("sext", build.extract(places, lane), I64)
        pointer = build.element_at(type_.scalar(), table, index.text)
        found = build.insert(found, build.load(type_.scalar(), pointer, align), lane)
    return found


_TABLE, _WIDE = 256, 64
"""The bytes of a table, and of the registers that hold a quarter of it."""


def look_up(build: Builder, table: str, places: IRValue, has: Has) -> IRValue:
    """Look up bytes in a table of 256 at unsigned `places`: in four registers if one instruction permutes two."""
    if not has("avx512vbmi"):
        return _looked_up_in_memory(build, table, places)
    wide, byte = type_of("i8", _WIDE), type_of("i8")
    every = _resized(build, places, _WIDE)
    parts = [build.load(wide, build.element_at(byte, table, str(start)), 1) for start in range(0, _TABLE, _WIDE)]
    low, high = (
        build.call("llvm.x86.avx512.vpermi2var.qi.512", wide, [parts[half], every, parts[half + 1]]) for half in (0, 2)
    )
    is_high = build.compare("icmp slt", every, integer(wide, 0))
    return _resized(build, build.select(is_high, high, low), places.type.lanes)


def _looked_up_in_memory(build: Builder, table: str, places: IRValue) -> IRValue:
    found = poison(places.type)
    for lane in range(places.type.lanes):
        number = build.cast("zext", build.extract(places, lane), I64)
        loaded = build.load(places.type.scalar(), build.element_at(places.type.scalar(), table, number.text), 1)
        found = build.insert(found, loaded, lane)
    return found


def _resized(build: Builder, value: IRValue, lanes: int) -> IRValue:
    """The first lanes of a vector; the lanes after them are undefined."""
    return build.lanes(value, [min(lane, value.type.lanes) for lane in range(lanes)])


# --- Lanes ------------------------------------------------------------------------------------------------------------

_REGISTER_FEATURES = {16: "sse2", 32: "avx2", 64: "avx512bw"}
"""The size of a register of x86, in bytes, and the feature that has it."""


def splat(build: Builder, value: IRValue, lanes: int, has: Has) -> IRValue:
    """A vector of one scalar.

    LLVM 22 never ends selecting instructions for vpdpbusd of bytes that are xored with a known 0x80. So these are
    handed over by an empty line of assembly, through which LLVM can't see; it stands before the loops and is no
    instruction. Other bytes it must know: a shift by a known number is one instruction, by any other five.
    """
    vector = build.splat(value, lanes)
    if value.type.element != "i8" or not has(_REGISTER_FEATURES.get(lanes, "")):
        return vector
    is_known = not value.text.startswith("%") and int(value.text) & 0xFF != 0x80
    return vector if is_known else build.unseen(vector, "=v")


def shuffled(build: Builder, a: IRValue, b: IRValue, lanes: Sequence[int]) -> IRValue:
    """The chosen lanes of two vectors of any lengths, those of `b` counted after those of `a`."""
    count, other, chosen = a.type.lanes, b.type.lanes, [*lanes]
    if count < other:  # LLVM mixes vectors of one length
        a = build.lanes(a, [*range(count)] + [0] * (other - count))
        chosen = [lane if lane < count else lane + other - count for lane in chosen]
    elif other < count:
        b = build.lanes(b, [*range(other)] + [0] * (count - other))
    return build.shuffle(a, b, chosen)


def interleaved(build: Builder, a: IRValue, b: IRValue, block: int, half: int) -> IRValue:
    """Interleave the lower (0) or upper (1) half of each block of lanes of two vectors."""
    count = a.type.lanes
    firsts = [start + half * (block // 2) + place for start in range(0, count, block) for place in range(block // 2)]
    return build.shuffle(a, b, [lane for first in firsts for lane in (first, count + first)])


def folded(build: Builder, combine: Lowering, vector: IRValue, start: IRValue | None = None) -> IRValue:
    """Combine all lanes, from the first to the last; `start` comes first, as floats are not associative."""
    scalars = [build.extract(vector, lane) for lane in range(vector.type.lanes)]
    if start is not None:
        scalars.insert(0, start)
    found = scalars[0]
    for scalar in scalars[1:]:
        found = combine(build, found, scalar)
    return found


def added_by_halves(build: Builder, vector: IRValue) -> IRValue:
    """The sum of all lanes: halves are added until one lane is left."""
    add, count = FOLDS["add"](vector.type), vector.type.lanes
    while count > 1:
        count //= 2
        low, high = build.lanes(vector, range(count)), build.lanes(vector, range(count, 2 * count))
        vector = add(build, low, high)
    return build.extract(vector, 0)


# --- Instructions of one instruction set ------------------------------------------------------------------------------


def by_intrinsic(build: Builder, kind: str, intrinsic: str, type_: Type, values: Sequence[IRValue]) -> IRValue:
    """An operation of `simd` that is one intrinsic of LLVM.

    `dot_pairs` is a multiplication with sums of neighbours and an addition, which LLVM makes one instruction where
    there is one.
    """
    if kind != "dot_pairs":
        return build.call(intrinsic, type_, values)
    accumulator, *factors = values
    return build.binary("add", accumulator, build.call(intrinsic, type_, factors))


def narrowed(build: Builder, values: Sequence[IRValue], result: Type, has: Has, *, is_signed: bool) -> IRValue:
    """Saturate signed integers to the elements of `result`, and truncate them: one instruction where there is one."""
    low = -(1 << (result.bits - 1)) if is_signed else 0
    high = low + (1 << result.bits) - 1
    is_quarters = len(values) == 4 and values[0].type == type_of("i32", 16) and result.bits == 8
    if low < 0 and is_quarters and has("avx512bw"):
        return _packed(build, values)
    value = _joined(build, values)
    value = build.overloaded("smax", value, integer(value.type, low))
    value = build.overloaded("smin", value, integer(value.type, high))
    return build.cast("trunc", value, result)


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


def rounded_to_integer(build: Builder, value: IRValue, result: Type, *, is_wasm: bool = False) -> IRValue:
    """Round floats to the nearest integers, ties to even."""
    name = f"{result.suffix}.{value.type.suffix}"
    if is_wasm:  # it has both of these, and `lrint` is the C library's, lane by lane
        return build.call(f"llvm.fptosi.sat.{name}", result, [build.overloaded("rint", value)])
    return build.call(f"llvm.lrint.{name}", result, [value])
