"""`splat_bytes` and `depthwise_bytes`: weights of a byte in memory, which are widened to the type of the sum when read.

They are products of elements, as in `splat`: a compiler of another language chooses the instructions. Weights take a
quarter of the memory that those in the type of the sum take.
"""

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from qmlir.targets.cpu.loops.emitter import VectorEmitter
from qmlir.targets.cpu.variants.depthwise import Depthwise
from qmlir.targets.cpu.variants.splat import Splat


class _Bytes(Splat):
    """Widens weights."""

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return emit.convert(arith.ExtSIOp, weights, i32)


class _DepthwiseBytes(_Bytes, Depthwise):
    """A channel a lane, too."""


SPLAT_BYTES = _Bytes(name="splat_bytes", element=i8)
DEPTHWISE_BYTES = _DepthwiseBytes(name="depthwise_bytes", element=i8, is_lanewise=True)
