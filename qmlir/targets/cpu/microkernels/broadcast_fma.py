"""Microkernels that multiply one element of `x` by a vector of weights, which memory may hold as bytes."""

from xdsl.dialects import arith
from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import AnyFloat, i8, i16, i32
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.loops.contraction.geometry import Operand, Place, load, widened
from qmlir.targets.cpu.loops.contraction.tiles import GroupVariant, TiledVariant
from qmlir.targets.cpu.loops.emitter import Emitter, VectorEmitter

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


# `splat_bytes` and `depthwise_bytes`: weights are bytes in memory, and are widened to the type of the sum when read.
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
