"""`f32s8`, `f32e4m3` and others: elements of `x` in f32 by weights of few bits, which become floats in registers.

Memory holds the bits of the weights alone: integers, or the codes of small floats. Each block of terms has a scale,
which its sum is multiplied by.
"""

from abc import ABC, abstractmethod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.variants.splat import Fused

_WIDE, _MANTISSA, _BIAS = 32, 23, 127
_SIGN = -1 << 31


class Widened(Fused, ABC):
    """Multiplies by weights that share bytes with those of the next terms."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return self.as_float(emit, emit.convert(arith.ExtSIOp, weights, i32), part)

    def moved(self, emit: ArithBuilder, wide: SSAValue, part: int, place: int) -> SSAValue:
        """The bits of a part of `wide` from the bit `place` on; those above repeat the highest of the part."""
        bits = 8 // self.parts
        left = place - bits * part if part == self.parts - 1 else _WIDE - bits * (part + 1)
        right = 0 if part == self.parts - 1 else _WIDE - bits - place
        for kind, count in ((arith.ShLIOp, left), (arith.ShRSIOp, right - min(left, 0))):
            if count > 0:
                wide = emit.binary(kind, wide, emit.constant(count, i32))
        return wide

    @abstractmethod
    def as_float(self, emit: ArithBuilder, wide: SSAValue, part: int) -> SSAValue:
        """A part of bytes that were widened to 32 bits with their sign."""


class WidenedIntegers(Widened):
    """Weights that are integers."""

    def as_float(self, emit: ArithBuilder, wide: SSAValue, part: int) -> SSAValue:
        return emit.convert(arith.SIToFPOp, self.moved(emit, wide, part, 0), f32)


class WidenedFloats(Widened):
    """Weights that are codes of small floats, whose bits are moved to where f32 has its own.

    What that gives is `2^n` times too small, as f32 has a larger bias: a product makes up for it, for subnormal values
    too. They are subnormal in f32 before, and many processors take a hundred cycles for a product of such. Codes are
    chosen with the largest number at the top (`PlainFloat.scaled_codes`), so that 4 bits of exponent leave one weight
    in thousands to that. With fewer they are many: the exponents are made up for by a sum of integers, and what has
    the exponent 0, which then stands for a power of two more than it should, loses that by a difference.
    """

    def as_float(self, emit: ArithBuilder, wide: SSAValue, part: int) -> SSAValue:
        format_ = self.weight_float
        assert format_ is not None
        magnitude = ((1 << format_.bits - 1) - 1) << (_MANTISSA - format_.mantissa_bits)
        bits = self.moved(emit, wide, part, _MANTISSA - format_.mantissa_bits)
        bits = emit.binary(arith.AndIOp, bits, emit.constant(magnitude | _SIGN, i32))
        if format_.exponent_bits >= _FEW_SUBNORMAL:
            factor = emit.constant(2.0 ** (_BIAS - format_.bias), f32)
            return emit.binary(arith.MulfOp, emit.convert(arith.BitcastOp, bits, f32), factor)
        return self._without_subnormal(emit, bits, format_, magnitude)

    def _without_subnormal(self, emit: ArithBuilder, bits: SSAValue, format_: PlainFloat, magnitude: int) -> SSAValue:
        more = _BIAS - format_.bias
        normal, above = (
            emit.binary(arith.AddiOp, bits, emit.constant(each << _MANTISSA, i32)) for each in (more, more + 1)
        )
        sign = emit.binary(arith.AndIOp, bits, emit.constant(_SIGN, i32))
        one = emit.binary(arith.OrIOp, sign, emit.constant((more + 1) << _MANTISSA, i32))
        less = emit.binary(arith.SubfOp, *(emit.convert(arith.BitcastOp, each, f32) for each in (above, one)))
        exponent = emit.constant(magnitude >> _MANTISSA << _MANTISSA, i32)
        is_subnormal = emit.compare("eq", emit.binary(arith.AndIOp, bits, exponent), emit.constant(0, i32))
        return emit.select(is_subnormal, less, emit.convert(arith.BitcastOp, normal, f32))


_FEW_SUBNORMAL = 4
"""Bits of exponents from which on few weights are subnormal: numbers of less than `2^-14` of the largest one."""


def _of_bits(bits: int) -> Widened:
    return WidenedIntegers(
        name=f"f32s{bits}", element=i8, weight_bits=bits, parts=8 // bits, sums_blocks=True, widens_weights=True
    )


def _of_float(exponent_bits: int, mantissa_bits: int) -> Widened:
    format_ = PlainFloat(exponent_bits, mantissa_bits)
    return WidenedFloats(
        name=f"f32e{exponent_bits}m{mantissa_bits}", element=i8, weight_bits=format_.bits, parts=8 // format_.bits,
        sums_blocks=True, widens_weights=True, weight_float=format_,
    )  # fmt: skip


F32S8, F32S4, F32S2 = map(_of_bits, (8, 4, 2))

F32E2M1, F32E3M4, F32E4M3, F32E5M2 = (_of_float(*each) for each in ((2, 1), (3, 4), (4, 3), (5, 2)))
