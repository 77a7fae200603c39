"""`depthwise`: a channel a lane, each with its own weights, in the type of the sum."""

from xdsl.ir import SSAValue

from qmlir.targets.cpu.loops.contraction.geometry import Operand, Place, load, widened
from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.variants.splat import Splat


class Depthwise(Splat):
    """Reads the elements of as many channels as a register has lanes."""

    def read(self, emit: VectorEmitter, x: Operand, place: Place, count: int | None) -> SSAValue:
        return widened(emit, load(emit, x.memory, place, emit.lanes, count), x)


DEPTHWISE = Depthwise(name="depthwise", is_lanewise=True)
