"""Builds the instructions of an LLVM function as text."""

from collections.abc import Iterable, Sequence

from .values import I1, I32, I64, PTR, IRValue, Type, integer, poison, type_of


class Builder:
    """Builds the instructions of a function; `declarations` are shared by all functions of the module."""

    def __init__(self, declarations: dict[str, str]) -> None:
        self.declarations = declarations
        """The declaration of each external function, by name."""

        self.lines: list[str] = []
        self.first: list[str] = []
        """The first instructions of the function: stack allocations, which a loop must not repeat."""

        self.here = "entry"
        """The current block."""

        self.widest = 0
        """The size of the widest vector, in bytes."""

        self._numbers = 0

    # --- Names and blocks ---------------------------------------------------------------------------------------------

    def new(self, hint: str = "v") -> str:
        """Returns an unused name."""
        self._numbers += 1
        return f"{hint}{self._numbers}"

    def line(self, text: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {text}")

    def give(self, type_: Type, text: str) -> IRValue:
        """Appends an instruction and returns its result."""
        self._numbers += 1
        name = f"%v{self._numbers}"
        self.lines.append(f"  {name} = {text}")
        if type_.lanes:
            self.widest = max(self.widest, type_.lanes * type_.bits // 8)
        return IRValue(type_, name)

    def begin(self, block: str) -> None:
        """Begins a new block."""
        self.lines.append(f"{block}:")
        self.here = block

    def jump(self, block: str) -> None:
        """Appends a jump to a block."""
        self.line(f"br label %{block}")

    def branch(self, condition: IRValue, yes: str, no: str) -> None:
        """Appends a conditional branch."""
        self.line(f"br i1 {condition.text}, label %{yes}, label %{no}")

    def later(self) -> int:
        """Reserves a line to be filled later; returns its index."""
        self.lines.append("")
        return len(self.lines) - 1

    def phi(self, type_: Type, rows: Iterable[tuple[IRValue, str]]) -> IRValue:
        """Appends a phi of (value, predecessor block) pairs."""
        return self.give(type_, f"phi {type_.text} {_incoming(rows)}")

    def fill_phi(self, line: int, result: IRValue, rows: Iterable[tuple[IRValue, str]]) -> None:
        """Writes a phi to a reserved line, for a loop header."""
        self.lines[line] = f"  {result.text} = phi {result.type.text} {_incoming(rows)}"

    # --- Instructions -------------------------------------------------------------------------------------------------

    def binary(self, name: str, a: IRValue, b: IRValue) -> IRValue:
        """Appends an instruction whose two operands and result have the same type."""
        return self.give(a.type, f"{name} {a.type.text} {a.text}, {b.text}")

    def unary(self, name: str, value: IRValue) -> IRValue:
        """Appends an instruction with one operand and a result of the same type."""
        return self.give(value.type, f"{name} {value.typed}")

    def compare(self, predicate: str, a: IRValue, b: IRValue) -> IRValue:
        """Appends a comparison, such as `icmp slt`."""
        return self.give(a.type.of("i1"), f"{predicate} {a.type.text} {a.text}, {b.text}")

    def cast(self, name: str, value: IRValue, type_: Type) -> IRValue:
        """Appends a conversion, unless the value already has the type."""
        if value.type.text == type_.text:
            return IRValue(type_, value.text)
        return self.give(type_, f"{name} {value.typed} to {type_.text}")

    def select(self, condition: IRValue, a: IRValue, b: IRValue) -> IRValue:
        """Appends a select between two values, or lane by lane."""
        return self.give(a.type, f"select {condition.typed}, {a.typed}, {b.typed}")

    def negated(self, condition: IRValue) -> IRValue:
        """Appends the negation of a condition."""
        return self.binary("xor", condition, integer(condition.type, -1))

    def call(self, name: str, result: Type | None, values: Sequence[IRValue]) -> IRValue:
        """Appends a call of a function of the module, of libm, or of an LLVM intrinsic."""
        kind = "void" if result is None else result.text
        if name not in self.declarations:
            takes = ", ".join(value.type.text for value in values)
            self.declarations[name] = f"declare {kind} @{name}({takes})"
        text = f"call {kind} @{name}({', '.join(value.typed for value in values)})"
        if result is None:
            self.line(text)
            return poison(I1)
        return self.give(result, text)

    def overloaded(self, name: str, *values: IRValue) -> IRValue:
        """Appends a call of an intrinsic that is overloaded by the type of its first operand and of its result."""
        return self.call(f"llvm.{name}.{values[0].type.suffix}", values[0].type, values)

    def unseen(self, value: IRValue, constraint: str) -> IRValue:
        """Passes a value through empty inline assembly to hide it from LLVM's optimizer."""
        return self.give(value.type, f'call {value.type.text} asm "", "{constraint},0"({value.typed})')

    # --- Lanes --------------------------------------------------------------------------------------------------------

    def extract(self, vector: IRValue, lane: IRValue | int) -> IRValue:
        """Extracts one lane of a vector."""
        position = integer(I32, lane) if isinstance(lane, int) else lane
        return self.give(vector.type.scalar(), f"extractelement {vector.typed}, {position.typed}")

    def insert(self, vector: IRValue, value: IRValue, lane: IRValue | int) -> IRValue:
        """Replaces a lane of a vector."""
        position = integer(I32, lane) if isinstance(lane, int) else lane
        return self.give(vector.type, f"insertelement {vector.typed}, {value.typed}, {position.typed}")

    def shuffle(self, a: IRValue, b: IRValue, lanes: Sequence[int]) -> IRValue:
        """Shuffles two vectors; the lanes of `b` are numbered after those of `a`."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        result = type_of(a.type.element, len(lanes))
        return self.give(result, f"shufflevector {a.typed}, {b.typed}, <{len(lanes)} x i32> <{mask}>")

    def lanes(self, vector: IRValue, lanes: Sequence[int]) -> IRValue:
        """Shuffles the lanes of one vector."""
        return self.shuffle(vector, poison(vector.type), lanes)

    def splat(self, value: IRValue, lanes: int) -> IRValue:
        """Broadcasts a scalar to a vector."""
        if not value.text.startswith("%"):
            return IRValue(type_of(value.type.element, lanes), f"splat ({value.typed})")
        type_ = type_of(value.type.element, lanes)
        first = self.insert(poison(type_), value, 0)
        zero = f"<{lanes} x i32> zeroinitializer"
        return self.give(type_, f"shufflevector {first.typed}, {type_.text} poison, {zero}")

    # --- Memory -------------------------------------------------------------------------------------------------------

    def element_at(self, element: Type, pointer: str, index: str) -> str:
        """Computes the address of element `index` after a pointer."""
        return self.give(PTR, f"getelementptr {element.text}, ptr {pointer}, i64 {index}").text

    def load(self, type_: Type, pointer: str, align: int) -> IRValue:
        """Loads a value from an address that is a multiple of `align` bytes."""
        return self.give(type_, f"load {type_.text}, ptr {pointer}, align {align}")

    def store(self, value: IRValue, pointer: str, align: int) -> None:
        """Stores a value to an address that is a multiple of `align` bytes."""
        self.line(f"store {value.typed}, ptr {pointer}, align {align}")

    def alloca(self, type_: str, align: int) -> str:
        """Allocates stack memory at the start of the function."""
        name = f"%{self.new('scratch')}"
        self.first.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def index(self, number: int) -> IRValue:
        """Returns an index constant."""
        return integer(I64, number)


def _incoming(rows: Iterable[tuple[IRValue, str]]) -> str:
    return ", ".join(f"[ {value.text}, %{block} ]" for value, block in rows)
