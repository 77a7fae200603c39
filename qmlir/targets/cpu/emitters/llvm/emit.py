"""Emits a module of loops as LLVM IR: a function per kernel, `steps`, which calls the kernels, and an entry.

The text begins with a line of JSON that lists the fields of `machine_code.FACTS`, the symbols of the entry, and the
CPU features that the code requires.
"""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocOp, GetGlobalOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.dialects.team.ops import THREADS, TeamOperation, team_threads
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import origins_of
from qmlir.ir.rewriting import operations_in
from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.emitters.elements import item_size, memory_name
from qmlir.targets.cpu.emitters.emitter import CodeEmitter
from qmlir.targets.cpu.emitters.llvm import control, registers, scalars
from qmlir.targets.cpu.emitters.llvm.function import IRWriter, ModuleParts
from qmlir.targets.cpu.emitters.program import (
    LoopProgram,
    MainPort,
    PortRow,
    arguments_with,
    constants_of,
    is_tiled,
    program_of,
)
from qmlir.targets.cpu.emitters.writing import Index, Names, memory_of
from qmlir.targets.cpu.host import Processor, host_processor
from qmlir.targets.cpu.package import IR_PROGRAM, write_package
from qmlir.targets.cpu.runtime.machine_code import (
    FILE,
    HEAD,
    TILED,
    compiled_objects,
    digest_of,
    facts_of,
    host_machine,
    written,
)
from qmlir.targets.cpu.runtime.semantics.values import PTR, IRValue, Type, type_of
from qmlir.targets.cpu.runtime.team_code import team_functions, team_names

EMISSIONS: dict[type[Operation], Any] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **control.EMISSIONS,
}
"""The emission of each operation of the loops level, from one table per family of dialects."""

TEAM, NUMBER = "%team", "%number"
_OF_THREADS = ("ptr %team", "i64 %number")
"""The first parameters of a function that all threads of a team run: the team, and the number of the thread."""

MOST_STACK_ALIGNMENT, LEAST_STACK_ALIGNMENT = 64, 32
"""The size of the widest registers, and the smallest register size that needs explicit stack alignment, in bytes."""


@dataclass(frozen=True)
class Region:
    """A byte range that is passed to a kernel: part of the arena, a constant, or an array of the caller."""

    base: str
    first: int
    last: int
    """The end, exclusive. If the offset is unknown, the region is all of `base`."""

    def meets(self, other: "Region") -> bool:
        """Returns true if both regions overlap."""
        return self.base == other.base and self.first < other.last and other.first < self.last


@dataclass
class _Kernel:
    """A kernel whose callers are still being emitted."""

    name: str
    write: IRWriter
    arguments: list[tuple[Type, str]]
    constant: list[bool]
    comment: str
    is_divided: bool
    is_tiled: bool
    apart: list[bool] = field(default_factory=list[bool])
    """For each argument, True if it can be `noalias`.

    In every call, its memory must not overlap that of another argument, unless the kernel writes to neither of them.
    """

    def text(self, linkage: str, is_x86: bool) -> str:
        """Returns the text of the function."""
        rows = zip(self.arguments, self.constant, self.apart, strict=True)
        takes = [_argument(type_, name, constant, apart) for (type_, name), constant, apart in rows]
        first = _OF_THREADS if self.is_divided else ()
        attributes = f"{_attributes(self.write, is_x86)}{f' {TILED}' if self.is_tiled else ''}"
        head = f"define {linkage} void @{self.name}({', '.join([*first, *takes])}) {attributes}"
        comment = f"; {self.comment}\n" if self.comment else ""
        return comment + self.write.function_text(head, ["  ret void"])


def _argument(type_: Type, name: str, is_constant: bool, is_apart: bool) -> str:
    words = [type_.text, *(["noalias"] if is_apart else []), *(["readonly"] if is_constant else []), name]
    return " ".join(words)


def _attributes(write: IRWriter, is_x86: bool) -> str:
    """Returns function attributes that align the stack for spilled vector registers.

    LLVM decides too late that it spills some, and half of their loads would cross cache lines.
    """
    size = min(1 << (write.build.widest - 1).bit_length() if write.build.widest else 0, MOST_STACK_ALIGNMENT)
    return f"noinline nounwind alignstack({size})" if is_x86 and size >= LEAST_STACK_ALIGNMENT else "noinline nounwind"


class ModuleWriter:
    """Emits the functions of a module."""

    def __init__(self, program: LoopProgram, processor: Processor, name: str) -> None:
        self.program = program
        self.parts = ModuleParts(program.isa, processor)
        self.name = name
        self.names = Names()
        self.kernels: dict[str, _Kernel] = {}

    def kernel(self, function: FuncOp) -> None:
        """Emits a kernel; its arguments are pointers to the start of their memory."""
        if function.function_type.outputs.data:
            raise op_error(function, "must not return values: a kernel writes to memory")
        write = IRWriter(EMISSIONS, self.parts)
        is_divided = any(isinstance(op, TeamOperation) for op in operations_in(function))
        if is_divided:
            write.team, write.number = TEAM, NUMBER
        arguments = [
            argument_of(write, function, value, position) for position, value in enumerate(function.body.block.args)
        ]
        read = arguments_with(READ_ONLY, function)
        write.block(function.body.block)
        self.kernels[function.sym_name.data] = _Kernel(
            f"{self.name}_kernel_{self.names.new(function.sym_name.data)}",  # as nothing else of the module begins
            write,
            arguments,
            [value in read for value in function.body.block.args],
            ascii(", ".join(map(str, origins_of(function))))[1:-1],
            is_divided,
            is_tiled(function),
            [type_ is PTR for type_, _ in arguments],
        )


def argument_of(write: IRWriter, function: FuncOp, value: SSAValue, position: int) -> tuple[Type, str]:
    """Binds an argument of a kernel; returns its type and name."""
    name = f"%a{position}"
    if memref_type(value) is not None:
        write.array_memory(function, value, name)
        return PTR, name
    type_ = write.type(function, value.type)
    write.define(value, IRValue(type_, name))
    return type_, name


class StepsWriter:
    """Emits the function that calls the kernels with the arena, constants, and the caller's arrays."""

    def __init__(self, parts: ModuleWriter) -> None:
        self.parts = parts
        self.constants: dict[str, str] = {}
        main = parts.program.main
        self.threads = team_threads(main)
        own: dict[type[Operation], Any] = {
            AllocOp: self._allocate, GetGlobalOp: self._get_global, func.CallOp: self._call,
        }  # fmt: skip
        self.write = IRWriter({**EMISSIONS, **own}, parts.parts)
        if self.threads is not None:
            self.write.team, self.write.number = TEAM, NUMBER
        self.ports = [
            argument_of(self.write, main, value, position) for position, value in enumerate(main.body.block.args)
        ]
        self.write.block(main.body.block)

    def _allocate(self, write: IRWriter, op: AllocOp) -> None:
        start = self.parts.program.buffers[op.memref].start
        name = write.build.element_at(type_of("i8"), "%arena", str(start))
        write.point(name, "%arena", Index(constant=start), 1)
        write.array_memory(op, op.memref, name)

    def _get_global(self, write: IRWriter, op: GetGlobalOp) -> None:
        symbol = op.name_.string_value()
        name = self.constants.setdefault(symbol, f"%constant{len(self.constants)}")
        write.array_memory(op, op.memref, name)

    def _call(self, write: IRWriter, op: func.CallOp) -> None:
        symbol = op.callee.root_reference.data
        kernel = self.parts.kernels[symbol]
        if kernel.is_divided and self.threads is None:
            raise op_error(op, f"calls @{symbol}, which runs on several threads, from a function without {THREADS}")
        given = [self._given(write, op, value) for value in op.arguments]
        self._note_regions(op, kernel)
        first = _OF_THREADS if kernel.is_divided else ()
        write.build.line(f"call void @{kernel.name}({', '.join([*first, *(value.typed for value in given)])})")

    def _given(self, write: IRWriter, op: Operation, value: SSAValue) -> IRValue:
        if memref_type(value) is None:
            return write.value(value)
        memory = write.memory(value)
        return IRValue(PTR, write.pointer(op, memory, memory.offset))

    def _note_regions(self, op: func.CallOp, kernel: _Kernel) -> None:
        regions = [None if memref_type(each) is None else self._region(each) for each in op.arguments]
        for position, region in enumerate(regions):
            for other, another in enumerate(regions[:position]):
                both_read = kernel.constant[position] and kernel.constant[other]
                if region is None or another is None or both_read or not self._may_meet(region, another):
                    continue
                kernel.apart[position] = kernel.apart[other] = False

    def _region(self, value: SSAValue) -> Region:
        memory = self.write.memory(value)
        size, start = item_size(memory.element), memory.offset.number
        base, first = self.write.root(memory.array)
        if start is None or first is None:
            return Region(base, 0, 1 << 62)
        return Region(base, first + start * size, first + (start + memory.reach + 1) * size)

    def _may_meet(self, a: Region, b: Region) -> bool:
        """Returns true if two regions may overlap: an output may reuse the memory of inputs that `@main` names."""
        if a.base == b.base:
            return a.meets(b)
        names = [name for _, name in self.ports]
        if a.base not in names or b.base not in names:
            return False
        first, second = sorted((names.index(a.base), names.index(b.base)))
        ports = (*self.parts.program.inputs, *self.parts.program.outputs)
        return first in ports[second].in_place

    def text(self) -> str:
        """Returns the text of the function."""
        takes = [f"{type_.text} {name}" for type_, name in self.ports]
        takes[:0] = [*(_OF_THREADS if self.threads is not None else ()), "ptr %arena", "ptr %constants"]
        for number, name in enumerate(self.constants.values()):
            position = f"%constant_at{number}"
            self.write.build.first.append(f"  {position} = getelementptr ptr, ptr %constants, i64 {number}")
            self.write.build.first.append(f"  {name} = load ptr, ptr {position}")
        head = f"define internal void @{self.parts.name}_steps({', '.join(takes)}) noinline nounwind"
        return self.write.function_text(head, ["  ret void"])


def _array(name: str) -> str:
    """Returns the seven parameters of an array in numba's calling convention; the fifth is the data pointer."""
    return f"ptr %{name}_a, ptr %{name}_b, i64 %{name}_c, i64 %{name}_d, ptr %{name}, i64 %{name}_e, i64 %{name}_f"


def _entry(name: str, steps: StepsWriter) -> str:
    """Returns the function that Python calls with arrays: kernel addresses, arena, constant addresses, and ports."""
    ports = [f"x{position}" for position in range(len(steps.ports))]
    arrays = ", ".join(_array(each) for each in ("kernels", "arena", "constants", *ports))
    given = ", ".join(f"ptr %{each}" for each in ("arena", "constants", *ports))
    return (
        f"define i32 @{name}(ptr %result, ptr %error, {arrays}) nounwind {{\n"
        f"  call void @{name}_steps({given})\n  ret i32 0\n}}"
    )


def _team_entry(name: str, steps: StepsWriter) -> str:
    """Returns the function that each thread of a team calls; a job is an array of the addresses that an entry takes."""
    loads: list[str] = []
    for position in range(1, 3 + len(steps.ports)):
        loads += [
            f"  %p{position} = getelementptr ptr, ptr %job, i64 {position}",
            f"  %x{position} = load ptr, ptr %p{position}",
        ]
    given = ", ".join(f"ptr %x{position}" for position in range(1, 3 + len(steps.ports)))
    arrays = f"{_array('team')}, i64 %number, {_array('job')}"
    return "\n".join(
        [
            f"define i32 @{name}(ptr %result, ptr %error, {arrays}) nounwind {{",
            *loads,
            f"  call void @{name}_steps(ptr %team, i64 %number, {given})",
            "  ret i32 0",
            "}",
        ]
    )


def _kinds(steps: StepsWriter) -> list[str]:
    """Returns the kinds of the entry's arguments, in the syntax of `runtime/entry.py`."""
    main = steps.parts.program.main
    if steps.threads is not None:
        return ["int64", "value index", "const int64"]
    kinds = [memory_name(main, memory_of(value).get_element_type()) for value in main.body.block.args]
    return ["const int64", "int8", "const int64", *kinds]


def _constant_rows(steps: StepsWriter) -> list[tuple[str, str, int]]:
    main, constants = steps.parts.program.main, [steps.parts.program.constants[symbol] for symbol in steps.constants]
    return [(each.symbol, memory_name(main, each.element), each.elements) for each in constants]


def _port_rows(ports: Sequence[MainPort]) -> list[PortRow]:
    return [port.row for port in ports]


def _external(parts: ModuleParts) -> list[str]:
    """Returns the external functions that the module calls."""
    return sorted(name for name, text in parts.declarations.items() if text and not name.startswith("llvm."))


def emit_functions(
    program: LoopProgram, processor: Processor, name: str
) -> tuple[ModuleWriter, StepsWriter, list[str]]:
    """Emits the functions of a module of loops: kernels and `NAME_steps`, without the team functions.

    Raises `DiagnosticError` if an operation can't be compiled.
    """
    parts = ModuleWriter(program, processor, name)
    parts.parts.declarations.update(dict.fromkeys(team_names(), ""))
    for function in program.kernels:
        parts.kernel(function)
    steps = StepsWriter(parts)
    texts = [kernel.text("internal", processor.is_x86) for kernel in parts.kernels.values()]
    return parts, steps, [*texts, steps.text()]


def module_text(parts: ModuleWriter, texts: Sequence[str]) -> str:
    """Returns the text of a module: target triple, declarations and functions."""
    triple = f'target triple = "{parts.parts.processor.triple}"'
    declared = [text for text in parts.parts.declarations.values() if text]
    return "\n\n".join([triple, "\n".join(declared), *texts]) + "\n"


def emit_module(module: ModuleOp, processor: Processor) -> str:
    """Emits a module of loops as LLVM IR for a program that Python calls.

    Raises `DiagnosticError` if the module has no `@main`, or if an operation can't be compiled.
    """
    program, name = program_of(module), "program"
    parts, steps, texts = emit_functions(program, processor, name)
    is_team = steps.threads is not None
    texts.append((_team_entry if is_team else _entry)(name, steps))
    symbols = [f"{name}_lead", f"{name}_serve"]
    facts = {
        "INPUTS": _port_rows(program.inputs),
        "OUTPUTS": _port_rows(program.outputs),
        "IN_PLACE": [port.in_place for port in program.outputs],
        "CALLS": [(parts.kernels[call.kernel].name, call.nodes) for call in program.calls],
        "CONSTANTS": _constant_rows(steps),
        "ARENA_BYTES": program.arena_bytes,
        "kernels": [name],
        "steps": _kinds(steps),
        "team": {"threads": steps.threads, "symbols": symbols} if is_team else None,
        "needs": [*_external(parts.parts), *(["sched_yield"] if is_team else [])],
        "features": sorted(parts.parts.isa.needs | parts.parts.used),
    }
    if is_team:
        texts.insert(0, team_functions(name, processor.triple))
    return f"{HEAD}{json.dumps(facts)}\n{module_text(parts, texts)}"


def _write(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None, card: ProgramCard | None) -> None:
    text = emit_module(loops, host_processor())
    with ThreadPoolExecutor(1) as beside:  # LLVM runs without Python's lock
        objects = beside.submit(compiled_objects, text, host_machine())
        write_package(folder, text, constants_of(loops), batch, IR_PROGRAM, card)
    (folder / FILE).write_bytes(written(facts_of(text), digest_of(text.encode()), objects.result()))


EMITTER = CodeEmitter(_write, needs=("llvmlite",))
