"""Writing the operations of a loop: one vocabulary for scalars and, in a subclass, for vectors of lanes.

An expansion that is written against `Emitter` serves both: element types go in, values of the emitter's own kind come
out. Constants are made once, at a place of their own in front of the loops.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Self, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, MemRefType, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Number, number_attribute
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.ir.builtin_types import as_integer

_MAGIC = 1.5 * 2**23
"""Added to an f32 of magnitude up to 2^22 it leaves the whole number, ties to even, in the low bits."""

_MAGIC_BITS = int(np.float32(_MAGIC).view(np.int32))


def bits_of(type_: Attribute) -> int:
    """The width of an integer, or of the integers in a vector."""
    integer = as_integer(scalar_of(type_))
    assert integer is not None
    return integer.width.data


class Emitter(ArithBuilder):
    """Writes operations on scalars where `builder` stands, and each constant once where `constants` stands.

    A subclass for vectors overrides `round_to_integer` besides what `ArithBuilder` says.
    """

    def __init__(self, builder: Builder, constants: Builder):
        super().__init__(builder)
        self.constants = constants
        self._known: dict[tuple[Attribute, str], SSAValue] = {}

    def at_end(self, block: Block) -> Self:
        """An emitter of the same kind and with the same constants, which writes at the end of a block."""
        other = copy(self)
        other.builder = Builder(InsertPoint.at_end(block))
        return other

    @contextmanager
    def loop(
        self, end: SSAValue | int, start: SSAValue | int = 0, step: int = 1, *, threads: bool = False
    ) -> Generator[tuple[Self, SSAValue | int]]:
        """A loop from `start` to below `end`: the emitter of its body, and the number of the step. None for one step.

        Its steps are independent of each other where `threads` may divide it.
        """
        if (start, end, step) == (0, 1, 1):
            yield self, 0
            return
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[IndexType()])
        inner = self.at_end(block)
        yield inner, block.args[0]
        if threads:
            inner.builder.insert(scf.ReduceOp())
            self.builder.insert(scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(block)))
        else:
            inner.builder.insert(scf.YieldOp())
            self.builder.insert(scf.ForOp(*bounds, [], block))

    def carried(
        self, end: int, values: Sequence[SSAValue],
        write: Callable[[Self, SSAValue | int, Sequence[SSAValue]], Sequence[SSAValue]], start: int = 0, step: int = 1,
    ) -> Sequence[SSAValue]:  # fmt: skip
        """`write` from `start` to below `end`, each with the values of the step before; the last ones."""
        if (start, end, step) == (0, 1, 1):
            return write(self, 0, values)
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[IndexType(), *(value.type for value in values)])
        inner = self.at_end(block)
        inner.builder.insert(scf.YieldOp(*write(inner, block.args[0], block.args[1:])))
        return self.builder.insert(scf.ForOp(*bounds, values, block)).results

    def scalar_constant(self, number: Number, element: Attribute) -> SSAValue:
        key = element, str(number)  # -0.0 equals 0.0 and is another constant
        if key not in self._known:
            self._known[key] = self.constants.insert(arith.ConstantOp(number_attribute(number, element))).result
        return self._known[key]

    def index(self, value: SSAValue | int) -> SSAValue:
        """A number as a value of type `index`."""
        return self.scalar_constant(value, IndexType()) if isinstance(value, int) else value

    def resize(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A signed integer in another width."""
        difference = bits_of(element) - bits_of(value.type)
        if not difference:
            return value
        return self.convert(arith.ExtSIOp if difference > 0 else arith.TruncIOp, value, element)

    def clamp(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """`value` kept inside [low, high], which its type holds exactly; no float is NaN here."""
        element = scalar_of(value.type)
        bounds = self.constant(low, element), self.constant(high, element)
        if not isinstance(element, AnyFloat):
            return self.binary(arith.MinSIOp, self.binary(arith.MaxSIOp, value, bounds[0]), bounds[1])
        # A comparison and a choice are one instruction of every CPU, arith.maximumf has NaN and -0 to care for.
        value = self.select(self.compare("ogt", value, bounds[0]), value, bounds[0])
        return self.select(self.compare("olt", value, bounds[1]), value, bounds[1])

    def round_even(self, value: SSAValue) -> SSAValue:
        """A float rounded to a whole number, ties to even."""
        return self.insert(math.RoundEvenOp(value))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        """An f32 of magnitude up to 2^22, rounded ties to even, plus `offset`, as i32.

        Adding 1.5 * 2^23 leaves no room for a fraction, so the addition itself rounds; the bits of the sum count from
        those of that number.
        """
        shifted = self.binary(arith.AddfOp, value, self.constant(_MAGIC, scalar_of(value.type)))
        bits = self.convert(arith.BitcastOp, shifted, i32)
        return self.binary(arith.AddiOp, bits, self.constant(offset - _MAGIC_BITS, i32))

    def load(self, memory: SSAValue, place: Sequence[SSAValue | int]) -> SSAValue:
        """The element at a place."""
        type_ = cast(MemRefType[Attribute], memory.type)
        indices = [self.index(index) for index in place]
        return self.insert(memref.LoadOp(operands=[memory, indices], result_types=[type_.get_element_type()]))

    def store(self, value: SSAValue, memory: SSAValue, place: Sequence[SSAValue | int]) -> None:
        """Write the element at a place."""
        self.builder.insert(memref.StoreOp.get(value, memory, [self.index(index) for index in place]))
