"""`u8s4_dot`, `u8s2_dot`, `s8u2_dot`, `s8u1_dot`: dot products of four bytes per lane with packed sub-byte weights."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.base import lanes_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.isa.predicates import NARROW_TERMS
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.microkernels.byte_dots import ByteDots


class NarrowDots(ByteDots):
    """Sums products with weights that are moved to the highest bits of separate bytes.

    There they are signed, scaled by `2^spare`. This takes one or two instructions, while sign-extending them into the
    lowest bits takes three. `totals` removes the factor from the sums.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        wide = emit.with_lanes(lanes_of(weights))
        above = self.spare - part * (8 // self.parts)
        if above:
            weights = wide.binary(arith.ShLIOp, weights, wide.constant(above, i8))
        if part:
            weights = wide.binary(arith.AndIOp, weights, wide.constant(-1 << self.spare, i8))
        return weights

    def totals(self, emit: VectorEmitter, sums: list[list[SSAValue]]) -> list[list[SSAValue]]:
        count = emit.constant(self.spare, scalar_of(sums[0][0].type))
        return [[emit.binary(arith.ShRSIOp, register, count) for register in row] for row in sums]


class MaskedDots(ByteDots):
    """Sums products with unsigned weights at their position in the byte that they share.

    A mask clears all other weights of the byte, and the result is multiplied as an unsigned byte with signed bytes of
    `x`. This saves one instruction per part compared to moving the weights. Each part has separate sums, scaled by
    `2^n` for weights `n` bits to the left; `totals` adds them up.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        wide, bits = emit.with_lanes(lanes_of(weights)), 8 // self.parts
        mask = ((1 << bits) - 1) << part * bits
        return wide.binary(arith.AndIOp, weights, wide.constant(mask - (mask >> 7 << 8), i8))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, w, x, Signs.US))

    def totals(self, emit: VectorEmitter, sums: list[list[SSAValue]]) -> list[list[SSAValue]]:
        return [self._row_totals(emit, row) for row in sums]

    def _row_totals(self, emit: VectorEmitter, row: list[SSAValue]) -> list[SSAValue]:
        element, bits, count = scalar_of(row[0].type), 8 // self.parts, len(row) // self.parts
        found = row[:count]
        for part in range(1, self.parts):
            left = emit.constant(part * bits, element)
            own = [emit.binary(arith.ShRSIOp, each, left) for each in row[part * count : (part + 1) * count]]
            found = [emit.binary(arith.AddiOp, *pair) for pair in zip(found, own, strict=True)]
        if self.weight_step == 1:
            return found
        left = emit.constant(self.weight_step.bit_length() - 1, element)
        return [emit.binary(arith.ShLIOp, each, left) for each in found]


def _of_bits(bits: int) -> NarrowDots:
    return NarrowDots(
        name=f"u8s{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, most_terms=NARROW_TERMS,
        input_element=i8, reads_unsigned=True, sums_blocks=True,
    )  # fmt: skip


def _masked(bits: int, offset: int, step: int = 1) -> MaskedDots:
    return MaskedDots(
        name=f"s8u{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, weight_offset=offset,
        weight_step=step, most_terms=NARROW_TERMS, input_element=i8, reads_unsigned=False, sums_apart=True,
    )  # fmt: skip


U8S4_DOT, U8S2_DOT = _of_bits(4), _of_bits(2)

S8U2_DOT = _masked(2, 2)

S8U1_DOT = _masked(1, 1, step=2)
"""Weights of -1 or 1, stored as 0 or 2 (offset 1): one bit suffices."""
