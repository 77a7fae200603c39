"""Emits one function of LLVM IR: its values, memory and index arithmetic. Tables of functions emit operations.

Sums of indices stay symbolic until an instruction needs them. An emitted sum is reused for all equal sums that it
dominates.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import prod
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.vector import BroadcastOp, ExtractOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qmlir.dialects.simd.base import as_vector, is_tile, tile_of
from qmlir.dialects.simd.lanes import StackOp, TransposeOp, register_type, tile_places
from qmlir.dialects.simd.memory import LoadGroupSplatOp, LoadOp, StoreOp
from qmlir.targets.cpu.emitters.elements import item_size, memory_name, register_name
from qmlir.targets.cpu.emitters.writing import Index, LoopsWriter, Memory, Names, Text
from qmlir.targets.cpu.host import Processor
from qmlir.targets.cpu.isa.base import InstructionSet
from qmlir.targets.cpu.runtime.semantics.builder import Builder
from qmlir.targets.cpu.runtime.semantics.values import I64, MEMORY, IRValue, Type, type_of

EmitOperation = Callable[["IRWriter", Operation], None]


@dataclass
class ModuleParts:
    """State shared by the functions of a module: the target, external declarations and CPU features in use."""

    isa: InstructionSet
    processor: Processor
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    used: set[str] = field(default_factory=set[str])
    """The CPU features that the emitted code uses in addition to those of its instruction set."""

    def has(self, feature: str) -> bool:
        """Returns true if the CPU has `feature`, and records it as used."""
        found = feature in self.processor.features
        if found:
            self.used.add(feature)
        return found


class IRWriter(LoopsWriter):
    """Emits the instructions of one function and maps its values to LLVM registers."""

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], parts: ModuleParts) -> None:
        super().__init__(emissions, Names())
        self.parts = parts
        self.build = Builder(parts.declarations)
        self.known: dict[Any, str] = {}
        """The sums and addresses that were emitted in this block or one that dominates it."""

        self.roots: dict[str, tuple[str, int | None]] = {}
        """For each pointer into other memory: the base pointer, and the byte offset if it is known."""

        self.team = self.number = ""
        """The registers of the team and thread number if a team of threads runs the function."""

    # --- Values -------------------------------------------------------------------------------------------------------

    def type(self, op: Operation, type_: Attribute) -> Type:
        """Returns the LLVM type of a value in a register. Raises `DiagnosticError` if there is none."""
        name, vector = register_name(op, type_), as_vector(type_)
        return type_of("i64" if name == "index" else name, 0 if vector is None else vector.get_shape()[-1])

    def value(self, value: SSAValue) -> IRValue:
        """Returns a value in a register; emits the sum of an index."""
        found = self.values[value]
        if isinstance(found, IRValue):
            return found
        assert isinstance(found, Index)
        return IRValue(I64, self.sum(found))

    def registers(self, value: SSAValue) -> list[IRValue]:
        """Returns the registers of a register tile in row-major order; the only one of any other value."""
        found = self.values[value]
        return cast(list[IRValue], found) if isinstance(found, list) else [self.value(value)]

    def all_registers(self, values: Sequence[SSAValue]) -> list[IRValue]:
        """Returns the registers of all `values`."""
        return [register for value in values for register in self.registers(value)]

    def bind(self, results: Sequence[SSAValue], registers: Sequence[IRValue]) -> None:
        """Binds `results` to their registers: those of a tile, or one."""
        left = iter(registers)
        for result in results:
            if is_tile(result):
                self.values[result] = list(islice(left, prod(tile_of(result))))
            else:
                self.define(result, next(left))

    def operation(self, op: Operation) -> None:
        if type(op) in WHOLE_TILES or not any(map(is_tile, op.results)):
            super().operation(op)
        else:
            self._each_register(op)

    def _each_register(self, op: Operation) -> None:
        """Emits a lanewise operation on register tiles: the same operation on registers, for each of them."""
        (result,), tiles = op.results, {value for value in op.operands if is_tile(value)}
        arguments = Block(arg_types=[register_type(value) for value in op.operands]).args
        alone = type(op).create(
            operands=arguments,
            result_types=[register_type(result)],
            properties=op.properties,
            attributes=op.attributes,
        )
        found: dict[int, IRValue] = {}
        for place in tile_places(tile_of(result)):
            for value, argument in zip(op.operands, arguments, strict=True):
                self.values[argument] = self.registers(value)[place] if value in tiles else self.values[value]
            super().operation(alone)
            found[place] = self.value(alone.results[0])
        self.values[result] = [found[place] for place in range(len(found))]

    def operands(self, op: Operation) -> list[IRValue]:
        """Returns all operands of `op` in registers."""
        return [self.value(each) for each in op.operands]

    def define(self, result: SSAValue, value: IRValue) -> None:
        """Binds `result` to a value."""
        is_index = isinstance(result.type, IndexType)
        self.values[result] = _as_index(value.text) if is_index else value

    # --- Sums and places ----------------------------------------------------------------------------------------------

    def sum(self, index: Index) -> str:
        """Emits a sum, unless an equal one was emitted, and returns it as an LLVM operand."""
        if not index.terms:
            return str(index.constant)
        found = self._terms(index)
        if not index.constant:
            return found
        return self._once((found, index.constant), lambda: self._arithmetic("add", found, index.constant))

    def _arithmetic(self, name: str, a: str, b: int | str) -> str:
        return self.build.give(I64, f"{name} i64 {a}, {b}").text

    def _once(self, key: Any, write: Callable[[], str]) -> str:
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = write()
        return found

    def _terms(self, index: Index) -> str:
        total, key = "", ()
        for term, factor in index.terms.items():
            name = term.text
            if factor != 1:
                name = self._once((name, "*", factor), partial(self._arithmetic, "mul", term.text, factor))
            key = (*key, term.text, factor)
            total = name if not total else self._once(key, partial(self._arithmetic, "add", total, name))
        return total

    def pointer(self, op: Operation, memory: Memory, position: Index) -> str:
        """Emits the address of the element at index `position` of the array of `memory`."""
        element = held_type(op, memory.element)
        base = memory.array
        if position.terms:
            base = self._once(
                (base, element.text, *position.terms.items()),
                lambda: self.build.element_at(element, memory.array, self._terms(position)),
            )
        if not position.constant:
            return base
        after = base
        return self._once(
            (after, element.text, position.constant),
            lambda: self.build.element_at(element, after, str(position.constant)),
        )

    def point(self, pointer: str, source: str, start: Index, size: int) -> None:
        """Records that `pointer` addresses element `start`, of `size` bytes each, in the memory of `source`."""
        root, first = self.root(source)
        self.roots[pointer] = root, None if first is None or start.number is None else first + size * start.number

    def root(self, pointer: str) -> tuple[str, int | None]:
        """Returns the base pointer of a pointer, and its byte offset if it is known."""
        return self.roots.get(pointer, (pointer, 0))

    def align(self, memory: Memory) -> int:
        """Returns the alignment of each element of `memory`, in bytes."""
        return item_size(memory.element)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Scopes emitted sums: those of the `with` block don't dominate the code after it."""
        before, self.known = self.known, dict(self.known)
        yield
        self.known = before

    def function_text(self, head: str, body_end: Sequence[str]) -> str:
        """Returns the text of the function, from its head to the lines `body_end`."""
        lines = [head + " {", "entry:", *self.build.first, *self.build.lines, *body_end, "}"]
        return "\n".join(lines)


WHOLE_TILES: frozenset[type[Operation]] = frozenset(
    {
        BroadcastOp, ExtractOp, StackOp, TransposeOp, LoadOp, LoadGroupSplatOp, StoreOp, scf.ForOp, scf.IfOp,
        scf.WhileOp, scf.IndexSwitchOp, scf.ExecuteRegionOp,
    }
)  # fmt: skip
"""Operations whose emission takes or gives register tiles; all others are emitted for each register."""


def _as_index(text: str) -> Index:
    """Returns the operand of an instruction, a register or constant, as a symbolic index."""
    return Index.of(Text(text)) if text.startswith("%") else Index(constant=int(text))


def index_of(name: str) -> Index:
    """Returns a register as a symbolic index."""
    return Index.of(Text(name))


def held_type(op: Operation, element: Attribute) -> Type:
    """Returns the LLVM type of an element in memory. Raises `DiagnosticError` if there is none."""
    return type_of(MEMORY[memory_name(op, element)])
