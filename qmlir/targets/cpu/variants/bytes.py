"""`u8s8_dot` and `s8s8_dot`: four bytes a lane, moved into the range of one signedness, by weights of signed bytes."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.dialects.simd.memory import LoadGroupSplatOp
from qmlir.targets.cpu.loops.contraction.geometry import Operand, Place
from qmlir.targets.cpu.loops.contraction.tiles import TiledVariant
from qmlir.targets.cpu.loops.emitter import VectorEmitter


class ByteDots(TiledVariant):
    """Reads groups of bytes, moved by 128 where their signedness is another one: the highest bit changes."""

    def read(self, emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
        wide = emit.with_lanes(4 * emit.lanes)
        return self.moved(
            emit, x, wide.insert(LoadGroupSplatOp(x.memory, [emit.index(each) for each in place], wide.typed(i8)))
        )

    def moved(self, emit: VectorEmitter, x: Operand, value: SSAValue) -> SSAValue:
        """A register of bytes of `x` in the range that is multiplied."""
        wide = emit.with_lanes(4 * emit.lanes)
        is_moved = x.is_unsigned != self.reads_unsigned
        return wide.binary(arith.XOrIOp, value, wide.constant(-128, i8)) if is_moved else value

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.US if self.reads_unsigned else Signs.SS))


U8S8_DOT = ByteDots(name="u8s8_dot", group=4, element=i8, input_element=i8, reads_unsigned=True, sums_blocks=True)
"""Activations in the unsigned range, weights without zero point."""

S8S8_DOT = ByteDots(name="s8s8_dot", group=4, element=i8, input_element=i8, reads_unsigned=False, sums_blocks=True)
"""Both signed, weights without zero point."""
