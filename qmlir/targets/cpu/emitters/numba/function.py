"""Writing one function: statements, variables and memory. What operations become is said by the tables beside it.

A value that is used once, in the block that makes it, is written where it is used; every other one gets a variable,
named as in the module where the module has a name for it.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from qmlir.targets.cpu.emitters.text import Index, Names, Text, name_text, reads_of
from qmlir.targets.cpu.emitters.writing import INDENT, WIDTH, LoopsWriter
from qmlir.targets.cpu.isa.base import InstructionSet

BY_HAND = "by_hand_"
"""What the names of functions that people wrote begin with in the emitted code."""


EmitOperation = Callable[["FunctionWriter", Operation], None]


class FunctionWriter(LoopsWriter):
    """The statements of one function, and what its values are called."""

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], tables: "Tables", names: Names) -> None:
        super().__init__(emissions, names)
        self.tables = tables
        self.lines: list[str] = []

    # --- Statements ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a statement."""
        self.lines.append(f"{INDENT * self.depth}{text}")

    def declare_index(self, name: str, value: Index) -> None:
        self.line(f"{name} = {value}")

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
            if text.is_simple or (pure and self.is_used_here(value)):
                self.values[value] = text
                return
        elif pure and self.is_used_here(value) and len(text.text) < WIDTH - 30:
            self.values[value] = text
            return
        expression = str(text)
        self.line(f"{self.variable(value)} = {expression}")

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
