"""Writing one function: statements, variables and memory. What operations become is said by the tables beside it.

A value that is used once, in the block that makes it, is written where it is used; every other one gets a variable,
named as in the module where the module has a name for it.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import IndexType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from qmlir.ir.builtin_types import AnyMemRef, memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import memory_name
from qmlir.targets.cpu.emitters.text import Index, Names, Text, name_text, reads_of
from qmlir.targets.cpu.isa.base import InstructionSet

WIDTH = 110
"""Characters: longer expressions are divided into statements."""

INDENT = "    "

BY_HAND = "by_hand_"
"""What the names of functions that people wrote begin with in the emitted code."""


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


Value = Text | Index | Memory
EmitOperation = Callable[["FunctionWriter", Operation], None]


class FunctionWriter:
    """The statements of one function, and what its values are called."""

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], tables: "Tables", names: Names) -> None:
        self.emissions = emissions
        self.tables = tables
        self.names = names
        self.lines: list[str] = []
        self.depth = 1
        self.values: dict[SSAValue, Value] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        """The first and the last value of variables of loops whose bounds are known."""

        self.chunks: dict[str, range] = {}
        """The steps of a divided loop, by each bound of its chunks."""

        self.scratch_bytes = 0
        self.is_certain = True
        """Whether what is written now runs whatever the inputs are."""

    # --- Statements ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a statement."""
        self.lines.append(f"{INDENT * self.depth}{text}")

    @contextmanager
    def indented(self) -> Generator[None]:
        """Write the body of a statement; an empty one is `pass`."""
        self.depth += 1
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1

    def use(self, *names: str) -> None:
        """Import operations of the runtime."""
        self.tables.imported.update(names)

    def call(self, name: str, *operands: Text | Index | int | str) -> Text:
        """The call of an operation of the runtime."""
        self.use(name)
        return self.called(name, *operands)

    def called(self, name: str, *operands: Text | Index | int | str) -> Text:
        """The call of something that the emitted module has under this name."""
        reads = reads_of(each for each in operands if isinstance(each, Text | Index))
        return Text(f"{name}({', '.join(map(str, operands))})", reads)

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

    def hint(self, value: SSAValue, otherwise: str = "v") -> str:
        """What the module calls a value."""
        return value.name_hint or otherwise

    def variable(self, value: SSAValue, otherwise: str = "v") -> str:
        """A new variable for a value."""
        name = self.names.new(self.hint(value, otherwise))
        self.values[value] = Index.of(name_text(name)) if isinstance(value.type, IndexType) else name_text(name)
        return name

    def define(self, value: SSAValue, text: Text | Index, *, pure: bool = True) -> None:
        """Let `text` be `value`: in place where it is used once in this block, by a variable otherwise."""
        if not value.uses:
            if not pure:
                self.line(str(text))
            return
        if isinstance(text, Index):
            if text.is_simple or (pure and self._is_used_here(value)):
                self.values[value] = text
                return
        elif pure and self._is_used_here(value) and len(text.text) < WIDTH - 30:
            self.values[value] = text
            return
        expression = str(text)
        self.line(f"{self.variable(value)} = {expression}")

    @staticmethod
    def _is_used_here(value: SSAValue) -> bool:
        uses = list(value.uses)
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        return len(uses) == 1 and uses[0].operation.parent is block

    def assign(self, targets: Sequence[str], values: Sequence[Text]) -> None:
        """Assign all at once: what is read is what was before."""
        pairs = [(target, value) for target, value in zip(targets, values, strict=True) if value.text != target]
        pending: list[tuple[str, str]] = []
        for place, (target, value) in enumerate(pairs):
            is_read_later = any(target in later.reads for _, later in pairs[place + 1 :])
            if is_read_later:
                kept = self.names.new(f"next_{target}")
                self.line(f"{kept} = {value}")
                pending.append((target, kept))
            else:
                self.line(f"{target} = {value}")
        for target, kept in pending:
            self.line(f"{target} = {kept}")

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
            if op.has_trait(IsTerminator):
                return tuple(op.operands)
            self.operation(op)
        return ()

    def operation(self, op: Operation) -> None:
        """Write an operation. Raises `DiagnosticError` where it has no compiled form."""
        emit = self.emissions.get(type(op))
        if emit is None:
            raise op_error(op, "has no compiled form: loops hold scf, memref, arith, math, vector and simd")
        emit(self, op)

    def region(self, region: Region) -> tuple[SSAValue, ...]:
        """Write the one block of a region."""
        return self.block(region.block)


class Tables:
    """What the functions of a module share: what they import, and arrays of constant lanes."""

    def __init__(self, isa: InstructionSet) -> None:
        self.isa = isa
        """What the module is emitted for."""

        self.instructions: set[str] = set()
        """Those of its instructions that are named in the emitted module."""

        self.imported: set[str] = set()
        self.lanes: dict[tuple[str, str], str] = {}
        self.functions: dict[str, str] = {}
        """`module:function` of what people wrote, to its name here."""

    def function(self, row: str) -> str:
        """The name of the function of a custom kernel, which is imported from its module."""
        name = f"{BY_HAND}{len(self.functions)}_{row.partition(':')[2]}"
        return self.functions.setdefault(row, name)
