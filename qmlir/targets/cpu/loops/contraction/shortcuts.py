"""Steps of an epilogue that registers save: sums that begin with the bias, and results that leave by a saturation."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from qmlir.analysis.readings import is_inside
from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.kernel.ops import YieldOp
from qmlir.dialects.simd.base import bits_of
from qmlir.dialects.simd.lanes import NarrowOp
from qmlir.passes.integer.scalar_simplification import known_integer
from qmlir.targets.cpu.loops.contraction.forms import has_form, written_on
from qmlir.targets.cpu.loops.emitter import VectorEmitter


@dataclass(frozen=True)
class Start:
    """What sums may begin with, instead of 0."""

    operand: int
    """The epilogue operand, an integer for each channel."""

    total: SSAValue
    """The addition of the body that this makes superfluous: addition of integers modulo 2^N has no order."""

    addend: SSAValue
    """What it is added to: the sum, or the sum where it is shifted."""

    def known(self, register: SSAValue) -> dict[SSAValue, SSAValue]:
        """The values of the body that a register of sums is."""
        return {self.total: register, self.addend: register}


def _shifted(sums: SSAValue, spare: int) -> SSAValue | None:
    """What a body makes of the sum, where it takes it `2^spare` times as large."""
    shift = sums.get_user_of_unique_use()
    is_shift = isinstance(shift, arith.ShLIOp) and shift.lhs is sums and known_integer(shift.rhs) == spare
    return shift.results[0] if shift is not None and is_shift else None


def start_of(block: Block, spare: int = 0) -> Start | None:
    """The epilogue operand that is added to the sum, `2^spare` times as large, before anything else happens to it."""
    sums = _shifted(block.args[0], spare) if spare else block.args[0]
    if sums is None:
        return None
    addition = sums.get_user_of_unique_use()
    if not isinstance(addition, arith.AddiOp):
        return None
    other = addition.rhs if addition.lhs is sums else addition.lhs
    if not isinstance(other, BlockArgument) or other.block is not block or other is sums or not other.has_one_use():
        return None
    return Start(other.index - 1, addition.result, sums)


@dataclass(frozen=True)
class Saturation:
    """The end of an epilogue: a conversion to a narrower integer of what lies inside its range, and what follows."""

    value: SSAValue
    """What is saturated."""

    narrowed: SSAValue
    """What the body calls the saturated number."""

    tail: Sequence[Operation]
    """What is made of that alone, and of constants: a table is looked up for as many bytes as a register has."""

    result: SSAValue
    """What the body yields."""

    def write(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> SSAValue:
        """The results of registers, one behind the other."""
        values = {self.narrowed: emit.insert(NarrowOp(registers, self.narrowed.type))}
        together = emit.with_lanes(emit.lanes * len(registers))
        for op in self.tail:
            values[op.results[0]] = written_on(together, op, values)
        return values[self.result]


_EXTREMES = (arith.MaxSIOp, arith.MinSIOp)


def saturation_of(block: Block) -> Saturation | None:
    """The saturation that the body of an epilogue ends with, but for what is computed of its result alone."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        return None
    for op in reversed(list(block.ops)):
        if isinstance(op, arith.TruncIOp) and (tail := _tail(block, op.result, last.operands[0])) is not None:
            value = saturated_by(op)
            return None if value is None else Saturation(value, op.result, tail, last.operands[0])
    return None


def _tail(block: Block, start: SSAValue, end: SSAValue) -> Sequence[Operation] | None:
    """The operations from one value of a body to the one that it yields, of the same type, if nothing else comes in."""
    wanted, found = {end} - {start}, list[Operation]()
    for op in reversed(list(block.ops)):
        if not wanted & set(op.results):
            continue
        wanted -= set(op.results)
        if not has_form(op):
            return None
        found.append(op)
        wanted |= {each for each in op.operands if is_inside(each, block)} - {start}
    known = {value for op in found for value in op.results}
    is_all = all(use.operation in found for use in start.uses) or start is end
    return found[::-1] if not wanted and is_all and (start is end or end in known) and end.type == start.type else None


def saturated_by(truncated: arith.TruncIOp) -> SSAValue | None:
    """What a truncation takes that was brought into the range of its result."""
    value, element = truncated.input, truncated.result.type
    if isinstance(value.type, AnyFloat) or bits_of(element) not in (8, 16):
        return None
    low, high = integer_limits(bits_of(element))
    wanted: dict[type[Operation], int] = {arith.MaxSIOp: low, arith.MinSIOp: high}
    while isinstance(extreme := value.owner, _EXTREMES) and type(extreme) in wanted:
        if known_integer(extreme.rhs) != wanted.pop(type(extreme)):
            return None
        value = extreme.lhs
    return None if wanted else value
