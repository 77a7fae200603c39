"""Writes one function in C: variables, vectors as loops over lanes, and memory as pointers."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.simd.base import as_vector
from qmlir.extensions.aot.c.elements import CElement, element_of
from qmlir.extensions.aot.c.statements import LANE, Declaration, FixedLine, Lanes, Statement
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.writing import Index, Names, Text, TextWriter, name_text, reads_of
from qmlir.targets.cpu.isa.base import InstructionSet

EmitOperation = Callable[["CWriter", Operation], None]

LARGEST = (1 << 31) - 1 - SLACK
"""The largest size for which loops with known bounds can use an `int32_t` counter."""

_UNSIGNED = ("int32_t", "int64_t")

TABLES = "LANES_"
"""The prefix of the names of tables of constant lanes."""


class Unit:
    """State shared by the functions of a file: the instruction set, the helpers that they call, and tables of lanes."""

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


class CWriter(TextWriter):
    """Writes the statements of one function. The text of a vector value is the C expression for its lane `l`."""

    if_head, endless, carried_hint = "if ({})", "for (;;)", "sum"

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], unit: Unit, names: Names) -> None:
        super().__init__(emissions, names, unit.helpers)
        self.unit = unit
        self.statements: list[Statement] = []
        self._unsigned: set[str] = set()
        """The variables that hold signed integers as unsigned ones: those that loops carry. GCC 12.1 and 12.2 drop
        terms of sums in vectorized loops if a carried sum changes its signedness (GCC bug 107212)."""

    # --- Statements ---------------------------------------------------------------------------------------------------

    def line(self, text: str, *reads: Text | Index) -> None:
        """Writes a statement that must not be moved."""
        self.statements.append(FixedLine(self.depth, text, reads_of(reads)))

    @contextmanager
    def indented(self, head: str, *reads: Text | Index, end: str = "}") -> Generator[None]:
        self.line(f"{head} {{", *reads)
        self.depth += 1
        yield
        self.depth -= 1
        self.line(end)

    def loop_head(self, name: str, bounds: Sequence[Index]) -> str:
        lower, upper, step = bounds
        ends = [self.interval(each) for each in bounds]
        is_small = all(each is not None and each[0] > -LARGEST and each[1] < LARGEST for each in ends)
        kind = "int32_t" if is_small else "int64_t"
        on = f"{name}++" if step.number == 1 else f"{name} += {step}"
        return f"for ({kind} {name} = {lower}; {name} < {upper}; {on})"

    def flag(self, condition: SSAValue) -> str:
        kept, text = self.names.new("goes_on"), self.text(condition)
        self.line(f"const uint8_t {kept} = {text};", text)
        return kept

    def leave_unless(self, flag: str) -> None:
        self.line(f"if (!{flag}) break;", name_text(flag))

    def declare_index(self, name: str, value: Index) -> None:
        self.statements.append(Declaration(self.depth, "int64_t", name, str(value), value.reads))

    # --- Values -------------------------------------------------------------------------------------------------------

    def element(self, value: SSAValue) -> CElement:
        """Returns the element type of a scalar or a vector."""
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        assert op is not None
        return element_of(op, value.type)

    def keep(
        self, value: SSAValue, text: Text | Index, *, loads: bool = False, crosses: frozenset[str] = frozenset()
    ) -> None:
        name, type_, lanes = self.names.new(self.hint(value)), self.element(value).type, lanes_in(value)
        if lanes:
            self.lanes(lanes, str(text), name, type_, reads=text.reads, crosses=crosses, loads=loads)
        else:
            self.statements.append(Declaration(self.depth, type_, name, str(text), text.reads, loads, crosses))
        self.name(value, name)

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

    def array(self, value: SSAValue) -> str:
        """Returns the name of the array that holds a vector."""
        text = self.text(value)
        name = text.text.removesuffix(f"[{LANE}]")
        if text.text == f"{name}[{LANE}]" and name.isidentifier():
            return name
        self.keep(value, text)
        return self.text(value).text.removesuffix(f"[{LANE}]")

    def variable(self, value: SSAValue, otherwise: str = "v", first: Text | None = None) -> str:
        name, type_, lanes = self.names.new(self.hint(value, otherwise)), self.element(value).type, lanes_in(value)
        if first is not None:
            if not lanes and type_ in _UNSIGNED:
                self._unsigned.add(name)
            self.set(name, first, value, is_new=True)
        else:
            self.line(f"{type_} {name}[{lanes}];" if lanes else f"{type_} {name};")
        self.name(value, name)
        return name

    def read(self, name: str, value: SSAValue) -> Text:
        if lanes_in(value):
            return Text(f"{name}[{LANE}]", frozenset({name}))
        return (
            Text(f"({self.element(value).type}){name}", frozenset({name}))
            if name in self._unsigned
            else name_text(name)
        )

    def set(self, name: str, text: Text, value: SSAValue, *, is_new: bool = False) -> None:
        element = self.element(value)
        type_ = element.type if is_new else ""
        if lanes := lanes_in(value):
            self.lanes(lanes, text.text, name, type_, reads=text.reads)
        elif name in self._unsigned:
            self.line(f"{element.wide if is_new else ''} {name} = ({element.wide}){text.inner};".lstrip(), text)
        else:
            self.line(f"{type_} {name} = {text};".lstrip(), text)
