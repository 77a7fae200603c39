"""Emits a program as one C file: helpers, kernels in call order, the two functions of the header, and constants."""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocOp, GetGlobalOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.extensions.aot.ahead import AheadForm
from qmlir.extensions.aot.c import memory, registers, scalars
from qmlir.extensions.aot.c.elements import array_literals, element_of, memory_type
from qmlir.extensions.aot.c.function import LARGEST, TABLES, CWriter, EmitOperation, Unit
from qmlir.extensions.aot.c.helpers import DOTS, IN_WORDS, functions_for, is_helper
from qmlir.extensions.aot.c.memory import pointer
from qmlir.extensions.aot.c.statements import LANE, rendered
from qmlir.extensions.aot.c.windows import emit_for
from qmlir.extensions.aot.golden import HOOK, LAYER
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.ir.provenance import origins_of
from qmlir.targets.cpu.emitters.card import WrittenFiles
from qmlir.targets.cpu.emitters.control import CONTROL, branch, results_of
from qmlir.targets.cpu.emitters.ports import C_KEYWORDS, CPP_KEYWORDS, EntryPoint, c_type, comment_text
from qmlir.targets.cpu.emitters.program import MainPort, arguments_with
from qmlir.targets.cpu.emitters.writing import INDENT, Index, Memory, Names, memory_of, name_text
from qmlir.targets.cpu.isa.base import ALIGNMENT


def _index_switch(write: CWriter, op: scf.IndexSwitchOp) -> None:
    chosen, names = write.index(op.arg), results_of(write, op)
    with write.indented(f"switch ({chosen})", chosen):
        cases = zip(op.cases.get_values(), op.case_regions, strict=True)
        for head, region in (*((f"case {case}:", each) for case, each in cases), ("default:", op.default_region)):
            with write.indented(head, end="} break;"):
                branch(write, names, region)


EMISSIONS: dict[type[Operation], Any] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **memory.EMISSIONS,
    **CONTROL,
    scf.ForOp: emit_for,
    scf.IndexSwitchOp: _index_switch,
}
"""The emission of each operation of the loops level, from one table per family of dialects."""

_RESERVED = (*C_KEYWORDS, *CPP_KEYWORDS, LANE, "n", "memcpy", "memmove", "arena", "main")

_OF_RUN = ("i", "place", "arena_bytes")
"""The names used in the exported functions. No parameter and nothing else in the file may have these names."""

_HEAD = """\
/* {name}: a neural network, emitted by qmlir as C99. It needs no library but memcpy and memmove.

   It computes the same bits everywhere, where floats are those of IEEE 754 and the compiler rounds each product before
   it adds: gcc does with -std=c99, all do with -ffp-contract=off. -ffast-math is refused.
   A loop over {lane} is a vector: compilers unroll it. */
#include "{name}.h"
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0)
#error "floats must be rounded in each step: without -ffast-math, and on x86 with -msse2 -mfpmath=sse"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lowest byte of a number must come first"
#endif
#if !defined(__GNUC__) || defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif"""


class _File:
    """The parts of the file under construction."""

    def __init__(self, entry: EntryPoint) -> None:
        self.entry, self.program = entry, entry.program
        self.unit = Unit(self.program.isa)
        self.names = Names((*_RESERVED, *_OF_RUN, f"{entry.name}_run", f"{entry.name}_run_in"), self._avoids)
        ports = (*self.program.inputs, *self.program.outputs)
        self.parameters = {port: self.names.new(entry.parameters[port]) for port in ports}
        """The names of the ports, which nothing else in the file has, as it would be hidden."""

        self.kernels = {each.sym_name.data: self.names.new(each.sym_name.data) for each in self.program.kernels}
        self.constants = {each: self.names.new(each) for each in self.program.constants}
        self.arrays = {each.symbol: array_literals(each.array) for each in self.program.constants.values()}

    def _avoids(self, name: str) -> bool:
        """Returns true if the file uses this name, or may use it."""
        return is_helper(name) or name.startswith(TABLES) or self.entry.is_defined(name)

    def writer(self, emissions: Mapping[type[Operation], EmitOperation], *taken: str) -> CWriter:
        """Returns the writer of a function, whose variables hide no other name."""
        known = (*_RESERVED, *self.kernels.values(), *self.constants.values(), *taken)
        return CWriter(emissions, self.unit, Names(known, self._avoids))

    def kernel(self, function: FuncOp) -> str:
        """Returns a kernel, preceded by the names of the model's nodes that it computes."""
        if function.function_type.outputs.data:
            raise op_error(function, "must not return values: a kernel writes to memory")
        write = self.writer(EMISSIONS)
        read_only = arguments_with(READ_ONLY, function)
        parameters = [_parameter(write, function, value, value in read_only) for value in function.body.block.args]
        write.block(function.body.block)
        nodes = ", ".join(map(str, origins_of(function)))
        head = f"static void {self.kernels[function.sym_name.data]}({', '.join(parameters) or 'void'})"
        comment = [f"/* {comment_text(nodes)} */"] if nodes else []
        body = rendered(write.statements)
        return "\n".join([*comment, f"{head} {{", *_unused(parameters, body), *body, "}"])

    def forward(self) -> Iterator[str]:
        """Yields declarations of the constants, which are defined at the end."""
        for symbol, constant in self.program.constants.items():
            type_, _ = self.arrays[symbol]
            yield f"{self._held(type_)} {self.constants[symbol]}[{max(constant.elements, 1)}];"

    def _held(self, type_: str) -> str:
        """Returns the first words of the declaration of a constant array; one that may hold weights is aligned."""
        is_aligned = type_ == "int8_t" and not self.unit.helpers.isdisjoint(DOTS)
        return f"static const {IN_WORDS} {type_}" if is_aligned else f"static const {type_}"

    def weights(self) -> Iterator[str]:
        """Yields definitions of the constants."""
        for symbol, constant in self.program.constants.items():
            type_, numbers = self.arrays[symbol]
            body = textwrap.fill(",".join(numbers or ["0"]).replace(",", ", "), 120, break_long_words=False)
            yield f"{self._held(type_)} {self.constants[symbol]}[{max(constant.elements, 1)}] = {{\n{body}}};"


def _parameter(write: CWriter, function: FuncOp, value: SSAValue, is_read_only: bool) -> str:
    type_ = memref_type(value)
    if type_ is None:
        element, name = element_of(function, value.type), write.names.new(write.hint(value, "n"))
        write.name(value, name)
        return f"{element.type} {name}"
    name = write.names.new(write.hint(value, "x"))
    write.array_memory(function, value, name)
    return f"{'const ' * is_read_only}{memory_type(function, type_.get_element_type())} *{name}"


def _unused(parameters: Sequence[str], body: Sequence[str]) -> Iterator[str]:
    """Yields statements that mark unused parameters."""
    read = set(re.findall(r"\w+", "\n".join(body)))
    for parameter in parameters:
        name = parameter.rpartition(" ")[2].lstrip("*")
        if name not in read:
            yield f"{INDENT}(void){name};"


class _Run:
    """The function `NAME_run_in`: checks of the inputs, then the kernel calls."""

    def __init__(self, file: _File) -> None:
        self.file, self.entry, self.program = file, file.entry, file.entry.program
        own: dict[type[Operation], Any] = {
            AllocOp: self._allocate, GetGlobalOp: self._get_global, func.CallOp: self._call,
        }  # fmt: skip
        self.write = file.writer({**EMISSIONS, **own}, *file.parameters.values())
        self.constant_arrays: set[str] = set()
        self.has_layers = False

    def _allocate(self, write: CWriter, op: AllocOp) -> None:
        buffer = self.program.buffers[op.memref]
        kind, name = memory_type(op, buffer.element), write.names.new(write.hint(op.memref, "buffer"))
        position = f"(int8_t *)arena + {buffer.start}"
        write.line(f"{kind} *const {name} = {position if kind == 'int8_t' else f'({kind} *)(void *)({position})'};")
        write.array_memory(op, op.memref, name, count=buffer.elements)

    def _get_global(self, write: CWriter, op: GetGlobalOp) -> None:
        symbol = op.name_.string_value()
        type_, _ = self.file.arrays[symbol]
        own, name = memory_type(op, self.program.constants[symbol].element), self.file.constants[symbol]
        text = name if type_ == own else f"((const {own} *)(const void *){name})"
        self.constant_arrays.add(text)
        write.array_memory(op, op.memref, text)

    def _call(self, write: CWriter, op: func.CallOp) -> None:
        symbol = op.callee.root_reference.data
        kernel = self.program.kernel(symbol)
        assert kernel is not None
        read_only = arguments_with(READ_ONLY, kernel)
        pairs = zip(op.arguments, kernel.body.block.args, strict=True)
        arguments = [self._given(write, op, value, own in read_only) for value, own in pairs]
        reads = [name_text(name) for name in arguments if name.isidentifier()]
        write.line(f"{self.file.kernels[symbol]}({', '.join(arguments)});", *reads)
        if isinstance(layer := op.attributes.get(LAYER), StringAttr):
            self._print(write, write.memory(op.arguments[-1]), layer.data)

    def _print(self, write: CWriter, memory: Memory, layer: str) -> None:
        """Writes calls of the function that receives a layer, for each part of it without gaps."""
        axes = [axis for axis in range(len(memory.shape)) if memory.shape[axis] != 1]
        inner = len(axes)
        while inner and memory.is_run(axes[inner - 1]):
            inner -= 1
        count, place, start, heads = (
            math.prod(memory.shape[axis] for axis in axes[inner:]),
            memory.offset,
            "0",
            list[str](),
        )
        for position, axis in enumerate(axes[:inner]):
            name, size = write.names.new("row"), memory.shape[axis]
            heads.append(f"for (int32_t {name} = 0; {name} < {size}; {name}++)")
            place = place.plus(Index.of(name_text(name)).times(memory.strides[axis]))
            start = f"({start} * {size} + {name})" if position else name
        self.has_layers = True
        text = layer.replace("\\", "\\\\").replace('"', '\\"')
        data = pointer(memory, place)
        width = f"(int32_t)sizeof *({data})"
        call = f'{self.entry.name}_layer("{text}", {start} * {count}, {data}, {count}, {width});'
        for line in (f"#ifdef {self.entry.macro('LAYERS')}", " ".join([*heads, call]), "#endif"):
            write.line(line)

    def _given(self, write: CWriter, op: func.CallOp, value: SSAValue, is_read_only: bool) -> str:
        """Returns an argument of a kernel call."""
        if memref_type(value) is None:
            return str(write.text(value))
        memory = write.memory(value)
        text = pointer(memory, memory.offset)
        if is_read_only or memory.array not in self.constant_arrays:
            return text
        return f"({memory_type(op, memory.element)} *)({text})"  # only read, though not marked so

    def _check(self, number: int, port: MainPort) -> None:
        """Rejects an input with values outside its type."""
        name, ends = self.file.parameters[port], port.array.limits
        conditions: list[str] = []
        if ends is not None:
            conditions = [f"{name}[i] < {ends[0]}"] if c_type(port).startswith("int") else []
            conditions.append(f"{name}[i] > {ends[1]}")
        if port.refuses_nan:
            conditions.append(_is_nan(port, f"{name}[i]"))
        if conditions:
            head = f"for (int32_t i = 0; i < {port.elements}; i++)"
            self.write.line(f"{head} if ({' || '.join(conditions)}) return {number};")

    def _bind(self, port: MainPort, *, is_input: bool) -> None:
        """Binds an argument of `@main` to the caller's memory, or to a copy with sign-extended integers."""
        if is_input and port.value.first_use is None:
            return
        name, write = self.file.parameters[port], self.write
        element = memory_of(port.value).get_element_type()
        own = memory_type(self.program.main, element)
        held = "const " * is_input + own
        if is_input and port.array.is_narrow:
            copy = write.names.new(f"{name}_signed")
            write.line(f"{own} *const {copy} = ({own} *)(void *)((int8_t *)arena + {self.entry.copies[port]});")
            value = element_of(self.program.main, element).wrapped(f"{name}[i]")
            write.line(f"for (int32_t i = 0; i < {port.elements}; i++) {copy}[i] = ({own}){value};")
            name = copy
        elif own != c_type(port):
            view = write.names.new(f"{name}_memory")
            write.line(f"{held} *const {view} = ({held} *){name};")
            name = view
        if is_input:
            self.constant_arrays.add(name)
        write.array_memory(self.program.main, port.value, name)

    def _finish(self, port: MainPort) -> None:
        """Converts output integers to the form that the caller expects."""
        if port.array.is_narrow:
            name = self.file.parameters[port]
            value = f"{name}[i] & {(1 << port.bits) - 1}"
            value = f"-({value})" if port.dtype.startswith("int") else value
            head = f"for (int32_t i = 0; i < {port.elements}; i++)"
            self.write.line(f"{head} {name}[i] = ({c_type(port)})({value});")

    def text(self) -> str:
        """Returns the text of the function."""
        for number, port in enumerate(self.program.inputs, 1):
            self._check(number, port)
        for port in self.program.inputs:
            self._bind(port, is_input=True)
        for port in self.program.outputs:
            self._bind(port, is_input=False)
        self.write.block(self.program.main.body.block)
        for port in self.program.outputs:
            self._finish(port)
        head = f"{self.entry.signature(self.file.parameters, in_arena=True)} {{"
        body = rendered(self.write.statements)
        unused = _unused(["arena", *self.file.parameters.values()], body)
        return "\n".join([head, *unused, *body, f"{INDENT}return 0;", "}"])


def _is_nan(port: MainPort, text: str) -> str:
    """Returns a test for NaN; 16-bit floats are tested by their bits."""
    if c_type(port) in ("float", "double"):
        return f"{text} != {text}"
    return f"({text} & 0x7fff) > {'0x7c00' if port.dtype == 'float16' else '0x7f80'}"


def _run_text(entry: EntryPoint, parameters: Mapping[MainPort, str]) -> str:
    """Returns the C code of `NAME_run`, which aligns its static arena by hand: C99 has no alignment specifier."""
    names = ", ".join(["place", *parameters.values()])
    return "\n".join(
        [
            f"static unsigned char arena_bytes[{entry.macro('ARENA_BYTES')} + {ALIGNMENT - 1}];",
            "",
            f"{entry.signature(parameters, in_arena=False)} {{",
            f"{INDENT}void *place = arena_bytes + (uintptr_t)({ALIGNMENT} - (uintptr_t)arena_bytes % {ALIGNMENT})"
            f" % {ALIGNMENT};",
            f"{INDENT}return {entry.name}_run_in({names});",
            "}",
        ]
    )


def _check_size(entry: EntryPoint) -> None:
    """Raises `DiagnosticError` if offsets don't fit the integers in which they are computed."""
    program = entry.program
    sizes = [entry.arena_bytes, *(each.elements for each in (*program.inputs, *program.outputs))]
    sizes += [each.elements for each in program.constants.values()]
    if max(sizes) > LARGEST:
        raise text_error(f"arrays in C must have at most {LARGEST} elements or bytes, but got {max(sizes)}")


def emit_c(entry: EntryPoint) -> WrittenFiles:
    """Returns the C file of a program. Raises `DiagnosticError` if an operation cannot be emitted as C."""
    _check_size(entry)
    file = _File(entry)
    kernels = [file.kernel(function) for function in entry.program.kernels]
    run = _Run(file)
    text, hook = run.text(), HOOK.format(name=entry.name)
    tables = [
        f"static const {type_} {name}[{numbers.count(',') + 1}] = {{{numbers}}};"
        for (type_, numbers), name in file.unit.tables.items()
    ]
    parts = [
        _HEAD.format(name=entry.name, lane=LANE),
        *functions_for(file.unit.helpers),
        "\n".join(["/* Constants, which stand at the end. */", *file.forward(), *tables]),
        *kernels,
        *([f"#ifdef {entry.macro('LAYERS')}\n{hook}\n#endif"] if run.has_layers else []),
        text,
        _run_text(entry, file.parameters),
        *file.weights(),
    ]
    return WrittenFiles({f"{entry.name}.c": "\n\n".join(parts) + "\n"})


C = AheadForm("C99: one file that needs no library", "portable", emit_c, "c", takes_tiles=False, has_layers=True)
