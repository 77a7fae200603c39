"""Places that operations on memory reach: elements, rows of vectors, scratch memory and bytes."""

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.memref import AllocaOp, ViewOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.simd.base import lanes_of
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import item_size
from qmlir.targets.cpu.emitters.text import Index
from qmlir.targets.cpu.emitters.writing import LoopsWriter, Memory

MOST_SCRATCH = 1 << 22
"""The bytes of scratch memory of a function: it lies on the stack."""


def contiguous_from(*memories: Memory) -> int:
    """The first axis from which on all of these memories of one shape lie without a gap: such runs are copied whole."""
    run = len(memories[0].shape)
    while run and all(each.is_run(run - 1) for each in memories):
        run -= 1
    return run


class PlaceWriter(LoopsWriter):
    """A writer of functions that finds the places of operations on memory."""

    def element_place(self, op: Operation, value: SSAValue, indices: Sequence[SSAValue]) -> tuple[Memory, Index]:
        """A memory, and the place of one element in it."""
        memory, places = self.memory(value), [self.index(index) for index in indices]
        self.check_indices(op, memory, places)
        return memory, memory.place(places)

    def row_place(
        self, op: Operation, memory: SSAValue, indices: Sequence[SSAValue], elements: int = 1, slack: int = 0
    ) -> tuple[Memory, Index]:
        """A memory, and the place of `elements` consecutive elements in it: rows of a memory go on in the next.

        So many bytes of `slack` after them may be read.
        """
        found, places = self.memory(memory), [self.index(index) for index in indices]
        inside = replace(found, offset=Index()).place(places)
        self.check_places(op, inside, elements, found.reach + 1 + slack // item_size(found.element))
        return found, found.place(places)

    def known_count(self, count: SSAValue, vector: SSAValue) -> int:
        """How many lanes are read or written, as far as it is known: what depends on the inputs may be none."""
        return min(max(self.index(count).number or 0, 0), lanes_of(vector))

    def scratch_count(self, op: AllocaOp) -> int:
        """The elements of scratch memory. Raises `DiagnosticError` where they are not known, or too many."""
        type_ = op.memref.type
        if op.dynamic_sizes or not isinstance(type_.layout, NoneAttr):
            raise op_error(op, f"takes scratch memory of {type_}: compiled are known sizes without a layout")
        count = math.prod(type_.get_shape())
        self.scratch_bytes += count * item_size(type_.get_element_type())
        if self.scratch_bytes > MOST_SCRATCH:
            found = f"all of a function is {self.scratch_bytes} bytes, {MOST_SCRATCH} is most"
            raise op_error(op, f"takes scratch memory: {found}")
        return count

    def viewed_bytes(self, op: ViewOp) -> tuple[Memory, Index, int]:
        """The memory of bytes that is viewed, the byte where the view begins, and the elements of the view."""
        source, type_ = self.memory(op.source), op.result.type
        if op.sizes:
            raise op_error(op, f"has sizes that are not known: {type_}")
        start = source.place([Index()] * len(source.shape)).plus(self.index(op.byte_shift))
        count = math.prod(type_.get_shape())
        self.check_places(op, start, count * item_size(type_.get_element_type()), source.count)
        return source, start, count
