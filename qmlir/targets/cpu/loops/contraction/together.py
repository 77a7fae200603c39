"""The part of an epilogue that several registers of sums share: what is narrow, around tables of 256 bytes.

Sums of 32 bits fill a register with a quarter of the bytes that it holds. A table in registers is looked up for as many
bytes as there are, so what is computed of saturated numbers around it stands once for all registers of a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AnyFloat, IndexType, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from qmlir.analysis.readings import is_inside
from qmlir.dialects.kernel.ops import YieldOp, scalar_of
from qmlir.dialects.simd.base import bits_of
from qmlir.dialects.simd.lanes import NarrowOp
from qmlir.dialects.simd.memory import is_byte_table
from qmlir.targets.cpu.loops.contraction.forms import has_form, written_on
from qmlir.targets.cpu.loops.contraction.shortcuts import saturated_by
from qmlir.targets.cpu.loops.emitter import VectorEmitter

_NARROW = 16
"""The bits up to which numbers are computed together: those of a place in a table that was split."""


def _is_narrow(value: SSAValue) -> bool:
    if isinstance(value.type, AnyFloat | MemRefType):
        return False
    return isinstance(value.type, IndexType) or bits_of(value.type) <= _NARROW  # of a place a byte is left


def _operands(op: Operation, block: Block) -> list[SSAValue]:
    """What an operation of a body takes that is not the same everywhere."""
    return [each for each in op.operands if is_inside(each, block) and not isinstance(each.owner, arith.ConstantOp)]


def _yielded(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None
    return block.last_op.operands


def _looks_up(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp) and len(op.indices) == 1 and is_byte_table(op.memref)


@dataclass(frozen=True)
class JointEpilogue:
    """What is computed for all registers of a row at once."""

    narrowed: Mapping[SSAValue, SSAValue]
    """Saturated numbers, and what each is before that: here registers come together."""

    values: frozenset[SSAValue]
    """These, elements of narrow operands, and what is made of them alone."""

    look_ups: frozenset[Operation]
    """What reads tables of bytes."""

    @classmethod
    def of(cls, block: Block, readable: Sequence[BlockArgument]) -> "JointEpilogue | None":
        """What the operations around the tables of a body share, `None` where it looks up none of 256 bytes.

        `readable` are the arguments whose elements lie beside each other in memory.
        """
        narrowed: dict[SSAValue, SSAValue] = {}
        sources: dict[SSAValue, list[SSAValue]] = {each: [] for each in readable if _is_narrow(each)}
        look_ups, behind = set[Operation](), set[SSAValue]()
        for op in block.ops:
            operands = _operands(op, block)
            if isinstance(op, YieldOp) or not operands:
                continue
            if isinstance(op, arith.TruncIOp) and (before := saturated_by(op)) is not None:
                narrowed[op.result], sources[op.result] = before, []
            elif all(each in sources for each in operands) and has_form(op) and all(map(_is_narrow, op.results)):
                (result,) = op.results
                sources[result] = operands
                if _looks_up(op):
                    look_ups.add(op)
                if _looks_up(op) or any(each in behind for each in operands):
                    behind.add(result)
        if not look_ups:
            return None
        found, wanted = set[SSAValue](), [*behind, *(each for each in _yielded(block) if each in sources)]
        while wanted:
            value = wanted.pop()
            found.add(value)
            wanted += [each for each in sources[value] if each not in found]
        needed = {value: before for value, before in narrowed.items() if value in found}
        return cls(needed, frozenset(found), frozenset(look_ups))


@dataclass(frozen=True)
class Registers:
    """Writes what the body of an epilogue makes of some registers of a row, each value once it is asked for."""

    emit: VectorEmitter
    block: Block
    together: JointEpilogue
    known: Sequence[dict[SSAValue, SSAValue]]
    """The values of each register that are there."""

    read: Callable[[BlockArgument, int, int], SSAValue]
    """The elements of an argument from a register on, as many as so many registers have lanes."""

    _shared: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def results(self) -> list[SSAValue]:
        """What the body yields: one vector for all registers where they share it, otherwise one for each."""
        (result,) = _yielded(self.block)
        if result in self.together.values:
            return [self.all(result)]
        return [self.one(result, place) for place in range(len(self.known))]

    def all(self, value: SSAValue) -> SSAValue:
        """A value that all registers share, their lanes one behind the other."""
        if value not in self._shared:
            self._shared[value] = self._written(value)
        return self._shared[value]

    def _written(self, value: SSAValue) -> SSAValue:
        if value in self.together.narrowed:
            before = self.together.narrowed[value]
            return self.emit.insert(NarrowOp([self.one(before, place) for place in range(len(self.known))], value.type))
        if isinstance(value, BlockArgument):
            return self.read(value, 0, len(self.known))
        assert isinstance(value.owner, Operation)
        return self._write(self.emit.with_lanes(self.emit.lanes * len(self.known)), value.owner, self.all)

    def one(self, value: SSAValue, place: int) -> SSAValue:
        """A value of one register."""
        known = self.known[place]
        if value not in known:
            if value in self.together.values:
                lanes = self.emit.lanes
                known[value] = self.emit.part(self.all(value), place * lanes, lanes)
            elif isinstance(value, BlockArgument):
                known[value] = self.read(value, place, 1)
            else:
                assert isinstance(value.owner, Operation)
                known[value] = self._write(self.emit, value.owner, lambda each: self.one(each, place))
        return known[value]

    def _write(self, emit: VectorEmitter, op: Operation, ask: Callable[[SSAValue], SSAValue]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = {}
        for each in op.operands:
            if isinstance(each.owner, arith.ConstantOp) and is_inside(each, self.block):
                values[each] = written_on(emit, each.owner, {})
            elif is_inside(each, self.block):
                values[each] = ask(each)
        result = written_on(emit, op, values)
        return emit.splat(result) if scalar_of(result.type) == result.type else result
