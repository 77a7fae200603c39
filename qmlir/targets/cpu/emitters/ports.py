"""The ports of programs compiled ahead of time: their C names and types, and the checks of the caller's arrays.

The rules are those of the Python runtime (`MainPort.array`). NaN is rejected if floats are quantized, and so is an
element that is not a value of its type, such as 8 in an `i4` or a Boolean whose byte is 2. Kernels represent sub-byte
integers as signed. The caller of a `u4` passes 0 to 15, so those inputs are copied before kernels read them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.elements import item_size
from qmlir.targets.cpu.emitters.program import SLACK, LoopProgram, MainPort
from qmlir.targets.cpu.emitters.writing import LONGEST, Names
from qmlir.targets.cpu.host import AheadMachine
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.runtime.ports import scale_text, shape_text

C_KEYWORDS = (
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Bool", "_Complex",
    "_Imaginary",
)  # fmt: skip
CPP_KEYWORDS = (
    "alignas", "alignof", "asm", "bool", "catch", "class", "constexpr", "decltype", "delete", "explicit", "export",
    "false", "friend", "mutable", "namespace", "new", "noexcept", "nullptr", "operator", "private", "protected",
    "public", "template", "this", "throw", "true", "try", "typename", "using", "virtual", "wchar_t", "and", "or", "not",
    "xor", "and_eq", "or_eq", "xor_eq", "not_eq", "bitand", "bitor", "compl", "const_cast", "dynamic_cast",
    "reinterpret_cast", "static_cast", "typeid", "typeof", "thread_local", "static_assert", "char8_t", "char16_t",
    "char32_t", "concept", "requires", "co_await", "co_return", "co_yield", "consteval", "constinit",
)  # fmt: skip
"""C++ keywords: the header is also valid C++."""

_PREDEFINED = (
    "linux", "unix", "i386", "near", "far", "interface",
    "NULL", "EOF", "NAN", "INFINITY", "I", "errno", "assert", "offsetof", "stdin", "stdout", "stderr",
)  # fmt: skip
"""Names without a leading underscore that are defined by compilers, or by headers that a program may include first."""

_OF_STDINT = re.compile(r"U?INT\w*|(SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_\w+|\w+_t")

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_KINDS: Mapping[str, str] = {"bool": "uint8_t", "float32": "float", "float64": "double"}
_CODES: Mapping[int, str] = {1: "uint8_t", 2: "uint16_t"}


def checked_name(name: str) -> str:
    """Returns `name`, a prefix of files, functions and macros. Raises `DiagnosticError` unless it is a C identifier."""
    if len(name) > LONGEST:
        raise text_error(f"a name must have at most {LONGEST} characters, but got {len(name)}: '{name[:20]}…'")
    if not _IDENTIFIER.fullmatch(name) or name in (*C_KEYWORDS, *CPP_KEYWORDS):
        raise text_error(f"'{name}' must be a C identifier of ASCII letters, digits and '_' that starts with a letter")
    return name


def is_defined(name: str) -> bool:
    """Returns true if C headers may define an identifier as a type or macro; false for names that begin with `of_`."""
    return name in _PREDEFINED or (not name.startswith("of_") and _OF_STDINT.fullmatch(name) is not None)


def c_type(port: MainPort) -> str:
    """Returns the C type of the elements; low-precision floats are represented by their bits."""
    if port.dtype in _KINDS:
        return _KINDS[port.dtype]
    if port.dtype.startswith(("int", "uint")) and np.dtype(port.dtype).itemsize == item_size(port.element):
        return f"{port.dtype}_t"
    return _CODES[item_size(port.element)]


@dataclass(frozen=True, eq=False)
class EntryPoint:
    """The functions that run a program: `name_run` and `name_run_in`, as the header declares them."""

    program: LoopProgram
    name: str
    machine: AheadMachine
    """The machine for which code is compiled; C code is portable."""

    @cached_property
    def parameters(self) -> Mapping[MainPort, str]:
        """The parameter name of each port, inputs first."""
        own = ("arena", f"{self.name}_run", f"{self.name}_run_in")
        names = Names((*C_KEYWORDS, *CPP_KEYWORDS, *own), self.is_defined)
        ports = (*self.program.inputs, *self.program.outputs)
        return {port: names.new(port.name) for port in ports}

    def is_defined(self, name: str) -> bool:
        """Returns true if a header, including that of the program, may define an identifier as a type or macro."""
        return is_defined(name) or name.startswith(self.macro(""))

    @cached_property
    def copies(self) -> Mapping[MainPort, int]:
        """The arena offsets of inputs that are copied for kernels, after all buffers."""
        found: dict[MainPort, int] = {}
        end = self.program.arena_bytes - SLACK
        for port in (each for each in self.program.inputs if each.array.is_narrow):
            found[port] = -(-end // ALIGNMENT) * ALIGNMENT
            end = found[port] + port.elements * item_size(port.element)
        return found

    @property
    def arena_bytes(self) -> int:
        """The size of the arena in bytes, including copied inputs and the slack for vector loads."""
        ends = (start + port.elements * item_size(port.element) for port, start in self.copies.items())
        return max(self.program.arena_bytes, max(ends, default=0) + SLACK)

    def macro(self, what: str) -> str:
        """Returns the name of a macro of the header."""
        return f"{self.name}_{what}".upper()

    def signature(self, parameters: Mapping[MainPort, str], *, in_arena: bool) -> str:
        """Returns the declaration of one of the two functions with these `parameters`, without a semicolon."""
        ports = [
            *(f"const {c_type(port)} *{parameters[port]}" for port in self.program.inputs),
            *(f"{c_type(port)} *{parameters[port]}" for port in self.program.outputs),
        ]
        arguments = ["void *arena", *ports] if in_arena else ports
        return f"int {self.name}_run{'_in' * in_arena}({', '.join(arguments) or 'void'})"


def comment_text(text: str) -> str:
    """Escapes `text` for a C comment: ASCII, on one line, without comment delimiters or trigraphs."""
    escaped = text.encode("unicode_escape").decode("ascii")
    return escaped.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def port_text(entry: EntryPoint, port: MainPort) -> str:
    """Returns a readable description of a port."""
    text = f"{entry.parameters[port]}: '{comment_text(port.name)}', {shape_text(port.shape)} {port.dtype}"
    if (ends := port.array.limits) is not None:
        text += f", {ends[0]} to {ends[1]}"
    text += scale_text(port.scale, port.zero_point)
    if port.refuses_nan:
        text += ", NaN is refused"
    if port.in_place:
        inputs = [entry.parameters[entry.program.inputs[number]] for number in port.in_place]
        text += f"; may be the memory of {', '.join(inputs)}"
    return text
