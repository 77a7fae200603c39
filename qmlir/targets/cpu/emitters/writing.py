"""The language-independent part of emitting a function of loops: values, memory, and bounds checks of accesses.

Each emitter has a subclass of the writer, and tables of functions that emit operations.
"""

import keyword
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, NoneAttr, StridedLayoutAttr
from xdsl.dialects.memref import AllocaOp, ViewOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qmlir.analysis.symbols import first_free
from qmlir.dialects.simd.base import bits_of, element_of, lanes_of
from qmlir.dialects.simd.lanes import CompareOp, Conversion, ConvertOp, DotAccumulateOp, MultiplyPairsOp
from qmlir.dialects.simd.memory import TileTransferOp
from qmlir.ir.builtin_types import AnyMemRef, integer_list, memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import is_terminator
from qmlir.targets.cpu.emitters.elements import item_size, memory_name
from qmlir.targets.cpu.isa.base import MULTIPLY_PAIRS, InstructionSet

# Building blocks of emitted code: expressions with the variables that they read, symbolic indices, and names.

ATOM, UNARY = 2, 1


@dataclass(frozen=True)
class Text:
    """An expression; `reads` are its variables, and `is_atom` means that it needs no parentheses."""

    text: str
    reads: frozenset[str] = frozenset()
    is_atom: bool = True

    def __str__(self) -> str:
        return self.text

    @property
    def inner(self) -> str:
        """The expression as an operand, in parentheses if necessary."""
        return self.text if self.is_atom else f"({self.text})"


def name_text(name: str) -> Text:
    """Returns a variable as an expression."""
    return Text(name, frozenset({name}))


def reads_of(texts: "Iterable[Text | Index]") -> frozenset[str]:
    """Returns the variables that expressions read."""
    return frozenset(name for text in texts for name in text.reads)


@dataclass(frozen=True)
class Index:
    """A symbolic index: a constant plus a sum of expressions with constant factors."""

    terms: Mapping[Text, int] = field(default_factory=dict[Text, int])
    constant: int = 0

    @staticmethod
    def of(value: Text) -> "Index":
        """Returns the index with a single term."""
        return Index({value: 1})

    @property
    def reads(self) -> frozenset[str]:
        """The variables in the terms."""
        return reads_of(self.terms)

    @property
    def number(self) -> int | None:
        """The value if it is constant, else `None`."""
        return None if self.terms else self.constant

    def plus(self, other: "Index") -> "Index":
        """Returns the sum with another index."""
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Index({term: factor for term, factor in terms.items() if factor}, self.constant + other.constant)

    def times(self, factor: int) -> "Index":
        """Returns the product with a constant."""
        if not factor:
            return Index()
        return Index({term: each * factor for term, each in self.terms.items()}, self.constant * factor)

    def __str__(self) -> str:
        text = ""
        for term, factor in self.terms.items():
            size = abs(factor)
            product = term.inner if size == 1 else f"{term.inner}*{size}"
            text += (" - " if factor < 0 else " + ") + product
        if self.constant or not text:
            text += f" - {-self.constant}" if self.constant < 0 else f" + {self.constant}"
        return text[3:] if text.startswith(" + ") else f"-{text[3:]}"

    @property
    def is_simple(self) -> bool:
        """True for a constant or a single expression."""
        return len(self.terms) + bool(self.constant) <= 1 and all(factor == 1 for factor in self.terms.values())

    def as_text(self) -> Text:
        """Returns the index as an expression."""
        if self.is_simple and self.terms:
            return next(iter(self.terms))
        return Text(str(self), self.reads, self.is_simple and self.constant >= 0)


_NO_IDENTIFIER = re.compile(r"\W+", re.ASCII)


LONGEST = 100
"""The maximum number of characters that a hint adds to a name; numba names files after functions."""


class Names:
    """Creates unused identifiers that `avoids` doesn't reject; it must accept most names that begin with `of_`."""

    def __init__(self, taken: Iterable[str] = (), avoids: Callable[[str], bool] = lambda _: False) -> None:
        self._taken = {*taken, *keyword.kwlist, *keyword.softkwlist}
        self._avoids = avoids

    def _is_taken(self, name: str) -> bool:
        return name in self._taken or self._avoids(name)

    def new(self, hint: str) -> str:
        """Returns an unused identifier similar to `hint`."""
        base = _NO_IDENTIFIER.sub("_", hint[:LONGEST]).strip("_") or "v"
        if base[0].isdigit():
            base = f"v{base}"
        if self._avoids(base) and self._avoids(f"{base}_2"):  # the prefix is the problem
            base = f"of_{base}"
        name = base
        if self._is_taken(base):
            name = f"{base}_{first_free(lambda number: self._is_taken(f'{base}_{number}'), 2)}"
        self._taken.add(name)
        return name


WIDTH = 110
"""The maximum width of a line, in characters; longer expressions are split into statements."""

INDENT = "    "


@dataclass(frozen=True)
class Memory:
    """A memref in emitted code: a flat array with the offset, shape and strides of the elements in it."""

    array: str
    offset: Index
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Attribute
    count: int
    """The number of elements of the array."""

    @property
    def reach(self) -> int:
        """The distance from the first element to the last one, in elements. No stride is negative."""
        return sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    def position(self, indices: Sequence[Index]) -> Index:
        """Returns the position in the array of the element at `indices`."""
        position = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            position = position.plus(index.times(stride))
        return position

    def is_run(self, axis: int) -> bool:
        """Returns true if `axis` has no gaps, provided that the axes after it have none."""
        return self.shape[axis] == 1 or self.strides[axis] == math.prod(self.shape[axis + 1 :])

    @property
    def is_contiguous(self) -> bool:
        """True if the elements are contiguous in row-major order."""
        return math.prod(self.shape) <= 1 or all(map(self.is_run, range(len(self.shape))))


def static_strides(op: Operation, type_: AnyMemRef) -> tuple[int, ...]:
    """Returns the stride of each axis, in elements. Raises `DiagnosticError` if a stride is unknown."""
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
    """Returns the first axis from which all `memories` are contiguous, so that each run is copied at once.

    The memories must have the same shape.
    """
    run = len(memories[0].shape)
    while run and all(each.is_run(run - 1) for each in memories):
        run -= 1
    return run


MOST_SCRATCH = 1 << 22
"""The maximum size of a function's scratch memory, in bytes; it is on the stack."""


def _product(a: Index, b: Index) -> Index | None:
    if a.number is not None:
        return b.times(a.number)
    return None if b.number is None else a.times(b.number)


FOLDED: Mapping[type[Operation], Callable[[Index, Index], Index | None]] = {
    arith.AddiOp: Index.plus,
    arith.SubiOp: lambda a, b: a.plus(b.times(-1)),
    arith.MuliOp: _product,
}
"""Index arithmetic that stays symbolic: additions, subtractions, and products with a constant."""


def offsets_of(op: Operation, value: SSAValue) -> list[int]:
    """Returns the distance of each register of a transferred tile from the first one in memory, in elements."""
    return op.offsets(value) if isinstance(op, TileTransferOp) else [0]


Value = Text | Index | Memory


def mnemonic(op: type[Operation]) -> str:
    """Returns the name of an operation without its dialect."""
    return op.name.partition(".")[2]


CONVERSIONS: tuple[type[Operation], ...] = (*ConvertOp.ARITH.values(), vector.BitcastOp, ConvertOp)
"""The operations that convert a scalar, or each lane of a vector."""

UNSIGNED = frozenset({Conversion.EXTUI, Conversion.UITOFP, Conversion.FPTOUI})
"""The conversions of integers, or to integers, that are unsigned."""


def conversion_of(op: Operation) -> Conversion:
    """Returns the kind of one of the `CONVERSIONS`."""
    return Conversion(op.kind.data if isinstance(op, ConvertOp) else mnemonic(type(op)))


COMPARISONS: tuple[type[Operation], ...] = (arith.CmpiOp, arith.CmpfOp, CompareOp)
"""The operations that compare two scalars, or two vectors lane by lane."""


def predicate_of(op: Operation) -> str:
    """Returns the predicate of one of the `COMPARISONS`, by its name in `arith`."""
    if isinstance(op, CompareOp):
        return op.predicate.data
    names = arith.CMPI_COMPARISON_OPERATIONS if isinstance(op, arith.CmpiOp) else arith.CMPF_COMPARISON_OPERATIONS
    return names[cast(arith.CmpiOp | arith.CmpfOp, op).predicate.value.data]


def instruction_of(op: DotAccumulateOp | MultiplyPairsOp, isa: InstructionSet) -> tuple[str, int]:
    """Returns the name of the instruction for `op`, and the register width in bits.

    Raises `DiagnosticError` if the instruction set lacks the instruction.
    """
    name = op.kind if isinstance(op, DotAccumulateOp) else MULTIPLY_PAIRS
    bits = lanes_of(op.result) * bits_of(element_of(op.result))
    if bits not in isa.widths(name):
        raise op_error(op, f"{isa.name} has no '{name}' for registers of {bits} bits; run simd-legalize")
    return name, bits


def loop_arguments(op: scf.ForOp) -> tuple[SSAValue, ...]:
    """Returns the induction variable of a loop, and its carried values inside the body."""
    if not isinstance(op.body.block.args[0].type, IndexType):
        raise op_error(op, f"loop induction variable must have type index, but got {op.body.block.args[0].type}")
    return op.body.block.args


def parallel_axes(op: scf.ParallelOp) -> Iterable[tuple[SSAValue, ...]]:
    """Returns the induction variable of each axis of a loop, with its bounds and its step."""
    if op.initVals:
        raise op_error(op, "reduces over parallel iterations, which cannot be compiled")
    return zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)


def memory_of(value: SSAValue) -> AnyMemRef:
    """Returns the type of a value that is known to be memory."""
    type_ = memref_type(value)
    assert type_ is not None
    return type_


class LoopsWriter:
    """Maps the values of a function to emitted expressions and memory."""

    def __init__(self, emissions: Mapping[type[Operation], Callable[[Any, Operation], None]], names: Names) -> None:
        self.emissions = emissions
        self.names = names
        self.depth: int = 1
        self.values: dict[SSAValue, Any] = {}
        """The emitted `Value` of each SSA value, or the emitter's own representation of a register."""

        self.ranges: dict[str, tuple[int, int]] = {}
        """The first and last value of each loop variable with known bounds."""

        self.chunks: dict[str, range] = {}
        """The iterations of a divided loop, by the name of each bound of its chunks."""

        self.scratch_bytes = 0
        self.is_certain = True
        """True if the code at this point runs for all inputs."""

    def kept(self, hint: str, value: Index) -> Index:
        """Returns `value`, stored in a new variable if it is a sum and the language has variables."""
        return value

    # --- Values -------------------------------------------------------------------------------------------------------

    def text(self, value: SSAValue) -> Text:
        """Returns a value as an expression."""
        found = self.values[value]
        assert not isinstance(found, Memory)
        return found.as_text() if isinstance(found, Index) else found

    def index(self, value: SSAValue) -> Index:
        """Returns an index value as a symbolic sum."""
        found = self.values[value]
        assert not isinstance(found, Memory)
        return found if isinstance(found, Index) else Index.of(found)

    def memory(self, value: SSAValue) -> Memory:
        """Returns the memory of a memref value."""
        found = self.values[value]
        assert isinstance(found, Memory)
        return found

    def symbolic(self, op: Operation) -> Index | None:
        """Returns the symbolic result of index arithmetic; `None` if it can't be symbolic."""
        if not op.results or not isinstance(op.results[0].type, IndexType):
            return None
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return Index(constant=op.value.value.data)
        if isinstance(op, arith.IndexCastOp) and isinstance(op.input.type, IndexType):
            return self.index(op.input)
        fold = FOLDED.get(type(op))
        return None if fold is None else fold(*map(self.index, op.operands))

    def define_symbolic(self, value: SSAValue, index: Index) -> None:
        """Binds `value` to a symbolic index."""
        self.values[value] = index

    def lane_index(self, op: vector.ExtractOp | vector.InsertOp) -> Index:
        """Returns the lane that `vector.extract` reads or `vector.insert` writes."""
        (static,) = integer_list(op.static_position)
        return self.index(op.dynamic_position[0]) if op.dynamic_position else Index(constant=static)

    def bounds(self, op: Operation, values: Sequence[SSAValue]) -> tuple[Index, Index, Index]:
        """Returns the bounds and the step of a loop. Raises `DiagnosticError` if the step is a constant below 1."""
        lower, upper, step = map(self.index, values)
        if step.number is not None and step.number < 1:
            raise op_error(op, f"goes on by {step.number}: the step of a loop is positive")
        return lower, upper, step

    def hint(self, value: SSAValue, otherwise: str = "v") -> str:
        """Returns the name hint of a value, or `otherwise`."""
        return value.name_hint or otherwise

    @staticmethod
    def is_used_here(value: SSAValue) -> bool:
        """Returns true if a value has a single use, in its own block."""
        uses = list(value.uses)
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        return len(uses) == 1 and uses[0].operation.parent is block

    # --- Memory -------------------------------------------------------------------------------------------------------

    def array_memory(
        self, op: Operation, value: SSAValue, array: str, offset: Index | None = None, count: int | None = None
    ) -> Memory:
        """Binds `value` to the part of a flat array that starts at `offset`.

        The array has `count` elements; by default, it has exactly those of `value`.
        """
        type_ = memory_of(value)
        strides, shape, start = static_strides(op, type_), tuple(type_.get_shape()), offset or Index()
        memory = Memory(array, start, shape, strides, type_.get_element_type(), 0)
        memory = replace(memory, count=memory.reach + 1 if count is None else count)
        memory_name(op, memory.element)
        self.values[value] = memory
        return memory

    def view_memory(self, op: Operation, value: SSAValue, memory: Memory) -> None:
        """Binds `value` to a part of an array.

        Kernels address memory by its declared type, so a wrong type would make them access memory outside of the array.
        Raises `DiagnosticError` if the type doesn't match the memory, or if the part isn't inside the array.
        """
        type_ = memory_of(value)
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
        """Returns the smallest and the largest value that a sum takes; `None` if they are unknown.

        Loop variables are independent of each other, so the bounds on a sum are the sums of the bounds on its terms.
        """
        low = high = index.constant
        for term, factor in index.terms.items():
            found = self.ranges.get(term.text) if self.is_certain else None
            if found is None:
                return None
            ends = sorted(factor * end for end in found)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def check_places(self, op: Operation, position: Index, elements: int, size: int, what: str = "memory") -> None:
        """Raises `DiagnosticError` if `elements` elements from `position` are known not to fit in `size` elements.

        Accesses that depend on runtime values are not checked here: the author of the module is responsible for them.
        """
        found = self.interval(position)
        if found is None or (found[0] >= 0 and found[1] + elements <= size):
            return
        outside = found[0] if found[0] < 0 else found[1] + elements - 1
        raise op_error(op, f"reaches element {outside} of {what} of {size} elements")

    def check_indices(self, op: Operation, memory: Memory, indices: Sequence[Index]) -> None:
        """Raises `DiagnosticError` if an index is known to be outside of its axis."""
        for axis, (index, size) in enumerate(zip(indices, memory.shape, strict=True)):
            self.check_places(op, index, 1, size, f"axis {axis}")

    def element_place(self, op: Operation, value: SSAValue, indices: Sequence[SSAValue]) -> tuple[Memory, Index]:
        """Returns a memory and the position of one element in it, after a bounds check."""
        memory, positions = self.memory(value), [self.index(index) for index in indices]
        self.check_indices(op, memory, positions)
        return memory, memory.position(positions)

    def row_place(
        self, op: Operation, memory: SSAValue, indices: Sequence[SSAValue], elements: int = 1, slack: int = 0
    ) -> tuple[Memory, Index]:
        """Returns a memory and the position of `elements` consecutive elements, which may continue in the next row.

        The last `slack` bytes of the access may be outside of the memory.
        """
        found, positions = self.memory(memory), [self.index(index) for index in indices]
        inside = replace(found, offset=Index()).position(positions)
        self.check_places(op, inside, elements, found.reach + 1 + slack // item_size(found.element))
        return found, found.position(positions)

    def known_count(self, count: SSAValue, vector: SSAValue) -> int:
        """Returns the number of lanes that are read or written, or 0 if it is not a constant."""
        return min(max(self.index(count).number or 0, 0), lanes_of(vector))

    def scratch_count(self, op: AllocaOp) -> int:
        """Returns the number of elements of scratch memory. Raises `DiagnosticError` if it is unknown or too large."""
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
        """Returns the byte memory that `op` views, the offset of the view in bytes, and the number of its elements."""
        source, type_ = self.memory(op.source), op.result.type
        if op.sizes:
            raise op_error(op, f"has sizes that are not known: {type_}")
        start = source.offset.plus(self.index(op.byte_shift))
        count = math.prod(type_.get_shape())
        self.check_places(op, start, count * item_size(type_.get_element_type()), source.count)
        return source, start, count

    @contextmanager
    def steps(self, name: str, lower: Index, upper: Index, step: Index) -> Generator[None]:
        """Records the range of loop variable `name` while the loop body is emitted inside the `with` block.

        The chunks of a loop together cover all iterations, so the variable of a chunked loop ranges from 0.
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
        """Marks the code of the `with` block as conditional, unless `may_not` is false."""
        before, self.is_certain = self.is_certain, self.is_certain and not may_not
        yield
        self.is_certain = before

    # --- Operations ---------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> tuple[SSAValue, ...]:
        """Emits the operations of a block; returns the operands of its terminator."""
        for op in block.ops:
            if is_terminator(type(op)):
                return tuple(op.operands)
            self.operation(op)
        return ()

    def operation(self, op: Operation) -> None:
        """Emits an operation. Raises `DiagnosticError` if it can't be compiled."""
        if (index := self.symbolic(op)) is not None:
            self.define_symbolic(op.results[0], index)
            return
        emit = self.emissions.get(type(op))
        if emit is None:
            raise op_error(op, "cannot be compiled: expected an operation of scf, memref, arith, math, vector or simd")
        emit(self, op)

    def region(self, region: Region) -> tuple[SSAValue, ...]:
        """Emits the single block of a region."""
        return self.block(region.block)


class TextWriter(LoopsWriter, ABC):
    """Maps the values of a function to expressions and variables of a language: Python, or C.

    A value with a single use in its own block is inlined into that use. Every other value gets a variable, named as in
    the module if it has a name there.
    """

    if_head: ClassVar[str]
    """The head of a branch, with `{}` for the condition."""

    endless: ClassVar[str]
    """The head of a loop without a condition."""

    carried_hint: ClassVar[str]
    """The name of a variable that a loop carries, unless the module names it."""

    def __init__(
        self, emissions: Mapping[type[Operation], Callable[[Any, Operation], None]], names: Names, helpers: set[str]
    ) -> None:
        super().__init__(emissions, names)
        self.helpers = helpers
        """The helper functions that the emitted code calls."""

    # --- Statements, as each language writes them ---------------------------------------------------------------------

    @abstractmethod
    def line(self, text: str, *reads: Text | Index) -> None:
        """Writes a statement at the current indentation."""

    @abstractmethod
    def indented(self, head: str, *reads: Text | Index) -> AbstractContextManager[None]:
        """Writes the head of a compound statement; its body is written inside the `with` block."""

    @abstractmethod
    def loop_head(self, name: str, bounds: Sequence[Index]) -> str:
        """Returns the head of a counted loop, given its variable, bounds and step."""

    @abstractmethod
    def flag(self, condition: SSAValue) -> str:
        """Stores a condition in a new variable, and returns its name."""

    @abstractmethod
    def leave_unless(self, flag: str) -> None:
        """Writes a statement that leaves the loop unless a variable is true."""

    @abstractmethod
    def declare_index(self, name: str, value: Index) -> None:
        """Declares an immutable index variable."""

    @abstractmethod
    def variable(self, value: SSAValue, otherwise: str = "v", first: Text | None = None) -> str:
        """Creates a variable for `value`, with the initial value `first` if given, and returns its name."""

    @abstractmethod
    def keep(self, value: SSAValue, text: Text | Index) -> None:
        """Defines `value` as a new variable with the current value of `text`."""

    @abstractmethod
    def set(self, name: str, text: Text, value: SSAValue, *, is_new: bool = False) -> None:
        """Assigns `text`, the expression for `value`, to a variable."""

    def read(self, name: str, value: SSAValue) -> Text:
        """Returns the expression for `value` if it is in the variable `name`."""
        return name_text(name)

    # --- Expressions --------------------------------------------------------------------------------------------------

    def call(self, name: str, *operands: Text | Index | int | str) -> Text:
        """Returns the call of a helper function."""
        self.helpers.add(name)
        return self.called(name, *operands)

    def called(self, name: str, *operands: Text | Index | int | str) -> Text:
        """Returns the call of a function that the emitted code already contains."""
        reads = reads_of(each for each in operands if isinstance(each, Text | Index))
        return Text(f"{name}({', '.join(map(str, operands))})", reads)

    def condition(self, value: SSAValue) -> Text:
        """Returns an i1 scalar as a condition."""
        return self.text(value)

    # --- Values -------------------------------------------------------------------------------------------------------

    def name(self, value: SSAValue, name: str) -> None:
        """Binds `value` to an existing variable."""
        text = self.read(name, value)
        self.values[value] = Index.of(text) if isinstance(value.type, IndexType) else text

    def kept(self, hint: str, value: Index) -> Index:
        if value.is_simple:
            return value
        name = self.names.new(hint)
        self.declare_index(name, value)
        return Index.of(name_text(name))

    def define(self, value: SSAValue, text: Text | Index) -> None:
        """Binds `value` to `text`, which is inlined if it has one use in this block, otherwise a variable."""
        if not value.uses:
            return
        if isinstance(value.type, IndexType) and isinstance(text, Text):
            text = Index.of(text)
        is_short = isinstance(text, Index) or len(text.text) < WIDTH - 30
        if (self.is_used_here(value) and is_short) or (isinstance(text, Index) and text.is_simple):
            self.values[value] = text
        else:
            self.keep(value, text)

    def define_symbolic(self, value: SSAValue, index: Index) -> None:
        self.define(value, index)

    def assign(self, targets: Sequence[str], values: Sequence[SSAValue]) -> None:
        """Assigns all `values` to `targets` in parallel: they are read before any target changes."""
        rows = [(target, self.text(value), value) for target, value in zip(targets, values, strict=True)]
        rows = [(target, text, value) for target, text, value in rows if text.text != self.read(target, value).text]
        pending: list[tuple[str, str, SSAValue]] = []
        for position, (target, text, value) in enumerate(rows):
            if any(target in later.reads for _, later, _ in rows[position + 1 :]):
                kept = self.names.new(f"next_{target}")
                self.set(kept, text, value, is_new=True)
                pending.append((target, kept, value))
            else:
                self.set(target, text, value)
        for target, kept, value in pending:
            self.set(target, self.read(kept, value), value)
