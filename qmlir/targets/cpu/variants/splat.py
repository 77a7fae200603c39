"""`splat` and `splat_fma`: one element of `x` by a vector of weights, in the type of the sum.

`splat` takes integers of any width, and floats; `splat_fma` floats, a product and its sum rounded once.
"""

from xdsl.dialects import arith
from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.targets.cpu.loops.contraction.geometry import Operand, Place, widened
from qmlir.targets.cpu.loops.contraction.tiles import TiledVariant
from qmlir.targets.cpu.loops.emitter import Emitter, VectorEmitter


class Splat(TiledVariant):
    """Multiplies, and adds."""

    def read(self, emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
        scalars = Emitter(emit.builder, emit.constants)
        value = scalars.load(x.memory, [emit.index(each) for each in place])
        return emit.splat(widened(scalars, value, x))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        is_float = isinstance(scalar_of(sums.type), AnyFloat)
        product = emit.binary(arith.MulfOp if is_float else arith.MuliOp, x, w)
        return emit.binary(arith.AddfOp if is_float else arith.AddiOp, sums, product)


class Fused(Splat):
    """Does both at once."""

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(vector_ops.FMAOp(x, w, sums))


SPLAT, SPLAT_FMA = Splat(name="splat"), Fused(name="splat_fma")
