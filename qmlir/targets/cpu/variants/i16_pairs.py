"""`i16_pairs`: two integers of 16 bits a lane, both operands without zero points."""

from xdsl.dialects.builtin import i16
from xdsl.ir import SSAValue

from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.dialects.simd.memory import LoadGroupSplatOp
from qmlir.targets.cpu.loops.contraction.geometry import Operand, Place
from qmlir.targets.cpu.loops.contraction.tiles import TiledVariant
from qmlir.targets.cpu.loops.emitter import VectorEmitter


class Pairs(TiledVariant):
    """Reads pairs of 16 bits."""

    def read(self, emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
        wide = emit.with_lanes(2 * emit.lanes)
        return wide.insert(LoadGroupSplatOp(x.memory, [emit.index(each) for each in place], wide.typed(i16)))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.SS))


I16_PAIRS = Pairs(name="i16_pairs", group=2, element=i16, input_element=i16, is_centred=True)
