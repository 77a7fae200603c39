"""Writing one function of loops in any language: its values, its memory, and which of its accesses lie outside.

What operations become is said by tables of the emitters; each has a writer of its own, made of this one.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import NoneAttr, StridedLayoutAttr
from xdsl.dialects.memref import AllocaOp, ViewOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qmlir.dialects.simd.base import lanes_of
from qmlir.ir.builtin_types import AnyMemRef, integer_list, memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import is_terminator
from qmlir.targets.cpu.emitters.elements import item_size, memory_name
from qmlir.targets.cpu.emitters.text import Index, Names, Text, name_text

WIDTH = 110
"""Characters: longer expressions are divided into statements."""

INDENT = "    "


@dataclass(frozen=True)
class Memory:
    """Memory as the emitted code sees it: a flat array, and where and how far apart in it the elements lie."""

    array: str
    offset: Index
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Attribute
    count: int
    """The elements of the array."""

    @property
    def reach(self) -> int:
        """The distance from the first element to the last one; strides are not negative."""
        return sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    def place(self, indices: Sequence[Index]) -> Index:
        """Where in the array the element at `indices` lies."""
        place = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            place = place.plus(index.times(stride))
        return place

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def is_run(self, axis: int) -> bool:
        """Whether the elements along an axis have no gaps between them, as far as the axes after it have none."""
        return self.shape[axis] == 1 or self.strides[axis] == math.prod(self.shape[axis + 1 :])

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are contiguous in row-major order."""
        return self.size <= 1 or all(
            size == 1 or stride == math.prod(self.shape[axis + 1 :])
            for axis, (size, stride) in enumerate(zip(self.shape, self.strides, strict=True))
        )


def static_strides(op: Operation, type_: AnyMemRef) -> tuple[int, ...]:
    """How far apart neighbours along each axis lie. Raises `DiagnosticError` where that is unknown."""
    shape, layout = type_.get_shape(), type_.layout
    if any(size < 0 for size in shape):
        raise op_error(op, f"has memory of {type_}: shapes must be known")
    if isinstance(layout, NoneAttr):
        return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    if isinstance(layout, StridedLayoutAttr):
        strides = layout.get_strides()
        if all(stride is not None and stride >= 0 for stride in strides):
            return tuple(cast(tuple[int, ...], strides))
    raise op_error(op, f"has memory of {type_}: strides must be known, and not negative")


def contiguous_from(*memories: Memory) -> int:
    """The first axis from which on all of these memories of one shape lie without a gap: such runs are copied whole."""
    run = len(memories[0].shape)
    while run and all(each.is_run(run - 1) for each in memories):
        run -= 1
    return run


MOST_SCRATCH = 1 << 22
"""The bytes of scratch memory of a function: it lies on the stack."""


def _product(a: Index, b: Index) -> Index | None:
    if a.number is not None:
        return b.times(a.number)
    return None if b.number is None else a.times(b.number)


FOLDED: Mapping[type[Operation], Callable[[Index, Index], Index | None]] = {
    arith.AddiOp: Index.plus,
    arith.SubiOp: lambda a, b: a.plus(b.times(-1)),
    arith.MuliOp: _product,
}
"""Operations on indices that give sums, a product where one factor is known."""


Value = Text | Index | Memory


def mnemonic(op: type[Operation]) -> str:
    """The name of operations without their dialect."""
    return op.name.partition(".")[2]


class LoopsWriter:
    """What the values of a function are called, and where its memory lies."""

    def __init__(self, emissions: Mapping[type[Operation], Callable[[Any, Operation], None]], names: Names) -> None:
        self.emissions = emissions
        self.names = names
        self.depth: int = 1
        self.values: dict[SSAValue, Any] = {}
        """By value of the module a `Value`, or what the emitter has for a value in a register."""

        self.ranges: dict[str, tuple[int, int]] = {}
        """The first and the last value of variables of loops whose bounds are known."""

        self.chunks: dict[str, range] = {}
        """The steps of a divided loop, by each bound of its chunks."""

        self.scratch_bytes = 0
        self.is_certain = True
        """Whether what is written now runs whatever the inputs are."""

    def declare_index(self, name: str, value: Index) -> None:
        """Write a variable of type `index` that is not changed."""
        raise NotImplementedError

    def kept(self, hint: str, value: Index) -> Index:
        """`value`, as a variable where it is a sum."""
        if value.is_simple:
            return value
        name = self.names.new(hint)
        self.declare_index(name, value)
        return Index.of(name_text(name))

    # --- Values -------------------------------------------------------------------------------------------------------

    def text(self, value: SSAValue) -> Text:
        """A value as an expression."""
        found = self.values[value]
        assert not isinstance(found, Memory)
        return found.as_text() if isinstance(found, Index) else found

    def index(self, value: SSAValue) -> Index:
        """A value of type `index` as a sum."""
        found = self.values[value]
        assert not isinstance(found, Memory)
        return found if isinstance(found, Index) else Index.of(found)

    def memory(self, value: SSAValue) -> Memory:
        """A value that is memory."""
        found = self.values[value]
        assert isinstance(found, Memory)
        return found

    def folded(self, op: Operation) -> Index | None:
        """The sum that an operation on indices gives, `None` where it gives none."""
        fold = FOLDED.get(type(op))
        return None if fold is None else fold(*(self.index(value) for value in op.operands))

    def lane_index(self, op: vector.ExtractOp | vector.InsertOp) -> Index:
        """The lane that is taken out of a vector or put into it."""
        (static,) = integer_list(op.static_position)
        return self.index(op.dynamic_position[0]) if op.dynamic_position else Index(constant=static)

    def bounds(self, op: Operation, values: Sequence[SSAValue]) -> tuple[Index, Index, Index]:
        """The bounds and the step of a loop. Raises `DiagnosticError` for a step that is known not to be positive."""
        lower, upper, step = map(self.index, values)
        if step.number is not None and step.number < 1:
            raise op_error(op, f"goes on by {step.number}: the step of a loop is positive")
        return lower, upper, step

    def hint(self, value: SSAValue, otherwise: str = "v") -> str:
        """What the module calls a value."""
        return value.name_hint or otherwise

    @staticmethod
    def is_used_here(value: SSAValue) -> bool:
        """Whether a value is used once, in the block that makes it."""
        uses = list(value.uses)
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        return len(uses) == 1 and uses[0].operation.parent is block

    # --- Memory -------------------------------------------------------------------------------------------------------

    def array_memory(
        self, op: Operation, value: SSAValue, array: str, offset: Index | None = None, count: int | None = None
    ) -> Memory:
        """Let `value` be the memory from `offset` on in a flat array of its elements, `count` of them or just those."""
        type_ = memref_type(value)
        assert type_ is not None
        strides, shape, start = static_strides(op, type_), tuple(type_.get_shape()), offset or Index()
        memory = Memory(array, start, shape, strides, type_.get_element_type(), 0)
        memory = replace(memory, count=memory.reach + 1 if count is None else count)
        memory_name(op, memory.element)
        self.values[value] = memory
        return memory

    def view_memory(self, op: Operation, value: SSAValue, memory: Memory) -> None:
        """Let `value` be a part of an array. Raises `DiagnosticError` where its type says another, or it lies outside.

        Kernels address what they are given by its type: a type that lies would lead them out of the memory.
        """
        type_ = memref_type(value)
        assert type_ is not None
        declared = static_strides(op, type_)
        sizes = zip(type_.get_shape(), memory.shape, declared, memory.strides, strict=False)
        if len(declared) != len(memory.shape) or any(
            size != own or (size > 1 and stride != step) for size, own, stride, step in sizes
        ):
            found = f"the shape {list(memory.shape)} and the strides {list(memory.strides)}"
            raise op_error(op, f"has the type {type_} for memory of {found}")
        if min(memory.shape, default=1) > 0:
            self.check_places(op, memory.offset, memory.reach + 1, memory.count)
        self.values[value] = memory

    def interval(self, index: Index) -> tuple[int, int] | None:
        """The least and the largest value of a sum, both of which it has; `None` where that is not known.

        Variables of loops are independent of each other, so that a sum of them has the sums of their ends.
        """
        low = high = index.constant
        for term, factor in index.terms.items():
            found = self.ranges.get(term.text) if self.is_certain else None
            if found is None:
                return None
            ends = sorted(factor * end for end in found)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def check_places(self, op: Operation, place: Index, elements: int, size: int, what: str = "memory") -> None:
        """Refuse `elements` from a place on where it is known that they don't all lie in memory of `size` elements.

        What depends on numbers that come with the inputs is not known here, and is up to the author of the module.
        """
        found = self.interval(place)
        if found is None or (found[0] >= 0 and found[1] + elements <= size):
            return
        outside = found[0] if found[0] < 0 else found[1] + elements - 1
        raise op_error(op, f"reaches element {outside} of {what} of {size} elements")

    def check_indices(self, op: Operation, memory: Memory, indices: Sequence[Index]) -> None:
        """Refuse an element of which it is known that an index lies outside of its axis."""
        for axis, (index, size) in enumerate(zip(indices, memory.shape, strict=True)):
            self.check_places(op, index, 1, size, f"axis {axis}")

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

    @contextmanager
    def steps(self, name: str, lower: Index, upper: Index, step: Index) -> Generator[None]:
        """Inside the `with` block is the body of a loop whose variable is `name`.

        A loop over a chunk takes all steps in some chunk, so that its variable has all values from 0 on.
        """
        numbers = lower.number, upper.number, step.number
        taken = self.chunks.get(str(upper), range(0)) if step.number == 1 and str(lower) in self.chunks else range(0)
        if None not in numbers:
            taken = range(*cast(tuple[int, int, int], numbers))
        with self.perhaps(not taken):
            if self.is_certain:
                self.ranges[name] = taken[0], taken[-1]
            yield

    @contextmanager
    def perhaps(self, may_not: bool = True) -> Generator[None]:
        """What is written inside the `with` block may not run."""
        before, self.is_certain = self.is_certain, self.is_certain and not may_not
        yield
        self.is_certain = before

    # --- Operations ---------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> tuple[SSAValue, ...]:
        """Write the operations of a block; the operands of its terminator."""
        for op in block.ops:
            if is_terminator(type(op)):
                return tuple(op.operands)
            self.operation(op)
        return ()

    def operation(self, op: Operation) -> None:
        """Write an operation. Raises `DiagnosticError` where it has no compiled form."""
        emit = self.emissions.get(type(op))
        if emit is None:
            raise op_error(op, "cannot be compiled: expected an operation of scf, memref, arith, math, vector or simd")
        emit(self, op)

    def region(self, region: Region) -> tuple[SSAValue, ...]:
        """Write the one block of a region."""
        return self.block(region.block)
