"""`f32s8`, `f32s4` and `f32s2`: elements of `x` in f32 by integers of few bits, which become floats in registers.

Memory holds the bits of the weights alone. Each block of terms has a scale, which its sum is multiplied by.
"""

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.variants.splat import Fused

_WIDE = 32


class Widened(Fused):
    """Multiplies by weights that share bytes with those of the next terms."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        bits, wide = 8 // self.parts, emit.convert(arith.ExtSIOp, weights, i32)
        is_last = part == self.parts - 1
        if not is_last:
            wide = emit.binary(arith.ShLIOp, wide, emit.constant(_WIDE - bits * (part + 1), i32))
        if self.parts > 1:
            right = bits * part if is_last else _WIDE - bits
            wide = emit.binary(arith.ShRSIOp, wide, emit.constant(right, i32))
        return emit.convert(arith.SIToFPOp, wide, f32)


def _of_bits(bits: int) -> Widened:
    return Widened(
        name=f"f32s{bits}", element=i8, weight_bits=bits, parts=8 // bits, sums_blocks=True, widens_weights=True
    )


F32S8, F32S4, F32S2 = map(_of_bits, (8, 4, 2))
