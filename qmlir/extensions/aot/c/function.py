"""Writes one function in C: variables, vectors as loops over lanes, and memory as pointers."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.simd.base import as_vector
from qmlir.extensions.aot.c.elements import CElement, element_of
from qmlir.extensions.aot.c.statements import LANE, Declaration, FixedLine, Lanes, Statement
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.writing import WIDTH, Index, LoopsWriter, Names, Text, name_text, reads_of
from qmlir.targets.cpu.isa.base import InstructionSet

EmitOperation = Callable[["CWriter", Operation], None]

LARGEST = (1 << 31) - 1 - SLACK
"""The largest size for which loops with known bounds can use an `int32_t` counter."""

TABLES = "LANES_"
"""The prefix of the names of tables of constant lanes."""


class Unit:
    """State shared by the functions of a file: the helpers that they call, and tables of constant lanes."""

    def __init__(self, isa: InstructionSet) -> None:
        self.isa = isa
        self.helpers: set[str] = set()
        self.tables: dict[tuple[str, str], str] = {}

    def table(self, type_: str, numbers: Sequence[str]) -> str:
        """Returns the name of the file's constant array with these elements; adds the array if it is new."""
        return self.tables.setdefault((type_, ", ".join(numbers)), f"{TABLES}{len(self.tables)}")


def lanes_in(value: SSAValue) -> int:
    """Returns the number of lanes of a vector, or 0 for a scalar."""
    vector = as_vector(value.type)
    return 0 if vector is None else vector.get_shape()[0]


class CWriter(LoopsWriter):
    """Writes the statements of one function. The text of a vector value is the C expression for its lane `l`."""

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], unit: Unit, names: Names) -> None:
        super().__init__(emissions, names)
        self.unit = unit
        self.statements: list[Statement] = []
        self.types: dict[str, str] = {}
        """The element type of each array."""

    # --- Statements ---------------------------------------------------------------------------------------------------

    def line(self, text: str, *reads: Text | Index) -> None:
        """Writes a statement that must not be moved."""
        self.statements.append(FixedLine(self.depth, text, reads_of(reads)))

    @contextmanager
    def indented(self, head: str, *reads: Text | Index, end: str = "}") -> Generator[None]:
        """Writes the head of a compound statement; its body is written inside the `with` block."""
        self.line(f"{head} {{", *reads)
        self.depth += 1
        yield
        self.depth -= 1
        self.line(end)

    def declare_index(self, name: str, value: Index) -> None:
        self.statements.append(Declaration(self.depth, "int64_t", name, str(value), value.reads))

    def call(self, name: str, *operands: Text | Index | int | str) -> Text:
        """Returns a call of the helper function `name`."""
        self.unit.helpers.add(name)
        reads = reads_of(each for each in operands if isinstance(each, Text | Index))
        return Text(f"{name}({', '.join(map(str, operands))})", reads)

    # --- Values -------------------------------------------------------------------------------------------------------

    def element(self, op: Operation, value: SSAValue) -> CElement:
        """Returns the element type of a scalar or a vector."""
        return element_of(op, value.type)

    def define(self, op: Operation, value: SSAValue, text: Text | Index) -> None:
        """Defines `value` as `text`, which is inlined if it has one use in this block, otherwise a variable."""
        if not value.uses:
            return
        is_short = isinstance(text, Index) or len(text.text) < WIDTH - 30
        if (self.is_used_here(value) and is_short) or (isinstance(text, Index) and text.is_simple):
            self.values[value] = text
        else:
            self.keep(op, value, text)

    def keep(self, op: Operation, value: SSAValue, text: Text | Index, *, loads: bool = False) -> None:
        """Defines `value` as a new variable with the current value of `text`."""
        name, type_, lanes = self.names.new(self.hint(value)), self.element(op, value).type, lanes_in(value)
        if lanes:
            self.lanes(lanes, str(text), name, type_, reads=text.reads, loads=loads)
            self.values[value] = _of_lane(name)
            return
        self.statements.append(Declaration(self.depth, type_, name, str(text), text.reads, loads))
        self.values[value] = Index.of(name_text(name)) if isinstance(value.type, IndexType) else name_text(name)

    def lanes(
        self,
        lanes: int,
        text: str,
        name: str = "",
        type_: str = "",
        *,
        reads: frozenset[str] = frozenset(),
        crosses: frozenset[str] = frozenset(),
        loads: bool = False,
        shift: int = 0,
        size: int = 0,
        store: tuple[str, Index] | None = None,
    ) -> None:
        """Writes a statement that is executed for each lane."""
        size = size or lanes
        self.statements.append(Lanes(self.depth, lanes, text, name, type_, shift, size, reads, crosses, loads, store))

    def array(self, op: Operation, value: SSAValue) -> str:
        """Returns the name of the array that holds a vector."""
        text = self.text(value)
        name = text.text.removesuffix(f"[{LANE}]")
        if text.text == f"{name}[{LANE}]" and name.isidentifier():
            return name
        self.keep(op, value, text)
        return self.text(value).text.removesuffix(f"[{LANE}]")

    def variable(self, op: Operation, value: SSAValue, otherwise: str = "v", first: Text | None = None) -> str:
        """Declares a variable for a value that changes, with the initial value `first` if given."""
        name, type_, lanes = self.names.new(self.hint(value, otherwise)), self.element(op, value).type, lanes_in(value)
        if lanes and first is not None:
            self.lanes(lanes, first.text, name, type_, reads=first.reads)
        elif lanes:
            self.line(f"{type_} {name}[{lanes}];")
        else:
            self.line(f"{type_} {name} = {first};" if first else f"{type_} {name};", *([first] if first else []))
        self.name(value, name)
        return name

    def name(self, value: SSAValue, name: str) -> None:
        """Binds `value` to an existing variable."""
        text = _of_lane(name) if lanes_in(value) else name_text(name)
        self.values[value] = Index.of(text) if isinstance(value.type, IndexType) else text

    def assign(self, op: Operation, targets: Sequence[str], values: Sequence[SSAValue]) -> None:
        """Assigns all `values` to `targets` in parallel: every read sees the value before the assignment."""
        rows = [(target, self.text(value), value) for target, value in zip(targets, values, strict=True)]
        rows = [row for row in rows if row[1].text not in (row[0], f"{row[0]}[{LANE}]")]
        pending: list[tuple[str, str, SSAValue]] = []
        for position, (target, text, value) in enumerate(rows):
            if any(target in later.reads for _, later, _ in rows[position + 1 :]):
                kept = self.names.new(f"next_{target}")
                self._set(kept, text, value, self.element(op, value).type)
                pending.append((target, kept, value))
            else:
                self._set(target, text, value)
        for target, kept, value in pending:
            self._set(target, _of_lane(kept) if lanes_in(value) else name_text(kept), value)

    def _set(self, name: str, text: Text, value: SSAValue, type_: str = "") -> None:
        if lanes := lanes_in(value):
            self.lanes(lanes, text.text, name, type_, reads=text.reads)
        else:
            self.line(f"{type_} {name} = {text};".lstrip(), text)


def _of_lane(name: str) -> Text:
    return Text(f"{name}[{LANE}]", frozenset({name}))
