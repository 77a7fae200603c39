"""How the `calib` operations become stored integers: what passes a gradient is what it gives."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.calib.ops import StraightThroughOp
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering


def _straight_through(op: StraightThroughOp, at: Lowering) -> Sequence[SSAValue]:
    return (at.value(op.hard),)


LOWERINGS: dict[type[Operation], Lower] = {StraightThroughOp: _straight_through}
