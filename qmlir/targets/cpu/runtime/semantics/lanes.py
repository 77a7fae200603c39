"""Vector operations as LLVM instructions: loads and stores, dot products, shuffles, reductions, saturation.

A pointer is the name of an operand of type `ptr`.
"""

from collections.abc import Callable, Sequence

from .arithmetic import FOLDS, Lowering
from .builder import Builder
from .values import I32, I64, PTR, IRValue, Type, integer, numbers, poison, type_of

Has = Callable[[str], bool]
"""Returns True if the CPU has a feature, given by LLVM's name."""

# --- Memory -----------------------------------------------------------------------------------------------------------


def below(build: Builder, count: IRValue, lanes: int) -> IRValue:
    """Returns a mask whose first `count` of `lanes` lanes are set; `count` is an i64."""
    return build.compare("icmp slt", numbers(type_of("i64", lanes), range(lanes)), build.splat(count, lanes))


def masked_load(build: Builder, pointer: str, mask: IRValue, others: IRValue, align: int) -> IRValue:
    """Loads the lanes for which `mask` is true, and takes all others from `others`; no other memory is read."""
    name, type_ = f"llvm.masked.load.{others.type.suffix}.p0", others.type
    return build.call(name, type_, [IRValue(PTR, pointer), integer(I32, align), mask, others])


def masked_store(build: Builder, value: IRValue, pointer: str, mask: IRValue, align: int) -> None:
    """Stores the lanes for which `mask` is true; no other memory is written."""
    name = f"llvm.masked.store.{value.type.suffix}.p0"
    build.call(name, None, [value, IRValue(PTR, pointer), integer(I32, align), mask])


def store_below(build: Builder, value: IRValue, pointer: str, count: IRValue, align: int, *, is_x86: bool) -> None:
    """Stores the first `count` lanes of `value`; `count` is an i64.

    On x86, LLVM 22 turns a masked store whose mask is known to have a single lane into a plain store, but stores the
    lane as it was before truncation: a byte truncated from an i32 also overwrites the three bytes after it. LLVM may
    learn the count long after emission, for example when it unrolls a loop. Therefore a count that is not constant
    here is hidden from LLVM.
    """
    if count.text == "1":
        build.store(build.extract(value, 0), pointer, align)
        return
    if is_x86 and count.text.startswith("%"):
        count = build.unseen(count, "=r")
    masked_store(build, value, pointer, below(build, count, value.type.lanes), align)


def opaque_mask(build: Builder, mask: IRValue) -> IRValue:
    """Returns `mask`, hidden from LLVM's constant folding for the reason given in `store_below`."""
    bits = type_of(f"i{mask.type.lanes}")
    known = build.cast("zext", build.cast("bitcast", mask, bits), I64)
    return build.cast("bitcast", build.cast("trunc", build.unseen(known, "=r"), bits), mask.type)


def prefetch(build: Builder, pointer: str, level: int) -> None:
    """Prefetches data for reading into the cache of `level` (1 is the nearest)."""
    numbers_ = [integer(I32, number) for number in (0, 4 - level, 1)]  # to read; 3 is the nearest level; data
    build.call("llvm.prefetch.p0", None, [IRValue(PTR, pointer), *numbers_])


def gather(
    build: Builder, type_: Type, table: str, positions: IRValue, align: int, *, is_signed: bool = True
) -> IRValue:
    """Loads the elements of a table at the indices `positions` into a vector of type `type_`."""
    found = poison(type_)
    for lane in range(type_.lanes):
        index = build.cast("sext" if is_signed else "zext", build.extract(positions, lane), I64)
        pointer = build.element_at(type_.scalar(), table, index.text)
        found = build.insert(found, build.load(type_.scalar(), pointer, align), lane)
    return found


_TABLE, _WIDE = 256, 64
"""The bytes of a table, and of the registers that hold a quarter of it."""


def look_up(build: Builder, table: str, positions: IRValue, has: Has) -> IRValue:
    """Looks up bytes in a 256-byte table at the unsigned indices `positions`.

    With AVX512-VBMI, whose permutation instruction reads two registers, the table is held in four registers.
    """
    if not has("avx512vbmi"):
        return gather(build, positions.type, table, positions, 1, is_signed=False)
    wide, byte = type_of("i8", _WIDE), type_of("i8")
    every = _resized(build, positions, _WIDE)
    parts = [build.load(wide, build.element_at(byte, table, str(start)), 1) for start in range(0, _TABLE, _WIDE)]
    low, high = (
        build.call("llvm.x86.avx512.vpermi2var.qi.512", wide, [parts[half], every, parts[half + 1]]) for half in (0, 2)
    )
    is_high = build.compare("icmp slt", every, integer(wide, 0))
    return _resized(build, build.select(is_high, high, low), positions.type.lanes)


def _resized(build: Builder, value: IRValue, lanes: int) -> IRValue:
    """The first lanes of a vector; the lanes after them are undefined."""
    return build.lanes(value, [min(lane, value.type.lanes) for lane in range(lanes)])


# --- Lanes ------------------------------------------------------------------------------------------------------------

_REGISTER_FEATURES = {16: "sse2", 32: "avx2", 64: "avx512bw"}
"""The size of a register of x86, in bytes, and the feature that has it."""


def splat(build: Builder, value: IRValue, lanes: int, has: Has) -> IRValue:
    """Broadcasts a scalar to `lanes` lanes.

    LLVM 22 never finishes instruction selection for a vpdpbusd of bytes that are xored with the constant 0x80.
    Therefore a vector of 0x80, or of an unknown byte, passes through empty inline assembly, which LLVM can't see
    through and which emits no instruction. Other constants stay visible to LLVM: a shift by a constant is one
    instruction, a shift by a variable takes five.
    """
    vector = build.splat(value, lanes)
    if value.type.element != "i8" or not has(_REGISTER_FEATURES.get(lanes, "")):
        return vector
    is_known = not value.text.startswith("%") and int(value.text) & 0xFF != 0x80
    return vector if is_known else build.unseen(vector, "=v")


def shuffled(build: Builder, a: IRValue, b: IRValue, *lanes: int) -> IRValue:
    """Shuffles two vectors, which may differ in length; the lanes of `b` are numbered after those of `a`."""
    count, other, chosen = a.type.lanes, b.type.lanes, [*lanes]
    if count < other:  # LLVM mixes vectors of one length
        a = build.lanes(a, [*range(count)] + [0] * (other - count))
        chosen = [lane if lane < count else lane + other - count for lane in chosen]
    elif other < count:
        b = build.lanes(b, [*range(other)] + [0] * (count - other))
    return build.shuffle(a, b, chosen)


def interleaved(build: Builder, a: IRValue, b: IRValue, block: int, half: int) -> IRValue:
    """Interleaves two vectors: the lower (`half` = 0) or upper (1) half of each block of `block` lanes."""
    count = a.type.lanes
    firsts = [
        start + half * (block // 2) + position for start in range(0, count, block) for position in range(block // 2)
    ]
    return build.shuffle(a, b, [lane for first in firsts for lane in (first, count + first)])


def folded(build: Builder, combine: Lowering, vector: IRValue, start: IRValue | None = None) -> IRValue:
    """Combines all lanes in order, beginning with `start` if given; float operations are not associative."""
    scalars = [build.extract(vector, lane) for lane in range(vector.type.lanes)]
    if start is not None:
        scalars.insert(0, start)
    found = scalars[0]
    for scalar in scalars[1:]:
        found = combine(build, found, scalar)
    return found


def added_by_halves(build: Builder, vector: IRValue) -> IRValue:
    """Returns the sum of all lanes, computed by adding the upper half to the lower one until one lane is left."""
    add, count = FOLDS["add"](vector.type), vector.type.lanes
    while count > 1:
        count //= 2
        low, high = build.lanes(vector, range(count)), build.lanes(vector, range(count, 2 * count))
        vector = add(build, low, high)
    return build.extract(vector, 0)


# --- Instructions of one instruction set ------------------------------------------------------------------------------


def by_intrinsic(build: Builder, kind: str, intrinsic: str, type_: Type, values: Sequence[IRValue]) -> IRValue:
    """Lowers an operation of `simd` to the LLVM intrinsic `intrinsic`.

    `dot_pairs` becomes two operations: the intrinsic, which multiplies and adds adjacent products, and an addition to
    the accumulator. LLVM fuses them if the CPU has one instruction for both.
    """
    if kind != "dot_pairs":
        return build.call(intrinsic, type_, values)
    accumulator, *factors = values
    return build.binary("add", accumulator, build.call(intrinsic, type_, factors))


def narrowed(build: Builder, values: Sequence[IRValue], result: Type, has: Has, *, is_signed: bool) -> IRValue:
    """Narrows vectors of signed integers to one vector of type `result`, saturating to its signed or unsigned range."""
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
    """Rounds floats to the nearest integers, ties to even."""
    name = f"{result.suffix}.{value.type.suffix}"
    if is_wasm:  # it has both of these, and `lrint` is the C library's, lane by lane
        return build.call(f"llvm.fptosi.sat.{name}", result, [build.overloaded("rint", value)])
    return build.call(f"llvm.lrint.{name}", result, [value])
