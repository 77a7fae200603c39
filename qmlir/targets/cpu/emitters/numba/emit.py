"""Emits a module of loops as a Python module: a compiled function per kernel, and `main`, which calls them.

The source declares its interface: `CONSTANTS` (name, NumPy type, elements) in the order in which `main` takes their
addresses, `INPUTS` and `OUTPUTS` (name, NumPy type of the caller's array, shape, whether NaN is rejected, width of
elements that don't fill their NumPy type, and for stored integers scale and zero point), `IN_PLACE` (for each output,
the inputs whose memory it may reuse), `CALLS` (the kernel of each call, and the model's nodes that it computes),
`ARENA_BYTES`, and LLVM's names of the instruction set's dot products. It imports its runtime as `.runtime.operations`,
so it must be next to a copy of `qmlir.targets.cpu.runtime`.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocOp, GetGlobalOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.dialects.team.ops import THREADS, TeamOperation, team_threads
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import origins_of
from qmlir.targets.cpu.emitters.elements import memory_name, register_name
from qmlir.targets.cpu.emitters.numba import control, registers, scalars
from qmlir.targets.cpu.emitters.numba.control import NUMBER, TEAM
from qmlir.targets.cpu.emitters.numba.function import BY_HAND, FunctionWriter, Tables
from qmlir.targets.cpu.emitters.program import LoopProgram, MainPort, arguments_with, program_of
from qmlir.targets.cpu.emitters.writing import INDENT, Index, Names, Text, memory_of, name_text
from qmlir.targets.cpu.isa.base import InstructionSet
from qmlir.targets.cpu.runtime import operations
from qmlir.targets.cpu.runtime.operations.lanes import BY_INTRINSICS

EMISSIONS: dict[type[Operation], Any] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **control.EMISSIONS,
}
"""The emission of each operation of the loops level, from one table per family of dialects."""

_OF_THE_MODULE = (
    "main", "steps", "arena", "constants", "kernels", "np", "together", "ARENA_BYTES", "CALLS", "CONSTANTS",
    "DIGEST", "INPUTS", "IN_PLACE", "KERNELS", "OUTPUTS", "TEAM",
)  # fmt: skip
"""Names that the emitted module defines itself."""


def _is_operation(name: str) -> bool:
    """Returns True if emitted code may import `name`, so that no variable may have this name."""
    return name.startswith(("LANES_", BY_HAND)) or name in BY_INTRINSICS or hasattr(operations, name)


class _ModuleWriter:
    """Collects the parts of the emitted Python module."""

    def __init__(self, isa: InstructionSet) -> None:
        self.tables = Tables(isa)
        self.names = Names(_OF_THE_MODULE, _is_operation)
        self.kernels: dict[str, str] = {}
        self.divided: set[str] = set()
        """The kernels whose loops are divided among threads."""

        self.texts: list[str] = []

    def kernel(self, function: FuncOp) -> None:
        """Emits a kernel; each of its arguments is a flat array that begins at the start of its memory."""
        if function.function_type.outputs.data:
            raise op_error(function, "must not return values: a kernel writes to memory")
        name = self.names.new(function.sym_name.data)
        self.kernels[function.sym_name.data] = name
        write = FunctionWriter(EMISSIONS, self.tables, Names(self.reserved(), _is_operation))
        arguments = [self.argument(write, function, value) for value in function.body.block.args]
        if any(isinstance(op, TeamOperation) for op in function.walk()):
            self.divided.add(function.sym_name.data)
            arguments[:0] = _OF_THREADS
        write.block(function.body.block)
        is_by_hand = any(isinstance(op, CustomOp) for op in function.walk())
        self.texts.append(self.function(write, name, arguments, _comment(function), is_by_hand=is_by_hand))

    def reserved(self) -> list[str]:
        """Returns names that no variable of a function may have."""
        return ["np", "True", "range", "max", "min", "team", "number", *self.kernels.values()]

    def argument(self, write: FunctionWriter, function: FuncOp, value: SSAValue) -> tuple[str, str]:
        """Binds an argument of a function; returns its name and its type in the syntax of `kernel`."""
        type_ = memref_type(value)
        if type_ is None:
            return write.variable(value, "n"), f"value {register_name(function, value.type)}"
        name = write.names.new(write.hint(value, "x"))
        write.array_memory(function, value, name)
        kind = memory_name(function, type_.get_element_type())
        return name, f"const {kind}" if value in arguments_with(READ_ONLY, function) else kind

    def function(
        self,
        write: FunctionWriter,
        name: str,
        arguments: Sequence[tuple[str, str]],
        comment: str = "",
        *,
        is_by_hand: bool = False,
    ) -> str:
        """Returns the source of a function; `is_by_hand` is True if it calls a custom kernel."""
        types = ", ".join([*(f'"{kind}"' for _, kind in arguments), *(["by_hand=True"] if is_by_hand else [])])
        self.tables.imported.add("kernel")
        head = [
            f"@kernel({types})",
            f"def {name}({', '.join(each for each, _ in arguments)}):",
            *([f'{INDENT}"""{comment}"""'] if comment else []),
        ]
        return "\n".join([*head, *(write.lines or [f"{INDENT}pass"])])


_OF_THREADS = [(TEAM, "int64"), (NUMBER, "value index")]
"""The first parameters of a function that all threads of a team run: the team, and the number of the thread."""


def _quoted(text: str) -> str:
    """Returns `text` as a Python string literal in ASCII, in double quotes."""
    return json.dumps(text)


def _comment(function: FuncOp) -> str:
    return _quoted(", ".join(map(str, origins_of(function))))[1:-1]


class _MainWriter:
    """Emits `steps`, which calls the kernels with the arena, constants, and the caller's arrays."""

    def __init__(self, parts: _ModuleWriter, program: LoopProgram) -> None:
        self.parts = parts
        self.program = program
        self.main = function = program.main
        self.constants: dict[str, str] = {}
        self.threads = team_threads(function)
        """The number of threads of the team, each of which runs all steps; `None` without a team."""

        own: dict[type[Operation], Any] = {
            AllocOp: self._allocate, GetGlobalOp: self._get_global, func.CallOp: self._call,
        }  # fmt: skip
        names = Names(("kernels", "arena", "constants", *parts.reserved()), _is_operation)
        self.write = FunctionWriter({**EMISSIONS, **own}, parts.tables, names)

    def _allocate(self, write: FunctionWriter, op: AllocOp) -> None:
        buffer = self.program.buffers[op.memref]
        kind = memory_name(op, buffer.element)
        if kind == "int8":
            start = Index(constant=buffer.start)
            write.array_memory(op, op.memref, "arena", start, buffer.start + buffer.elements)
            return
        name = write.names.new(write.hint(op.memref, "buffer"))
        view = write.call("view", name_text("arena"), buffer.start, buffer.elements, f'"{kind}"')
        write.line(f"{name} = {view}")
        write.array_memory(op, op.memref, name)

    def _get_global(self, write: FunctionWriter, op: GetGlobalOp) -> None:
        symbol = op.name_.string_value()
        if symbol not in self.constants:
            self.constants[symbol] = write.names.new(symbol)
        write.array_memory(op, op.memref, self.constants[symbol])

    def _call(self, write: FunctionWriter, op: func.CallOp) -> None:
        symbol = op.callee.root_reference.data
        order = list(self.parts.kernels)
        arguments = [self._given(write, value) for value in op.arguments]
        if symbol in self.parts.divided:
            if self.threads is None:
                raise op_error(op, f"calls @{symbol}, which runs on several threads, from a function without {THREADS}")
            arguments[:0] = map(name_text, (TEAM, NUMBER))
        call = write.call("call", name_text("kernels"), order.index(symbol), *arguments)
        write.line(f"{call}  # {self.parts.kernels[symbol]}")

    def _given(self, write: FunctionWriter, value: SSAValue) -> Text:
        if memref_type(value) is None:
            return write.text(value)
        memory = write.memory(value)
        if memory.offset.number == 0:
            return name_text(memory.array)
        return write.call("tail", name_text(memory.array), memory.offset)

    def text(self) -> str:
        """Returns the source of the function."""
        write, parts, function = self.write, self.parts, self.main
        ports = [parts.argument(write, function, value) for value in function.body.block.args]
        count = len(self.program.inputs)  # they come first, and the caller's arrays may be read-only
        ports[:count] = [(name, f"const {kind.removeprefix('const ')}") for name, kind in ports[:count]]
        write.block(function.body.block)
        write.lines[:0] = self._constant_lines()
        if self.threads is not None:
            write.lines[:0] = self._job_lines(ports)
            return parts.function(write, "steps", [*_OF_THREADS, ("job", "const int64")])
        arguments = [("kernels", "const int64"), ("arena", "int8"), ("constants", "const int64"), *ports]
        return parts.function(write, "steps", arguments)

    def _job_lines(self, ports: Sequence[tuple[str, str]]) -> list[str]:
        """Returns statements that create the arrays of a job from the table of addresses that threads get."""
        sizes = [math.prod(memory_of(value).get_shape()) for value in self.main.body.block.args]
        kinds = [kind.removeprefix("const ") for _, kind in ports]
        rows = [
            ("kernels", len(self.parts.kernels), "int64"),
            ("arena", self.program.arena_bytes, "int8"),
            ("constants", len(self.constants), "int64"),
            *((name, size, kind) for (name, _), size, kind in zip(ports, sizes, kinds, strict=True)),
        ]
        return self._array_lines("job", rows)

    def _array_lines(self, table: str, rows: Iterable[tuple[str, int, str]]) -> list[str]:
        """Returns statements that create arrays, given as name, size and type, from a table of their addresses."""
        return [
            f"{INDENT}{name} = {self.write.call('array_at', name_text(table), number, size, _quoted(kind))}"
            for number, (name, size, kind) in enumerate(rows)
        ]

    def _constant_lines(self) -> list[str]:
        """Returns statements that create the arrays of constants from a table of addresses.

        A table takes less time to pass than one argument per constant.
        """
        rows = ((name, self.program.constants[symbol]) for symbol, name in self.constants.items())
        kinds = ((name, each.elements, memory_name(self.main, each.element)) for name, each in rows)
        return self._array_lines("constants", kinds)

    def constant_rows(self) -> list[str]:
        """Returns the rows of `CONSTANTS`."""
        rows = ((each, memory_name(self.main, each.element)) for each in self.program.constants.values())
        return [f"({_quoted(each.symbol)}, {_quoted(kind)}, {each.elements})" for each, kind in rows]

    def call_rows(self) -> list[str]:
        """Returns the rows of `CALLS`."""
        rows = ((self.parts.kernels[each.kernel], each.nodes) for each in self.program.calls)
        return [f"({_quoted(kernel)}, {json.dumps(nodes)})" for kernel, nodes in rows]


def _port_rows(ports: Sequence[MainPort]) -> list[str]:
    """Returns the rows of `INPUTS` or `OUTPUTS`."""
    rows = ((_quoted(each.name), _quoted(each.dtype), *each.row[2:]) for each in ports)
    return [f"({', '.join(map(str, row))})" for row in rows]


def _in_place(program: LoopProgram) -> list[list[int]]:
    """Returns, for each output, the indices of the inputs whose memory it may reuse."""
    return [] if program.main.arg_attrs is None else [list(each.in_place) for each in program.outputs]


def _table(name: str, rows: Sequence[str]) -> str:
    if not rows:
        return f"{name} = []"
    body = "".join(f"{INDENT}{row},\n" for row in rows)
    return f"{name} = [\n{body}]"


def _instruction_lines(tables: Tables) -> Iterator[str]:
    """Yields statements that define the instructions that kernels use, by LLVM's names of the intrinsics."""
    if tables.instructions:
        yield f"requires({', '.join(map(_quoted, sorted(tables.isa.needs)))})"
    for name in sorted(tables.instructions):
        rows = ", ".join(f"({bits}, {_quoted(row)})" for bits, row in tables.isa.instructions[name].items())
        yield f"{name} = by_intrinsics({_quoted(name)}, {rows})"


def _import_line(row: str, name: str) -> str:
    """Returns the statement that imports the function of a custom kernel."""
    module, _, function = row.partition(":")
    return f"from {module} import {function} as {name}"


def emit_module(module: ModuleOp) -> str:
    """Emits the Python source of a module of loops.

    Raises `DiagnosticError` if the module has no `@main`, or if an operation can't be compiled.
    """
    program = program_of(module)
    parts = _ModuleWriter(program.isa)
    for function in program.kernels:
        parts.kernel(function)
    writer = _MainWriter(parts, program)
    steps = writer.text()
    parts.tables.imported.add("addresses")
    if parts.tables.instructions:
        parts.tables.imported.update(("by_intrinsics", "requires"))
    head = ['"""Kernels of a neural network, emitted by qmlir; `main` runs them over the arena."""', ""]
    if parts.tables.lanes:
        head += ["import numpy as np", ""]
    names = "".join(f"{INDENT}{name},\n" for name in sorted(parts.tables.imported))
    head.append(f"from .runtime.operations import (\n{names})")
    if writer.threads is not None:
        head.append("from .runtime.operations.threads import together")
    written = [_import_line(row, name) for row, name in parts.tables.functions.items()]
    head.extend(written)
    tables = "\n".join(
        [
            _table("CONSTANTS", writer.constant_rows()),
            _table("INPUTS", _port_rows(program.inputs)),
            _table("OUTPUTS", _port_rows(program.outputs)),
            f"IN_PLACE = {_in_place(program)}",
            _table("CALLS", writer.call_rows()),
            f"ARENA_BYTES = {program.arena_bytes}",
            *_instruction_lines(parts.tables),
            *(f"{name} = np.array({numbers}, np.{kind})" for (kind, numbers), name in parts.tables.lanes.items()),
        ]
    )
    # The function that calls all others comes last: it is called by its address, too.
    kernels = f"KERNELS = addresses({', '.join([*parts.kernels.values(), 'steps'])})"
    start = "steps("
    if writer.threads is not None:
        kernels += f"\nTEAM = together(DIGEST, {writer.threads})"
        start = "TEAM(steps, "
    call = (
        "def main(arena, constants, *arrays):\n"
        f'{INDENT}"""Compute: `arrays` are inputs and memory for outputs, each flat; constants are addresses."""\n'
        f"{INDENT}{start}KERNELS, arena, constants, *arrays)"
    )
    body = [*parts.texts, steps, kernels, call]
    digest = hashlib.sha256("\n".join([*written, tables, *body]).encode()).hexdigest()[:24]
    first = "\n".join([*head, "", f'DIGEST = "{digest}"', tables])
    return "\n\n\n".join([first, *body]) + "\n"
