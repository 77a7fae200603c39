"""Microkernels for sub-byte weights, and for f32 inputs with weights that are stored in 8 bits or less."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.lowering.quantized import plain_decoded, plain_place
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.base import lanes_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.isa.predicates import NARROW_TERMS
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.microkernels.broadcast_fma import Fused
from qmlir.targets.cpu.microkernels.byte_dots import ByteDots

# `u8s4_dot`, `u8s2_dot`, `s8u2_dot`, `s8u1_dot`: dot products of four bytes per lane with packed sub-byte weights.


class NarrowDots(ByteDots):
    """Moves each sub-byte weight to the highest bits of a separate byte, and sums the products.

    In these bits, a weight is a signed number scaled by `2^spare`. Moving it there takes one or two instructions, while
    sign-extending it into the lowest bits would take three. `total` removes the factor from the sums.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        wide = emit.with_lanes(lanes_of(weights))
        above = self.spare - part * (8 // self.parts)
        if above:
            weights = wide.binary(arith.ShLIOp, weights, wide.constant(above, i8))
        if part:
            weights = wide.binary(arith.AndIOp, weights, wide.constant(-1 << self.spare, i8))
        return weights

    def total(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        (found,) = sums
        return emit.binary(arith.ShRSIOp, found, emit.constant(self.spare, scalar_of(found.type)))


class MaskedDots(ByteDots):
    """Multiplies unsigned weights at their bit position within a shared byte, without moving them.

    A mask clears all other weights of the byte. The result, an unsigned byte, is then multiplied by signed bytes of
    `x`. This saves one instruction per part compared to moving the weights. Each part has separate sums; if its weights
    are `n` bits above the lowest bit, these sums are scaled by `2^n`. `total` shifts them back and adds them up.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        wide, bits = emit.with_lanes(lanes_of(weights)), 8 // self.parts
        mask = ((1 << bits) - 1) << part * bits
        return wide.binary(arith.AndIOp, weights, wide.constant(mask - (mask >> 7 << 8), i8))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, w, x, Signs.US))

    def total(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        found, *others = sums
        element, bits = scalar_of(found.type), 8 // self.parts
        for part, other in enumerate(others, 1):
            own = emit.binary(arith.ShRSIOp, other, emit.constant(part * bits, element))
            found = emit.binary(arith.AddiOp, found, own)
        if self.weight_step == 1:
            return found
        return emit.binary(arith.ShLIOp, found, emit.constant(self.weight_step.bit_length() - 1, element))


def _of_byte_data(bits: int) -> NarrowDots:
    return NarrowDots(
        name=f"u8s{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, most_terms=NARROW_TERMS,
        input_element=i8, reads_unsigned=True, sums_blocks=True,
    )  # fmt: skip


def _masked(bits: int, offset: int, step: int = 1) -> MaskedDots:
    return MaskedDots(
        name=f"s8u{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, weight_offset=offset,
        weight_step=step, most_terms=NARROW_TERMS, input_element=i8, reads_unsigned=False, sums_apart=True,
    )  # fmt: skip


U8S4_DOT, U8S2_DOT = _of_byte_data(4), _of_byte_data(2)

S8U2_DOT = _masked(2, 2)

S8U1_DOT = _masked(1, 1, step=2)
"""Weights of -1 or 1, stored as 0 or 2 (offset 1): one bit suffices."""


# `f32s8`, `f32e4m3` and others: `x` is f32, and narrow weights are converted to floats in registers.
#
# Memory holds only the encoded weights: integers, or low-precision floats. Each block of terms has a scale, by which
# the sum of the block is multiplied.

_WIDE = 32


class _Widened(Fused, ABC):
    """Multiplies by weights that share bytes with those of the next terms."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return self.as_float(emit, emit.convert(arith.ExtSIOp, weights, i32), part)

    def moved(self, emit: VectorEmitter, wide: SSAValue, part: int, position: int) -> SSAValue:
        """Shifts the weights at index `part` in `wide` to bit `position`; the bits above are their sign."""
        bits = 8 // self.parts
        left = position - bits * part if part == self.parts - 1 else _WIDE - bits * (part + 1)
        right = 0 if part == self.parts - 1 else _WIDE - bits - position
        for kind, count in ((arith.ShLIOp, left), (arith.ShRSIOp, right - min(left, 0))):
            if count > 0:
                wide = emit.binary(kind, wide, emit.constant(count, i32))
        return wide

    @abstractmethod
    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        """Converts the weights at index `part` of sign-extended bytes to f32."""


class _Integers(_Widened):
    """Weights that are integers."""

    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        return emit.convert(arith.SIToFPOp, self.moved(emit, wide, part, 0), f32)


class _Floats(_Widened):
    """Weights that are codes of small floats."""

    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        assert self.weight_float is not None
        return plain_decoded(emit, self.moved(emit, wide, part, plain_place(self.weight_float)), self.weight_float)


def _of_float_data(bits: int) -> _Widened:
    return _Integers(
        name=f"f32s{bits}", element=i8, weight_bits=bits, parts=8 // bits, sums_blocks=True, widens_weights=True
    )


def _of_float(exponent_bits: int, mantissa_bits: int) -> _Widened:
    format_ = PlainFloat(exponent_bits, mantissa_bits)
    return _Floats(
        name=f"f32e{exponent_bits}m{mantissa_bits}", element=i8, weight_bits=format_.bits, parts=8 // format_.bits,
        sums_blocks=True, widens_weights=True, weight_float=format_,
    )  # fmt: skip


F32S8, F32S4, F32S2 = map(_of_float_data, (8, 4, 2))

F32E2M1, F32E3M4, F32E4M3, F32E5M2 = (_of_float(*each) for each in ((2, 1), (3, 4), (4, 3), (5, 2)))
