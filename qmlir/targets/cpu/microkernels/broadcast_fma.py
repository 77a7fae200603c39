"""Microkernels that multiply one element of `x` by a vector of weights, which memory may hold in 8 bits or less."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import AnyFloat, f32, i8, i16, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.small_floats import PlainFloat
from qmlir.dialects.kernel.lowering.quantized import plain_decoded, plain_place
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.simd.base import lanes_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter
from qmlir.targets.cpu.loops.geometry import Operand, Place, load, widened
from qmlir.targets.cpu.loops.tiles import GroupVariant, TiledVariant, TileWriter

# `splat` and `splat_fma`: one element of `x` is multiplied by a vector of weights, in the type of the sum.
#
# `splat` supports integers of any width and floats. `splat_fma` supports floats and rounds each multiply-add once.


class Splat(TiledVariant):
    """Broadcasts an element of `x`, multiplies it by a vector of weights, and adds the products to the sums."""

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        scalars = Emitter(emit.builder, emit.constants)
        value = scalars.load(x.memory, [emit.index(each) for each in position])
        return emit.splat(widened(scalars, value, x))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        is_float = isinstance(scalar_of(sums.type), AnyFloat)
        product = emit.binary(arith.MulfOp if is_float else arith.MuliOp, x, w)
        return emit.binary(arith.AddfOp if is_float else arith.AddiOp, sums, product)


class Fused(Splat):
    """Multiplies and adds in one fused operation, which rounds once."""

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(vector_ops.FMAOp(x, w, sums))


SPLAT, SPLAT_FMA = Splat(name="splat"), Fused(name="splat_fma")


# `depthwise`: each lane is a channel with its own weights, in the type of the sum.


class Depthwise(Splat):
    """Multiplies a vector of channels of `x` by the weights of the same channels."""

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        return widened(emit, load(emit, x.memory, position, emit.lanes, count), x)


DEPTHWISE = Depthwise(name="depthwise", is_lanewise=True)


# `i16_pairs`: two 16-bit integers per lane; both operands are stored without their zero points.


class Pairs(GroupVariant):
    """Multiplies pairs of 16-bit integers, and adds both products to one 32-bit lane."""

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.SS))


I16_PAIRS = Pairs(name="i16_pairs", group=2, element=i16, input_element=i16, is_centered=True)


class PairsOfBytes(Pairs):
    """Widens weights from bytes to 16 bits: for a single row, which reads each weight once, memory is the limit."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return emit.with_lanes(lanes_of(weights)).convert(arith.ExtSIOp, weights, i16)


I16_BYTES = PairsOfBytes(name="i16_bytes", group=2, element=i8, input_element=i16, is_centered=True, sums_blocks=True)


# `splat_bytes`, `depthwise_bytes` and `depthwise_bytes_taps`: weights are bytes, widened to the type of the sum.
#
# As in `splat`, elements are multiplied one by one, and the compiler of the emitted code chooses the instructions.
# Compared to weights in the type of the sum, these need a quarter of the memory.


class _Bytes(Splat):
    """Widens weights from bytes to i32."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return emit.convert(arith.ExtSIOp, weights, i32)


class _DepthwiseBytes(_Bytes, Depthwise):
    """Widens weights from bytes to i32; each lane is a channel."""


SPLAT_BYTES = _Bytes(name="splat_bytes", element=i8)
DEPTHWISE_BYTES = _DepthwiseBytes(name="depthwise_bytes", element=i8, is_lanewise=True)


class _UnrolledWriter(TileWriter):
    """Emits the taps of a row of the window without a loop."""

    def _sum_taps(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], taps: list[Index], weights: list[Index],
        positions: Sequence[Index], offset: Index, valid: int,
    ) -> Sequence[SSAValue]:  # fmt: skip
        axis = len(taps)
        if axis + 1 != len(self.geometry.taps):
            return super()._sum_taps(emit, sums, taps, weights, positions, offset, valid)
        for tap in range(self.geometry.taps[axis]):
            sums = self._sum_taps(emit, sums, [*taps, tap], weights, positions, offset, valid)
        return sums


class _DepthwiseTaps(_DepthwiseBytes):
    """Like `depthwise_bytes`, without a loop over a row of the window: the positions of a tile share its elements."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        _UnrolledWriter(op, self, emit).write(emit)


DEPTHWISE_BYTES_TAPS = _DepthwiseTaps(name="depthwise_bytes_taps", element=i8, is_lanewise=True)


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
