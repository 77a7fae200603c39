"""Instructions of LLVM as text, one after the other, in the function that is being written."""

from collections.abc import Iterable, Sequence

from .values import I1, I32, I64, PTR, IRValue, Type, integer, poison, type_of


class Builder:
    """The instructions of a function; `declarations` are those of the module, which all its functions share."""

    def __init__(self, declarations: dict[str, str]) -> None:
        self.declarations = declarations
        """By the name of a function: how it is declared."""

        self.lines: list[str] = []
        self.first: list[str] = []
        """What the function begins with: memory on the stack, which a loop must not take again."""

        self.here = "entry"
        """The block that is being written."""

        self.widest = 0
        """The bytes of the widest vector."""

        self._numbers = 0

    # --- Names and blocks ---------------------------------------------------------------------------------------------

    def new(self, hint: str = "v") -> str:
        """A name that is not taken."""
        self._numbers += 1
        return f"{hint}{self._numbers}"

    def line(self, text: str) -> None:
        """Write an instruction that gives nothing."""
        self.lines.append(f"  {text}")

    def give(self, type_: Type, text: str) -> IRValue:
        """Write an instruction that gives a value."""
        self._numbers += 1
        name = f"%v{self._numbers}"
        self.lines.append(f"  {name} = {text}")
        if type_.lanes:
            self.widest = max(self.widest, type_.lanes * type_.bits // 8)
        return IRValue(type_, name)

    def begin(self, block: str) -> None:
        """Go on in a new block."""
        self.lines.append(f"{block}:")
        self.here = block

    def jump(self, block: str) -> None:
        """Go to a block."""
        self.line(f"br label %{block}")

    def branch(self, condition: IRValue, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.line(f"br i1 {condition.text}, label %{yes}, label %{no}")

    def later(self) -> int:
        """A line that is written once it is known."""
        self.lines.append("")
        return len(self.lines) - 1

    def phi(self, type_: Type, rows: Iterable[tuple[IRValue, str]]) -> IRValue:
        """The value that comes from the block that was before."""
        return self.give(type_, f"phi {type_.text} {_incoming(rows)}")

    def fill_phi(self, line: int, result: IRValue, rows: Iterable[tuple[IRValue, str]]) -> None:
        """The same in a line that was left open, for a loop."""
        self.lines[line] = f"  {result.text} = phi {result.type.text} {_incoming(rows)}"

    # --- Instructions -------------------------------------------------------------------------------------------------

    def binary(self, name: str, a: IRValue, b: IRValue) -> IRValue:
        """An instruction of two operands of one type, to that type."""
        return self.give(a.type, f"{name} {a.type.text} {a.text}, {b.text}")

    def unary(self, name: str, value: IRValue) -> IRValue:
        """An instruction of one operand, to its type."""
        return self.give(value.type, f"{name} {value.typed}")

    def compare(self, predicate: str, a: IRValue, b: IRValue) -> IRValue:
        """A comparison, such as `icmp slt`."""
        return self.give(a.type.of("i1"), f"{predicate} {a.type.text} {a.text}, {b.text}")

    def cast(self, name: str, value: IRValue, type_: Type) -> IRValue:
        """A conversion; of a value that is of the type already, none."""
        if value.type.text == type_.text:
            return IRValue(type_, value.text)
        return self.give(type_, f"{name} {value.typed} to {type_.text}")

    def select(self, condition: IRValue, a: IRValue, b: IRValue) -> IRValue:
        """One of two values, or of each lane."""
        return self.give(a.type, f"select {condition.typed}, {a.typed}, {b.typed}")

    def negated(self, condition: IRValue) -> IRValue:
        """Where a condition doesn't hold."""
        return self.binary("xor", condition, integer(condition.type, -1))

    def call(self, name: str, result: Type | None, values: Sequence[IRValue]) -> IRValue:
        """A call of a function of the module, of libm, or of an intrinsic of LLVM."""
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
        """An intrinsic that is overloaded by the type of the first operand, and gives that type."""
        return self.call(f"llvm.{name}.{values[0].type.suffix}", values[0].type, values)

    def unseen(self, value: IRValue, constraint: str) -> IRValue:
        """A value through an empty line of assembly, so that LLVM doesn't learn what it is."""
        return self.give(value.type, f'call {value.type.text} asm "", "{constraint},0"({value.typed})')

    # --- Lanes --------------------------------------------------------------------------------------------------------

    def extract(self, vector: IRValue, lane: IRValue | int) -> IRValue:
        """A lane."""
        place = integer(I32, lane) if isinstance(lane, int) else lane
        return self.give(vector.type.scalar(), f"extractelement {vector.typed}, {place.typed}")

    def insert(self, vector: IRValue, value: IRValue, lane: IRValue | int) -> IRValue:
        """A vector with another lane."""
        place = integer(I32, lane) if isinstance(lane, int) else lane
        return self.give(vector.type, f"insertelement {vector.typed}, {value.typed}, {place.typed}")

    def shuffle(self, a: IRValue, b: IRValue, lanes: Sequence[int]) -> IRValue:
        """The chosen lanes of two vectors, those of `b` counted after those of `a`."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        result = type_of(a.type.element, len(lanes))
        return self.give(result, f"shufflevector {a.typed}, {b.typed}, <{len(lanes)} x i32> <{mask}>")

    def lanes(self, vector: IRValue, lanes: Sequence[int]) -> IRValue:
        """The chosen lanes of a vector."""
        return self.shuffle(vector, poison(vector.type), lanes)

    def splat(self, value: IRValue, lanes: int) -> IRValue:
        """A vector of one scalar."""
        if not value.text.startswith("%"):
            return IRValue(type_of(value.type.element, lanes), f"splat ({value.typed})")
        type_ = type_of(value.type.element, lanes)
        first = self.insert(poison(type_), value, 0)
        zero = f"<{lanes} x i32> zeroinitializer"
        return self.give(type_, f"shufflevector {first.typed}, {type_.text} poison, {zero}")

    # --- Memory -------------------------------------------------------------------------------------------------------

    def element_at(self, element: Type, pointer: str, index: str) -> str:
        """Where the element number `index` lies after a pointer."""
        return self.give(PTR, f"getelementptr {element.text}, ptr {pointer}, i64 {index}").text

    def load(self, type_: Type, pointer: str, align: int) -> IRValue:
        """The value at a place that is a multiple of `align` bytes."""
        return self.give(type_, f"load {type_.text}, ptr {pointer}, align {align}")

    def store(self, value: IRValue, pointer: str, align: int) -> None:
        """Write a value to such a place."""
        self.line(f"store {value.typed}, ptr {pointer}, align {align}")

    def alloca(self, type_: str, align: int) -> str:
        """Memory on the stack, from the beginning of the function on."""
        name = f"%{self.new('scratch')}"
        self.first.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def index(self, number: int) -> IRValue:
        """A number of type `index`."""
        return integer(I64, number)


def _incoming(rows: Iterable[tuple[IRValue, str]]) -> str:
    return ", ".join(f"[ {value.text}, %{block} ]" for value, block in rows)
