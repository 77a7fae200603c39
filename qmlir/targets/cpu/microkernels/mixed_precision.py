"""`f32s8`, `f32e4m3` and others: elements of `x` in f32 by weights of few bits, which become floats in registers.

Memory holds the bits of the weights alone: integers, or the codes of small floats. Each block of terms has a scale,
which its sum is multiplied by.
"""

from abc import ABC, abstractmethod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.lowering.quantized import plain_decoded, plain_place
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.microkernels.broadcast_fma import Fused

_WIDE = 32


class _Widened(Fused, ABC):
    """Multiplies by weights that share bytes with those of the next terms."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return self.as_float(emit, emit.convert(arith.ExtSIOp, weights, i32), part)

    def moved(self, emit: VectorEmitter, wide: SSAValue, part: int, place: int) -> SSAValue:
        """The bits of a part of `wide` from the bit `place` on; those above repeat the highest of the part."""
        bits = 8 // self.parts
        left = place - bits * part if part == self.parts - 1 else _WIDE - bits * (part + 1)
        right = 0 if part == self.parts - 1 else _WIDE - bits - place
        for kind, count in ((arith.ShLIOp, left), (arith.ShRSIOp, right - min(left, 0))):
            if count > 0:
                wide = emit.binary(kind, wide, emit.constant(count, i32))
        return wide

    @abstractmethod
    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        """A part of bytes that were widened to 32 bits with their sign."""


class _Integers(_Widened):
    """Weights that are integers."""

    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        return emit.convert(arith.SIToFPOp, self.moved(emit, wide, part, 0), f32)


class _Floats(_Widened):
    """Weights that are codes of small floats."""

    def as_float(self, emit: VectorEmitter, wide: SSAValue, part: int) -> SSAValue:
        assert self.weight_float is not None
        return plain_decoded(emit, self.moved(emit, wide, part, plain_place(self.weight_float)), self.weight_float)


def _of_bits(bits: int) -> _Widened:
    return _Integers(
        name=f"f32s{bits}", element=i8, weight_bits=bits, parts=8 // bits, sums_blocks=True, widens_weights=True
    )


def _of_float(exponent_bits: int, mantissa_bits: int) -> _Widened:
    format_ = PlainFloat(exponent_bits, mantissa_bits)
    return _Floats(
        name=f"f32e{exponent_bits}m{mantissa_bits}", element=i8, weight_bits=format_.bits, parts=8 // format_.bits,
        sums_blocks=True, widens_weights=True, weight_float=format_,
    )  # fmt: skip


F32S8, F32S4, F32S2 = map(_of_bits, (8, 4, 2))

F32E2M1, F32E3M4, F32E4M3, F32E5M2 = (_of_float(*each) for each in ((2, 1), (3, 4), (4, 3), (5, 2)))
