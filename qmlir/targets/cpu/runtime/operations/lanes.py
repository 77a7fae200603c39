"""Vectors as a whole: dot products of groups, lanes that change places, reductions, narrowing, choices."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types

from ..errors import DamagedError
from ..processor import processor_features
from .arithmetic import FLOATS, INTEGERS, instruction, suffix
from .declare import Emission, Lowering, operation
from .memory import mask_below, splatted, written
from .registers import Register, as_register, splat_constant

_INT32 = ir.IntType(32)
_FEATURES = processor_features()


def shuffled(builder: Any, a: Any, b: Any, lanes: Sequence[int]) -> Any:
    """The chosen lanes of two vectors, those of `b` counted after those of `a`."""
    mask = ir.Constant(ir.VectorType(_INT32, len(lanes)), [ir.Constant(_INT32, lane) for lane in lanes])
    return builder.shuffle_vector(a, b, mask)


# --- Dot products -----------------------------------------------------------------------------------------------------


def _dot_type(element: str) -> Callable[..., Any]:
    def typed(accumulator: Any, x: Any, w: Any) -> Any:
        if not isinstance(accumulator, Register) or not isinstance(x, Register) or x != w:
            return None
        fits = accumulator.element == "i32" and x.element == element and x.lanes * x.bits == accumulator.lanes * 32
        return accumulator if fits else None

    return typed


def _dot_bytes(emission: Emission, name: str, accumulator: Any, x: Any, w: Any) -> Any:
    """One instruction."""
    return emission.intrinsic(name, accumulator.type, (accumulator, x, w))


def _dot_pairs(emission: Emission, name: str, accumulator: Any, x: Any, w: Any) -> Any:
    """A multiplication with sums of neighbours and an addition, which LLVM makes one instruction where there is one."""
    return emission.builder.add(accumulator, emission.intrinsic(name, accumulator.type, (x, w)))


def _pairs_type(x: Any, w: Any) -> Any:
    fits = isinstance(x, Register) and x == w and x.element == "i8"
    return Register("i16", x.lanes // 2) if fits else None


def _multiply_pairs(emission: Emission, name: str, x: Any, w: Any) -> Any:
    """One instruction."""
    return emission.intrinsic(name, emission.result.llvm, (x, w))


BY_INTRINSICS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "dot_us": (_dot_type("i8"), _dot_bytes),
    "dot_ss": (_dot_type("i8"), _dot_bytes),
    "dot_pairs": (_dot_type("i16"), _dot_pairs),
    "multiply_pairs": (_pairs_type, _multiply_pairs),
}
"""What an instruction set has instructions for, or not: result type, and lowering by the name of an intrinsic."""


def requires(*features: str) -> None:
    """Raise `DamagedError` where the processor lacks a feature that instructions of the emitted module are of.

    LLVM would end the process where it finds such an instruction.
    """
    there = processor_features()
    missing = [name for name in features if not there.get(name, False)]
    if missing:
        raise DamagedError(
            f"the program requires a CPU with {', '.join(missing)}, which this one lacks; compile the model here, "
            "or with --isa generic"
        )


@cache
def by_intrinsics(name: str, *intrinsics: tuple[int, str]) -> Any:
    """The operation `name` by LLVM's intrinsics, each with the bits of its registers."""
    typed, lower = BY_INTRINSICS[name]
    names = dict(intrinsics)

    def lowered(emission: Emission, *values: Any) -> Any:
        return lower(emission, names[emission.result.lanes * emission.result.bits], *values)

    return operation(name, typed, lowered)


# --- Lanes ------------------------------------------------------------------------------------------------------------


def _splat_type(value: Any, lanes: Any) -> Any:
    count, register = written(lanes), as_register(value)
    return Register(register.element, count) if register is not None and not register.lanes and count else None


_REGISTER_FEATURES = {16: "sse2", 32: "avx2", 64: "avx512bw"}
"""Bytes of a register of x86 and the feature that has it."""


def _may_be_sign(value: Any) -> bool:
    """Whether a byte is 0x80, as far as can be told here."""
    number = value.operands[0] if isinstance(value, ir.CastInstr) else value
    return not isinstance(number, ir.Constant) or number.constant & 0xFF == 0x80


def _splat(emission: Emission, value: Any, _: Any) -> Any:
    vector = splatted(emission, value, emission.result.lanes)
    is_register = _FEATURES.get(_REGISTER_FEATURES.get(emission.result.lanes, ""), False)
    if emission.result.element != "i8" or not is_register or not _may_be_sign(value):
        return vector
    # LLVM 22 never ends selecting instructions for vpdpbusd of bytes that are xored with a known 0x80. So these are
    # handed over by an empty line of assembly, through which LLVM can't see; it stands before the loops and is no
    # instruction. Other bytes it must know: a shift by a known number is one instruction, by any other five.
    same = ir.FunctionType(vector.type, [vector.type])
    return emission.builder.asm(same, "", "=v,0", [vector], False)


def _shuffle_type(a: Any, b: Any, *lanes: Any) -> Any:
    numbers = [written(lane) for lane in lanes]
    if not isinstance(a, Register) or not isinstance(b, Register) or a.element != b.element or None in numbers:
        return None
    return Register(a.element, len(numbers))


def _shuffle(emission: Emission, a: Any, b: Any, *_: Any) -> Any:
    lanes = [written(type_) for type_ in emission.operands[2:]]
    numbers = [lane for lane in lanes if lane is not None]
    count, other = a.type.count, b.type.count
    if count < other:  # LLVM mixes vectors of one length
        a = shuffled(emission.builder, a, ir.Constant(a.type, ir.Undefined), [*range(count)] + [0] * (other - count))
        numbers = [lane if lane < count else lane + other - count for lane in numbers]
    elif other < count:
        b = shuffled(emission.builder, b, ir.Constant(b.type, ir.Undefined), [*range(other)] + [0] * (count - other))
    return shuffled(emission.builder, a, b, numbers)


def _interleave_type(a: Any, b: Any, block: Any) -> Any:
    return a if isinstance(a, Register) and a == b and written(block) else None


def _interleave(half: int) -> Callable[..., Any]:
    def lower(emission: Emission, a: Any, b: Any, _: Any) -> Any:
        count, block = a.type.count, written(emission.operands[2])
        assert block is not None
        firsts = [
            start + half * (block // 2) + place for start in range(0, count, block) for place in range(block // 2)
        ]
        return shuffled(emission.builder, a, b, [lane for first in firsts for lane in (first, count + first)])

    return lower


def _lane_type(vector: Any, lane: Any) -> Any:
    fits = isinstance(vector, Register) and vector.lanes and isinstance(lane, types.Integer)
    return Register(vector.element) if fits else None


def _lane(emission: Emission, vector: Any, lane: Any) -> Any:
    return emission.builder.extract_element(vector, lane)


def _with_lane_type(vector: Any, lane: Any, value: Any) -> Any:
    fits = isinstance(vector, Register) and vector.lanes and as_register(value) == Register(vector.element)
    return vector if fits and isinstance(lane, types.Integer) else None


def _with_lane(emission: Emission, vector: Any, lane: Any, value: Any) -> Any:
    return emission.builder.insert_element(vector, value, lane)


def _lanes_below_type(count: Any, lanes: Any) -> Any:
    number = written(lanes)
    return Register("i1", number) if number and isinstance(count, types.Integer) else None


def _lanes_below(emission: Emission, count: Any, _: Any) -> Any:
    return mask_below(emission, count, emission.result.lanes)


def _select_type(condition: Any, a: Any, b: Any) -> Any:
    register = as_register(a)
    if register is None or a != b or not isinstance(condition, Register) or condition.element != "i1":
        return None
    return a if condition.lanes in (0, register.lanes) else None


def _select(emission: Emission, condition: Any, a: Any, b: Any) -> Any:
    return emission.builder.select(condition, a, b)


# --- Reductions -------------------------------------------------------------------------------------------------------


def _reduced_type(vector: Any) -> Any:
    return Register(vector.element) if isinstance(vector, Register) and vector.lanes else None


def _reduce_add(emission: Emission, vector: Any) -> Any:
    """Halves added until one lane is left."""
    builder, register = emission.builder, emission.operands[0]
    add = builder.fadd if register.is_float else builder.add
    count = vector.type.count
    while count > 1:
        count //= 2
        nothing = ir.Constant(vector.type, ir.Undefined)
        low = shuffled(builder, vector, nothing, range(count))
        high = shuffled(builder, vector, nothing, range(count, 2 * count))
        vector = add(low, high)
    return builder.extract_element(vector, ir.Constant(_INT32, 0))


def _folded(integer: Lowering | None, floating: Lowering | None) -> Lowering:
    """From the first lane to the last."""

    def lower(emission: Emission, vector: Any) -> Any:
        combine = floating if emission.operands[0].is_float else integer
        assert combine is not None
        scalars = [
            emission.builder.extract_element(vector, ir.Constant(_INT32, lane)) for lane in range(vector.type.count)
        ]
        found = scalars[0]
        for scalar in scalars[1:]:
            found = combine(emission, found, scalar)
        return found

    return lower


_FOLDS: dict[str, tuple[Lowering | None, Lowering | None]] = {
    "fold_add": (instruction("add"), instruction("fadd")),
    "fold_mul": (instruction("mul"), instruction("fmul")),
    "fold_and": (instruction("and_"), None),
    "fold_or": (instruction("or_"), None),
    "fold_xor": (instruction("xor"), None),
    **{f"fold_{name}": (INTEGERS[name], None) for name in ("minsi", "maxsi", "minui", "maxui")},
    **{f"fold_{name}": (None, FLOATS[name]) for name in ("minimumf", "maximumf", "minnumf", "maxnumf")},
}


def _narrow_type(bits: int) -> Callable[..., Any]:
    def typed(value: Any, *others: Any) -> Any:
        fits = isinstance(value, Register) and not value.is_float and value.bits > bits
        if not fits or any(other != value for other in others):
            return None
        return Register(f"i{bits}", (1 + len(others)) * value.lanes)

    return typed


def joined(builder: Any, vectors: Sequence[Any]) -> Any:
    """The lanes of vectors of one type, concatenated."""
    whole = vectors[0]
    for added in vectors[1:]:
        count, other = whole.type.count, added.type.count
        if count != other:  # LLVM mixes vectors of one length
            nothing = ir.Constant(added.type, ir.Undefined)
            added = shuffled(builder, added, nothing, [min(lane, other - 1) for lane in range(count)])
        whole = shuffled(builder, whole, added, range(count + other))
    return whole


def _is_packed(values: Sequence[Any], bits: int) -> bool:
    """Whether four registers of AVX512 become one of bytes."""
    is_whole = len(values) == 4 and values[0].type == ir.VectorType(_INT32, 16)
    return is_whole and bits == 8 and _FEATURES.get("avx512bw", False)


def _packed(emission: Emission, values: Sequence[Any]) -> Any:
    """Two steps of saturation inside the quarters of registers, and the quarters in their order: half the instructions
    of one conversion each."""
    builder = emission.builder
    halves, bytes_ = ir.VectorType(ir.IntType(16), 32), ir.VectorType(ir.IntType(8), 64)
    pairs = [
        emission.intrinsic("llvm.x86.avx512.packssdw.512", halves, tuple(pair)) for pair in (values[:2], values[2:])
    ]
    mixed = builder.bitcast(emission.intrinsic("llvm.x86.avx512.packsswb.512", bytes_, tuple(pairs)), values[0].type)
    nothing = ir.Constant(mixed.type, ir.Undefined)
    order = [4 * quarter + register for register in range(4) for quarter in range(4)]
    return builder.bitcast(shuffled(builder, mixed, nothing, order), bytes_)


def _narrow(low: int, high: int) -> Callable[..., Any]:
    """Clamped and truncated, which LLVM makes one instruction where there is one."""

    def lower(emission: Emission, *values: Any) -> Any:
        if low < 0 and _is_packed(values, emission.result.bits):
            return _packed(emission, values)
        value = joined(emission.builder, values)
        for name, bound in (("smax", low), ("smin", high)):
            pair = (value, splat_constant(value.type, bound))
            value = emission.intrinsic(f"llvm.{name}.{suffix(value.type)}", value.type, pair)
        return emission.builder.trunc(value, emission.result.llvm)

    return lower


def _round_type(value: Any) -> Any:
    return value.of("i32") if isinstance(value, Register) and value.element == "f32" else None


def _round_to_int(emission: Emission, value: Any) -> Any:
    result = emission.result.llvm
    return emission.intrinsic(f"llvm.lrint.{suffix(result)}.{suffix(value.type)}", result, (value,))


OPERATIONS: dict[str, Any] = {
    "splat": operation("splat", _splat_type, _splat, literal=True),
    "shuffle": operation("shuffle", _shuffle_type, _shuffle, literal=True),
    "interleave_low": operation("interleave_low", _interleave_type, _interleave(0), literal=True),
    "interleave_high": operation("interleave_high", _interleave_type, _interleave(1), literal=True),
    "lane": operation("lane", _lane_type, _lane),
    "with_lane": operation("with_lane", _with_lane_type, _with_lane),
    "lanes_below": operation("lanes_below", _lanes_below_type, _lanes_below, literal=True),
    "select": operation("select", _select_type, _select),
    "reduce_add": operation("reduce_add", _reduced_type, _reduce_add),
    "round_to_int": operation("round_to_int", _round_type, _round_to_int),
    **{name: operation(name, _reduced_type, _folded(*lowerings)) for name, lowerings in _FOLDS.items()},
}
"""Name to operation; the emitted code imports them by name."""


def narrowing(bits: int, *, unsigned: bool) -> Any:
    """The saturating conversion of signed integers to `bits`, with or without sign."""
    name = f"narrow_{'u' if unsigned else 'i'}{bits}"
    limits = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return operation(name, _narrow_type(bits), _narrow(*limits))
