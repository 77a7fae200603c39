"""Emits one Python function for numba: statements, variables and memory. Tables of functions emit operations.

A value with a single use in its own block is inlined into that use. Every other value gets a variable, named as in the
module if it has a name there.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import wrapped
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import register_name
from qmlir.targets.cpu.emitters.writing import INDENT, WIDTH, Index, LoopsWriter, Names, Text, name_text, reads_of
from qmlir.targets.cpu.isa.base import InstructionSet
from qmlir.text.elements import dense_dtype

BY_HAND = "by_hand_"
"""The prefix of the names of custom kernels in emitted code."""


EmitOperation = Callable[["FunctionWriter", Operation], None]


class FunctionWriter(LoopsWriter):
    """Emits the statements of one function and maps its values to expressions."""

    def __init__(self, emissions: Mapping[type[Operation], EmitOperation], tables: "Tables", names: Names) -> None:
        super().__init__(emissions, names)
        self.tables = tables
        self.lines: list[str] = []

    # --- Statements ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Writes a statement at the current indentation."""
        self.lines.append(f"{INDENT * self.depth}{text}")

    def declare_index(self, name: str, value: Index) -> None:
        self.line(f"{name} = {value}")

    @contextmanager
    def indented(self) -> Generator[None]:
        """Indents the body of a statement; writes `pass` if it is empty."""
        self.depth += 1
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1

    def use(self, *names: str) -> None:
        """Imports operations of the runtime into the emitted module."""
        self.tables.imported.update(names)

    def call(self, name: str, *operands: Text | Index | int | str) -> Text:
        """Returns the call of a runtime operation, and imports it."""
        self.use(name)
        return self.called(name, *operands)

    def called(self, name: str, *operands: Text | Index | int | str) -> Text:
        """Returns the call of a function that the emitted module already contains."""
        reads = reads_of(each for each in operands if isinstance(each, Text | Index))
        return Text(f"{name}({', '.join(map(str, operands))})", reads)

    # --- Values -------------------------------------------------------------------------------------------------------

    def variable(self, value: SSAValue, otherwise: str = "v") -> str:
        """Creates a variable for a value and returns its name."""
        name = self.names.new(self.hint(value, otherwise))
        self.values[value] = Index.of(name_text(name)) if isinstance(value.type, IndexType) else name_text(name)
        return name

    def define(self, value: SSAValue, text: Text | Index, *, pure: bool = True) -> None:
        """Binds `value` to `text`: inline if it has a single use in this block, as a variable otherwise."""
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
        """Assigns all targets in parallel: values are read before any target changes."""
        pairs = [(target, value) for target, value in zip(targets, values, strict=True) if value.text != target]
        pending: list[tuple[str, str]] = []
        for position, (target, value) in enumerate(pairs):
            is_read_later = any(target in later.reads for _, later in pairs[position + 1 :])
            if is_read_later:
                kept = self.names.new(f"next_{target}")
                self.line(f"{kept} = {value}")
                pending.append((target, kept))
            else:
                self.line(f"{target} = {value}")
        for target, kept in pending:
            self.line(f"{target} = {kept}")


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


# Scalar constants in the emitted code: numbers as Python.


def literal(op: Operation, value: Attribute) -> tuple[str, tuple[str, ...]]:
    """Returns a scalar constant as Python text, and the runtime operations that it calls."""
    match value:
        case IntegerAttr() if isinstance(value.type, IndexType):
            return str(value.value.data), ()
        case IntegerAttr():
            name = register_name(op, value.type)
            bits = int(name[1:])
            return f"{name}({wrapped(value.value.data, bits)})", (name,)
        case FloatAttr():
            name = register_name(op, value.type)
            return _float_literal(name, value.value.data, value.type)
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def _float_literal(name: str, number: float, element: AnyFloat) -> tuple[str, tuple[str, ...]]:
    if math.isfinite(number):
        dtype = dense_dtype(element)
        short = str(np.float32(number)) if name == "f32" else repr(float(number))
        assert dtype is not None
        # The compiler reads a literal as f64: a short text is kept only where that rounds to the same value.
        if name == "f32" and np.float32(float(short)) != np.float32(number):
            short = repr(float(number))
        return f"{name}({short})", (name,)
    bits = int.from_bytes(element.pack((number,)), "little", signed=True)
    integer = f"i{element.bitwidth}"
    return f"bits_{name}({integer}({bits}))", (f"bits_{name}", integer)
