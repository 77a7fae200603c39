"""What the loops of all variants read: `x` and how its elements become numbers of the sum, and registers of memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, MemRefType
from xdsl.ir import Attribute, SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.base import vector
from qmlir.dialects.simd.memory import LoadOp, LoadPartialOp
from qmlir.targets.cpu.loops.affine import Index
from qmlir.targets.cpu.loops.emitter import Emitter, bits_of

Place = Sequence[Index]


@dataclass(frozen=True)
class Operand:
    """The memory of `x`, and how its elements become numbers of the sum."""

    memory: SSAValue
    is_unsigned: bool
    accumulator: Attribute

    @property
    def element(self) -> Attribute:
        """The type of an element in memory."""
        return cast(MemRefType[Attribute], self.memory.type).get_element_type()


def load(emit: Emitter, memory: SSAValue, place: Place, lanes: int, count: int | None = None) -> SSAValue:
    """Consecutive elements, or the first `count` of them and zeros."""
    element = cast(MemRefType[Attribute], memory.type).get_element_type()
    indices, type_ = [emit.index(each) for each in place], vector(lanes, element)
    if count is None:
        return emit.insert(LoadOp(memory, indices, type_))
    return emit.insert(LoadPartialOp(memory, indices, emit.index(count), type_))


def widened(emit: Emitter, value: SSAValue, x: Operand) -> SSAValue:
    """An element, or elements, in the type of the sum."""
    element = scalar_of(value.type)
    if element == x.accumulator:
        return value
    if isinstance(element, AnyFloat):
        return emit.convert(arith.ExtFOp, value, x.accumulator)
    if bits_of(element) == bits_of(x.accumulator):
        return value
    return emit.convert(arith.ExtUIOp if x.is_unsigned else arith.ExtSIOp, value, x.accumulator)
