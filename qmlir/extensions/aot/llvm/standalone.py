"""Functions in LLVM IR with a C interface, for objects that run without Python: `NAME_run` and `NAME_run_in`.

The header documents these functions. They check inputs before they compute anything, copy narrow unsigned inputs for
the kernels, and convert narrow outputs to the form that the caller expects.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from qmlir.targets.cpu.emitters.elements import item_size
from qmlir.targets.cpu.emitters.llvm.control import counting
from qmlir.targets.cpu.emitters.llvm.emit import EMISSIONS, emit_functions, module_text
from qmlir.targets.cpu.emitters.llvm.function import IRWriter, ModuleParts, held_type
from qmlir.targets.cpu.emitters.ports import EntryPoint
from qmlir.targets.cpu.emitters.program import Constant, MainPort
from qmlir.targets.cpu.emitters.writing import Index
from qmlir.targets.cpu.host import Processor
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.runtime.semantics.builder import Builder
from qmlir.targets.cpu.runtime.semantics.values import I1, IRValue, integer, type_of

Test = Callable[[Builder, IRValue], IRValue]
"""Emits and returns the condition under which an input element is rejected."""


def _is_nan(port: MainPort) -> Test:
    """Returns a test for NaN; low-precision floats are tested by their codes."""
    dtype = port.array.dtype
    if dtype.itemsize > 2:
        return lambda build, value: build.compare("fcmp uno", value, value)
    codes = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        found = codes[np.isnan(codes.view(dtype).astype(np.float32))]
    return lambda build, value: _in_ranges(build, value, _ranges(found))


def _ranges(codes: npt.NDArray[np.unsignedinteger]) -> list[tuple[int, int]]:
    """Returns runs of consecutive integers, as pairs of their ends."""
    runs = np.split(codes, np.flatnonzero(np.diff(codes) != 1) + 1)
    return [(int(run[0]), int(run[-1])) for run in runs if run.size]


def _in_ranges(build: Builder, value: IRValue, ranges: Sequence[tuple[int, int]]) -> IRValue:
    """Returns a test whether an unsigned integer is in one of several ranges."""
    found = integer(I1, 0)
    for low, high in ranges:
        moved = build.binary("sub", value, integer(value.type, low))
        found = build.binary("or", found, build.compare("icmp ule", moved, integer(value.type, high - low)))
    return found


def _is_outside(port: MainPort, ends: tuple[int, int], build: Builder, value: IRValue) -> IRValue:
    """Returns a test whether an element, or the bits of a float, is outside of its type."""
    words = ("slt", "sgt") if port.dtype.startswith("int") else ("ult", "ugt")
    below, above = (
        build.compare(f"icmp {word}", value, integer(value.type, end)) for word, end in zip(words, ends, strict=True)
    )
    return build.binary("or", below, above)


class _RunWriter:
    """Writes the function that checks inputs, calls the steps, and converts outputs for the caller."""

    def __init__(self, entry: EntryPoint, parts: ModuleParts) -> None:
        self.entry = entry
        self.write = IRWriter(EMISSIONS, parts)
        program = entry.program
        self.pointers = {port: f"%p{position}" for position, port in enumerate((*program.inputs, *program.outputs))}
        self.given = dict(self.pointers)
        """The pointer that the steps receive for each port."""

    def _loaded(self, port: MainPort, pointer: str, index: Index) -> tuple[IRValue, str]:
        """Returns an element as stored in memory, and its address."""
        build, held = self.write.build, held_type(self.entry.program.main, port.element)
        position = build.element_at(held, pointer, self.write.sum(index))
        return build.load(held, position, item_size(port.element)), position

    def refuse(self, number: int, port: MainPort, test: Test) -> None:
        """Returns `number` from the emitted function if a test holds for an element."""
        build, first = self.write.build, integer(I1, 0)
        with counting(self.write, Index(), Index(constant=port.elements), Index(constant=1), [first]) as loop:
            value, _ = self._loaded(port, self.pointers[port], loop.index)
            loop.yielded = [build.binary("or", loop.carried[0], test(build, value))]
        wrong, after = build.new("wrong"), build.new("right")
        build.branch(loop.carried[0], wrong, after)
        build.begin(wrong)
        build.line(f"ret i32 {number}")
        build.begin(after)

    def check(self) -> None:
        """Emits all checks of the inputs, in order."""
        for number, port in enumerate(self.entry.program.inputs, 1):
            ends = port.array.limits
            if ends is not None:
                self.refuse(number, port, partial(_is_outside, port, ends))
            if port.refuses_nan:
                self.refuse(number, port, _is_nan(port))

    def _changed(self, port: MainPort, source: str, target: str, change: Test) -> None:
        """Writes a function of each element."""
        with counting(self.write, Index(), Index(constant=port.elements), Index(constant=1)) as loop:
            value, _ = self._loaded(port, source, loop.index)
            position = self.write.build.element_at(value.type, target, self.write.sum(loop.index))
            self.write.build.store(change(self.write.build, value), position, item_size(port.element))

    def copy(self) -> None:
        """Copies narrow inputs in the form that kernels expect."""
        for port, start in self.entry.copies.items():
            target = self.write.build.element_at(type_of("i8"), "%arena", str(start))
            self._changed(port, self.pointers[port], target, partial(_signed, port.bits))
            self.given[port] = target

    def restore(self) -> None:
        """Converts narrow outputs to the caller's form."""
        for port in (each for each in self.entry.program.outputs if each.array.is_narrow):
            self._changed(port, self.pointers[port], self.pointers[port], partial(_unsigned, port))

    def text(self, name: str) -> str:
        """Returns the text of the function."""
        self.check()
        self.copy()
        given = "".join(f", ptr {pointer}" for pointer in self.given.values())
        self.write.build.line(f"call void @{name}_steps(ptr %arena, ptr @{name}_constants{given})")
        self.restore()
        takes = ", ".join(["ptr %arena", *(f"ptr {pointer}" for pointer in self.pointers.values())])
        return self.write.function_text(f"define i32 @{name}_run_in({takes}) nounwind", ["  ret i32 0"])


def _signed(bits: int, build: Builder, value: IRValue) -> IRValue:
    """Returns an element of the caller as kernels represent it: sign-extended, or as one bit."""
    if bits == 1:
        return build.binary("and", value, integer(value.type, 1))
    unused = integer(value.type, value.type.bits - bits)
    return build.binary("ashr", build.binary("shl", value, unused), unused)


def _unsigned(port: MainPort, build: Builder, value: IRValue) -> IRValue:
    """Returns an element of a kernel as the caller expects it: without sign extension; a signed bit is -1 or 0."""
    found = build.binary("and", value, integer(value.type, (1 << port.bits) - 1))
    return build.binary("sub", integer(value.type, 0), found) if port.dtype.startswith("int") else found


def _bytes_text(data: bytes) -> str:
    """Formats bytes as an LLVM constant."""
    table = np.frombuffer(b"".join(f"\\{byte:02X}".encode() for byte in range(256)), np.uint8).reshape(256, 3)
    return f'c"{table[np.frombuffer(data, np.uint8)].tobytes().decode()}"'


def _constants(name: str, constants: Sequence[Constant]) -> list[str]:
    """Returns the definitions of the constants, and the table of their addresses."""
    lines: list[str] = []
    for position, constant in enumerate(constants):
        data = np.ascontiguousarray(constant.array).tobytes()
        text = _bytes_text(data) if data else "zeroinitializer"
        lines.append(f"@{name}_constant{position} = internal constant [{len(data)} x i8] {text}, align {ALIGNMENT}")
    rows = ", ".join(f"ptr @{name}_constant{position}" for position in range(len(constants)))
    table = f"[{rows}]" if rows else "zeroinitializer"
    lines.append(f"@{name}_constants = internal constant [{len(constants)} x ptr] {table}")
    return lines


def _run(entry: EntryPoint, writer: _RunWriter) -> list[str]:
    """Returns the function with a static arena, and the arena."""
    name, pointers = entry.name, list(writer.pointers.values())
    takes = ", ".join(f"ptr {pointer}" for pointer in pointers)
    given = ", ".join(f"ptr {pointer}" for pointer in (f"@{name}_arena", *pointers))
    return [
        f"@{name}_arena = internal global [{entry.arena_bytes} x i8] zeroinitializer, align {ALIGNMENT}",
        f"define i32 @{name}_run({takes}) nounwind {{\n"
        f"  %result = call i32 @{name}_run_in({given})\n  ret i32 %result\n}}",
    ]


def standalone_text(entry: EntryPoint, processor: Processor) -> str:
    """Returns the LLVM IR of a program. Raises `DiagnosticError` if it cannot be compiled to run without Python."""
    parts, steps, texts = emit_functions(entry.program, processor, entry.name)
    writer = _RunWriter(entry, parts.parts)
    constants = [entry.program.constants[symbol] for symbol in steps.constants]
    run = writer.text(entry.name)
    return module_text(parts, [*_constants(entry.name, constants), *texts, run, *_run(entry, writer)])
