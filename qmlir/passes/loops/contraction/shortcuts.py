"""Steps of an epilogue that registers save: sums that begin with the bias, and results that leave by a saturation."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from qmlir.dialects.kernel.ops import YieldOp
from qmlir.dialects.simd.base import bits_of
from qmlir.dialects.simd.ops import NarrowOp
from qmlir.passes.integer.scalar_simplification import constant_of
from qmlir.passes.loops.vectors import VectorEmitter


@dataclass(frozen=True)
class Start:
    """What sums may begin with, instead of 0."""

    operand: int
    """The epilogue operand, an integer for each channel."""

    total: SSAValue
    """The addition of the body that this makes superfluous: addition of integers modulo 2^N has no order."""


def start_of(block: Block) -> Start | None:
    """The epilogue operand that is added to the sum before anything else happens to it."""
    sums = block.args[0]
    uses = list(sums.uses)
    addition = uses[0].operation if len(uses) == 1 else None
    if not isinstance(addition, arith.AddiOp):
        return None
    other = addition.rhs if addition.lhs is sums else addition.lhs
    if not isinstance(other, BlockArgument) or other.block is not block or other is sums:
        return None
    if len(list(other.uses)) != 1:
        return None
    return Start(other.index - 1, addition.result)


@dataclass(frozen=True)
class Saturation:
    """The end of an epilogue, a conversion to a narrower integer of what lies inside its range."""

    value: SSAValue
    """What is saturated."""

    element: Attribute

    def write(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> SSAValue:
        """The saturated lanes of registers, one behind the other."""
        return emit.insert(NarrowOp(registers, self.element))


_EXTREMES = (arith.MaxSIOp, arith.MinSIOp)


def saturation_of(block: Block) -> Saturation | None:
    """The saturation that the body of an epilogue ends with."""
    last = block.last_op
    truncated = last.operands[0].owner if isinstance(last, YieldOp) else None
    if not isinstance(truncated, arith.TruncIOp):
        return None
    value, element = truncated.input, truncated.result.type
    if isinstance(value.type, AnyFloat) or bits_of(element) not in (8, 16):
        return None
    limit = 1 << (bits_of(element) - 1)
    wanted: dict[type[Operation], int] = {arith.MaxSIOp: -limit, arith.MinSIOp: limit - 1}
    while isinstance(extreme := value.owner, _EXTREMES) and type(extreme) in wanted:
        if constant_of(extreme.rhs) != wanted.pop(type(extreme)):
            return None
        value = extreme.lhs
    return None if wanted else Saturation(value, element)
