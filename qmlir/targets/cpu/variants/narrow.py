"""`u8s4_dot` and `u8s2_dot`: four bytes a lane, by weights of which two or four share a byte of memory."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.base import lanes_of
from qmlir.targets.cpu.isa.conditions import NARROW_TERMS
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.variants.bytes import ByteDots


class NarrowDots(ByteDots):
    """Sums products by weights in the highest bits of bytes of their own.

    There they have their sign, and are `2^spare` times what they are: one or two instructions, where the lowest bits
    take three. `totals` takes the factor off the sums.
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


def _of_bits(bits: int) -> NarrowDots:
    return NarrowDots(
        name=f"u8s{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, most_terms=NARROW_TERMS,
        input_element=i8, reads_unsigned=True, sums_blocks=True,
    )  # fmt: skip


U8S4_DOT, U8S2_DOT = _of_bits(4), _of_bits(2)
