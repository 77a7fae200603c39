"""Calls compiled code from Python by its address, without numba.

numba passes a flat array as seven values: two owners, the number of elements, the element size, the data pointer, the
shape, and the stride. An entry is a small LLVM function that reads the data pointer from each NumPy array object and
calls the code. The entry passes no array sizes: they are constants in the code. One entry serves all code whose
arguments have the same kinds.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import ctypes
import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
import numpy as np

_SCALARS: dict[str, tuple[str, Any]] = {
    "index": ("i64", ctypes.c_int64),
    "i1": ("i1", ctypes.c_bool),
    "i8": ("i8", ctypes.c_int8),
    "i16": ("i16", ctypes.c_int16),
    "i32": ("i32", ctypes.c_int32),
    "i64": ("i64", ctypes.c_int64),
    "f32": ("float", ctypes.c_float),
    "f64": ("double", ctypes.c_double),
}
"""The LLVM type and the C type of each kind of scalar."""

_DATA = object.__basicsize__
"""The offset of the data pointer in a NumPy array object, in bytes: it follows the header of every Python object."""

MOST_ARGUMENTS = 1000
"""The maximum number of arguments passed individually, since ctypes allows 1,024; more are passed in a structure."""

_NUMBERS = itertools.count()


def made_engine() -> Any:
    """Returns a new LLVM execution engine for this CPU. Its code lives as long as the engine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@cache
def entry_engine() -> Any:
    """Returns the engine of all entries. LLVM finds symbols of the process only after an engine was created."""
    return made_engine()


def _array(number: int, name: str) -> tuple[list[str], str]:
    """Returns instructions that read the data pointer of an array object, and the arguments for numba's code."""
    n, size = number, np.dtype(name).itemsize
    lines = [
        f"%data_at_{n} = getelementptr i8, ptr %x{n}, i64 {_DATA}",
        f"%data_{n} = load ptr, ptr %data_at_{n}",
    ]
    return lines, f"ptr null, ptr null, i64 0, i64 {size}, ptr %data_{n}, i64 0, i64 {size}"


def _unpacked(texts: Sequence[str]) -> list[str]:
    """Returns instructions that load arguments of these types from `%packed`; ctypes stores a Boolean as a byte."""
    lines = list[str]()
    for number, text in enumerate(texts):
        lines.append(f"%at_{number} = getelementptr %arguments, ptr %packed, i64 0, i32 {number}")
        if text == "i1":
            lines += [f"%byte_{number} = load i8, ptr %at_{number}", f"%x{number} = trunc i8 %byte_{number} to i1"]
        else:
            lines.append(f"%x{number} = load {text}, ptr %at_{number}")
    return lines


def _packing(function: Any, kinds: Sequence[Any]) -> Callable[..., None]:
    """Returns a function that packs arguments into a structure and calls an entry with it."""
    fields = [(f"x{number}", kind) for number, kind in enumerate(kinds)]
    packed = type("Packed", (ctypes.Structure,), {"_fields_": fields})

    def call(address: int, *arguments: Any) -> None:
        function(address, ctypes.byref(packed(*arguments)))

    return call


@cache
def _entry(arguments: tuple[str, ...]) -> Any:
    """Returns the entry for code with arguments of these kinds: a function of the code's address and the arguments."""
    lines, given = list[str](), ["ptr %result", "ptr %error"]
    texts, kinds = list[str](), list[Any]()
    for number, argument in enumerate(arguments):
        word, _, name = argument.rpartition(" ")
        text, kind = _SCALARS[name] if word == "value" else ("ptr", ctypes.py_object)
        if word == "value":
            given.append(f"{text} %x{number}")
        else:
            found, values = _array(number, name)
            lines += found
            given.append(values)
        texts.append(text)
        kinds.append(kind)
    is_packed = len(arguments) > MOST_ARGUMENTS
    taken = ["ptr %code", *(f"{text} %x{number}" for number, text in enumerate(texts))]
    if is_packed:
        taken, lines = ["ptr %code", "ptr %packed"], [*_unpacked(texts), *lines]
    symbol = f"qmlir_entry_{next(_NUMBERS)}"
    body = ["%result = alloca ptr", "%error = alloca ptr", *lines, f"call i32 %code({', '.join(given)})", "ret void"]
    layout = ", ".join("i8" if text == "i1" else text for text in texts)
    head = [f"%arguments = type {{{layout}}}"] if is_packed else []
    module = llvm.parse_assembly("\n".join([*head, f"define void @{symbol}({', '.join(taken)}) {{", *body, "}"]))
    entry_engine().add_module(module)
    entry_engine().finalize_object()
    # Compiled code needs nothing of Python while it runs: other threads go on.
    types = [ctypes.c_void_p] if is_packed else kinds
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *types)(entry_engine().get_function_address(symbol))
    return _packing(function, kinds) if is_packed else function


def entry(address: int, arguments: Sequence[str], owner: object = None) -> Callable[..., None]:
    """Returns a function that calls the code at `address` with `arguments` (see `kernel`), and keeps `owner` alive.

    Nothing is checked: arrays must be contiguous, with the element size that the code expects.
    """
    found: Any = partial(_entry(tuple(each.removeprefix("const ") for each in arguments)), address)
    found.owner = owner
    return found
