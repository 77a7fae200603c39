"""One step of a sum, family by family: what is read of `x` and of the weights, and how a register is added to.

A family is a row of `STEPS`. It knows vectors, not instruction sets: what a CPU has no instruction for is expanded
later.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import AnyFloat, MemRefType, i8, i16
from xdsl.ir import Attribute, SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.kernel.variants import SHORT_STEPS
from qmlir.dialects.simd.base import lanes_of, vector
from qmlir.dialects.simd.ops import DotAccumulateOp, LoadGroupSplatOp, LoadOp, LoadPartialOp, Signs
from qmlir.targets.cpu.loops.affine import Index
from qmlir.targets.cpu.loops.emitter import Emitter, bits_of
from qmlir.targets.cpu.loops.vectors import VectorEmitter

Place = Sequence[Index]


@dataclass(frozen=True)
class Operand:
    """The memory of `x`, and how its elements become numbers of the sum."""

    memory: SSAValue
    is_unsigned: bool
    accumulator: Attribute

    @property
    def element(self) -> Attribute:
        """The type of an element in memory."""
        return cast(MemRefType[Attribute], self.memory.type).get_element_type()


def load(emit: Emitter, memory: SSAValue, place: Place, lanes: int, count: int | None = None) -> SSAValue:
    """Consecutive elements, or the first `count` of them and zeros."""
    element = cast(MemRefType[Attribute], memory.type).get_element_type()
    indices, type_ = [emit.index(each) for each in place], vector(lanes, element)
    if count is None:
        return emit.insert(LoadOp(memory, indices, type_))
    return emit.insert(LoadPartialOp(memory, indices, emit.index(count), type_))


@dataclass(frozen=True)
class AccumulationStep:
    """How a family reads and adds: `x` once for all vectors of channels, or for each of them (`is_lanewise`)."""

    group: int
    read: Callable[[VectorEmitter, Operand, Place, int | None], SSAValue]
    add: Callable[[VectorEmitter, SSAValue, SSAValue, SSAValue], SSAValue]
    is_lanewise: bool = False
    parts: int = 1
    """How many weights share a byte, those of steps behind each other."""

    @property
    def reads_neighbours(self) -> bool:
        """Whether it reads elements of `x` that must lie beside each other."""
        return self.group > 1 or self.is_lanewise

    @property
    def spare(self) -> int:
        """The bits of a byte beyond those of a weight: so far to the left are the sums."""
        return 8 - 8 // self.parts

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        """The weights of a step out of the bytes that hold those of several, in the highest bits of bytes of their own.

        There they have their sign, and are `2^spare` times what they are: one or two instructions, where the lowest
        bits take three. `totals` takes the factor off the sums.
        """
        if self.parts == 1:
            return weights
        wide = emit.with_lanes(lanes_of(weights))
        above = self.spare - part * (8 // self.parts)
        if above:
            weights = wide.binary(arith.ShLIOp, weights, wide.constant(above, i8))
        if part:
            weights = wide.binary(arith.AndIOp, weights, wide.constant(-1 << self.spare, i8))
        return weights

    def totals(self, emit: VectorEmitter, sums: list[list[SSAValue]]) -> list[list[SSAValue]]:
        """The sums of a tile, of what steps have added up."""
        if self.parts == 1:
            return sums
        count = emit.constant(self.spare, scalar_of(sums[0][0].type))
        return [[emit.binary(arith.ShRSIOp, register, count) for register in row] for row in sums]


def _bytes(flipped: bool) -> Callable[[VectorEmitter, Operand, Place, int | None], SSAValue]:
    """Reads groups of bytes, moved by 128 where their signedness is `flipped`: the highest bit changes."""

    def read(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
        wide = emit.with_lanes(4 * emit.lanes)
        value = wide.insert(LoadGroupSplatOp(x.memory, [emit.index(each) for each in place], wide.typed(i8)))
        return wide.binary(arith.XOrIOp, value, wide.constant(-128, i8)) if x.is_unsigned == flipped else value

    return read


def _row_of_bytes(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
    """A register of bytes beside each other, unsigned."""
    wide = emit.with_lanes(4 * emit.lanes)
    value = load(wide, x.memory, place, wide.lanes, count)
    return value if x.is_unsigned else wide.binary(arith.XOrIOp, value, wide.constant(-128, i8))


def _row_of_shorts(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
    """Bytes beside each other as a register of 16 bits each."""
    wide = emit.with_lanes(2 * emit.lanes)
    kind = arith.ExtUIOp if x.is_unsigned else arith.ExtSIOp
    return wide.convert(kind, load(wide, x.memory, place, wide.lanes, count), i16)


def _pairs(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
    wide = emit.with_lanes(2 * emit.lanes)
    return wide.insert(LoadGroupSplatOp(x.memory, [emit.index(each) for each in place], wide.typed(i16)))


def _dot(signs: Signs) -> Callable[[VectorEmitter, SSAValue, SSAValue, SSAValue], SSAValue]:
    return lambda emit, sums, x, w: emit.insert(DotAccumulateOp(sums, x, w, signs))


def _widened(emit: Emitter, value: SSAValue, x: Operand) -> SSAValue:
    """An element, or elements, in the type of the sum."""
    element = scalar_of(value.type)
    if element == x.accumulator:
        return value
    if isinstance(element, AnyFloat):
        return emit.convert(arith.ExtFOp, value, x.accumulator)
    if bits_of(element) == bits_of(x.accumulator):
        return value
    return emit.convert(arith.ExtUIOp if x.is_unsigned else arith.ExtSIOp, value, x.accumulator)


def _one(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
    scalars = Emitter(emit.builder, emit.constants)
    value = scalars.load(x.memory, [emit.index(each) for each in place])
    return emit.splat(_widened(scalars, value, x))


def _channels(emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
    return _widened(emit, load(emit, x.memory, place, emit.lanes, count), x)


def _multiply_add(emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
    is_float = isinstance(scalar_of(sums.type), AnyFloat)
    product = emit.binary(arith.MulfOp if is_float else arith.MuliOp, x, w)
    return emit.binary(arith.AddfOp if is_float else arith.AddiOp, sums, product)


def _fused(emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
    return emit.insert(vector_ops.FMAOp(x, w, sums))


STEPS: Mapping[str, AccumulationStep] = {
    "u8s8_dot": AccumulationStep(4, _bytes(flipped=False), _dot(Signs.US)),
    "u8s4_dot": AccumulationStep(4, _bytes(flipped=False), _dot(Signs.US), parts=2),
    "u8s2_dot": AccumulationStep(4, _bytes(flipped=False), _dot(Signs.US), parts=4),
    **dict.fromkeys(SHORT_STEPS, AccumulationStep(4, _bytes(flipped=False), _dot(Signs.US))),
    "s8s8_dot": AccumulationStep(4, _bytes(flipped=True), _dot(Signs.SS)),
    "i16_pairs": AccumulationStep(2, _pairs, _dot(Signs.SS)),
    "splat": AccumulationStep(1, _one, _multiply_add),
    "splat_fma": AccumulationStep(1, _one, _fused),
    "depthwise": AccumulationStep(1, _channels, _multiply_add, is_lanewise=True),
    "depthwise_dot": AccumulationStep(4, _row_of_bytes, _dot(Signs.US), is_lanewise=True),
    "depthwise_pairs": AccumulationStep(2, _row_of_shorts, _dot(Signs.SS), is_lanewise=True),
}
"""Variant of a schedule to its step."""
