"""Emits one Python function for numba: statements, variables and memory. Tables of functions emit operations."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation, SSAValue

from qmlir.targets.cpu.emitters.writing import INDENT, Index, Names, Text, TextWriter
from qmlir.targets.cpu.isa.base import InstructionSet

BY_HAND = "by_hand_"
"""The prefix of the names of custom kernels in emitted code."""


EmitOperation = Callable[["FunctionWriter", Operation], None]


class FunctionWriter(TextWriter):
    """Emits the statements of one function and maps its values to expressions."""

    if_head, endless, carried_hint = "if {}", "while True", "carried"

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], tables: "Tables", names: Names) -> None:
        super().__init__(emissions, names, tables.imported)
        self.tables = tables
        self.lines: list[str] = []

    def line(self, text: str, *reads: Text | Index) -> None:
        self.lines.append(f"{INDENT * self.depth}{text}")

    def run(self, name: str, *operands: Text | Index | int | str) -> None:
        """Writes the call of a runtime operation without a result."""
        self.line(str(self.call(name, *operands)))

    @contextmanager
    def indented(self, head: str, *reads: Text | Index) -> Generator[None]:
        """Writes the head of a compound statement and indents its body; writes `pass` if it is empty."""
        self.line(f"{head}:")
        self.depth += 1
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1

    def loop_head(self, name: str, bounds: Sequence[Index]) -> str:
        lower, upper, step = bounds
        shown = bounds if step.number != 1 else [upper] if lower.number == 0 else [lower, upper]
        return f"for {name} in range({', '.join(map(str, shown))})"

    def condition(self, value: SSAValue) -> Text:
        return self.call("holds", self.text(value))

    def flag(self, condition: SSAValue) -> str:
        kept = self.names.new("goes_on")
        self.line(f"{kept} = {self.condition(condition)}")
        return kept

    def leave_unless(self, flag: str) -> None:
        with self.indented(f"if not {flag}"):
            self.line("break")

    def declare_index(self, name: str, value: Index) -> None:
        self.line(f"{name} = {value}")

    def variable(self, value: SSAValue, otherwise: str = "v", first: Text | Index | None = None) -> str:
        name = self.names.new(self.hint(value, otherwise))
        self.name(value, name)
        if first is not None:
            self.line(f"{name} = {first}")
        return name

    def keep(self, value: SSAValue, text: Text | Index) -> None:
        self.variable(value, first=text)

    def set(self, name: str, text: Text, value: SSAValue, *, is_new: bool = False) -> None:
        self.line(f"{name} = {text}")


class Tables:
    """State shared by the functions of a module: imports, custom kernels, and arrays of constant lanes."""

    def __init__(self, isa: InstructionSet) -> None:
        self.isa = isa
        """The instruction set of the module."""

        self.instructions: set[str] = set()
        """The instructions that the emitted module names."""

        self.imported: set[str] = set()
        self.lanes: dict[tuple[str, str], str] = {}
        self.functions: dict[str, str] = {}
        """The emitted name of each custom kernel, by its `module:function`."""

    def function(self, row: str) -> str:
        """Returns the emitted name of a custom kernel, which is imported from its module."""
        name = f"{BY_HAND}{len(self.functions)}_{row.partition(':')[2]}"
        return self.functions.setdefault(row, name)
