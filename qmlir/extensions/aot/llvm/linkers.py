"""Links an object with an available linker: the system's compiler or linker, or Zig from PyPI."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from qmlir.ir.diagnostics import text_error

Linker = Callable[[str], Sequence[str] | None]
"""Returns the link command for a triple, without files; `None` if it doesn't support that or is not available."""


def _architecture(triple: str) -> str:
    return triple.partition("-")[0].replace("arm64", "aarch64").replace("amd64", "x86_64")


def _links_for(command: str, triple: str) -> bool:
    """Returns true if a compiler targets the architecture of a triple by default."""
    if shutil.which(command) is None:
        return False
    done = subprocess.run([command, "-dumpmachine"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and _architecture(done.stdout.strip()) == _architecture(triple)


def _compiler(triple: str) -> Sequence[str] | None:
    return ["cc", "-shared"] if _links_for("cc", triple) else None


def _cross_compiler(triple: str) -> Sequence[str] | None:
    command = f"{triple}-gcc"
    return [command, "-shared"] if shutil.which(command) is not None else None


def _zig(triple: str) -> Sequence[str] | None:
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "cc", "-target", _short(triple), "-shared"]


def _short(triple: str) -> str:
    """Returns a triple in Zig's form, without the vendor."""
    parts = triple.split("-")
    return "-".join([parts[0], *parts[2:]]) if len(parts) == 4 else triple


_WASM_LD = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(30, 19, -1)))
"""Names of the linker, including Debian's with the LLVM version, which must be at least that of the object's writer."""


def _wasm_linker(_: str) -> Sequence[str] | None:
    found = next(filter(shutil.which, _WASM_LD), None)
    return None if found is None else [found]


def _wasm_linker_of_zig(_: str) -> Sequence[str] | None:
    return None if importlib.util.find_spec("ziglang") is None else [sys.executable, "-m", "ziglang", "wasm-ld"]


WASM_LINKERS: Mapping[str, Linker] = {"wasm-ld": _wasm_linker, "ziglang of PyPI": _wasm_linker_of_zig}
"""The linkers for WebAssembly modules, in the order in which they are tried."""

LINKERS: Mapping[str, Linker] = {"cc": _compiler, "TRIPLE-gcc": _cross_compiler, "ziglang of PyPI": _zig}
"""The linkers for shared libraries, in the order in which they are tried."""


def shared_library(name: str, data: bytes, triple: str) -> bytes:
    """Links an object to a shared library. Raises a one-line `DiagnosticError` if no linker supports the triple."""
    return _linked(LINKERS, name, data, f"a shared library for {triple}", triple, ["-lm"])


def wasm_module(name: str, data: bytes, exported: Sequence[str], stack: int) -> bytes:
    """Links a WebAssembly object to a self-contained module with `stack` bytes of stack.

    Raises a one-line `DiagnosticError` if no linker is available, or if the object calls the C library, which is not.
    """
    stack_first = ["--stack-first", "-z", f"stack-size={stack}"]  # stack overflows trap instead of overwriting data
    options = ["--no-entry", "--strip-all", *(f"--export={symbol}" for symbol in exported), *stack_first]
    return _linked(WASM_LINKERS, name, data, "a module of WebAssembly", "wasm32", options)


def _linked(
    linkers: Mapping[str, Linker], name: str, data: bytes, what: str, triple: str, options: Sequence[str]
) -> bytes:
    """Links an object with the first available linker."""
    command = next((found for linker in linkers.values() if (found := linker(triple)) is not None), None)
    if command is None:
        raise text_error(f"cannot link {what}: found none of {', '.join(linkers)}")
    with TemporaryDirectory(prefix="qmlir-link-") as folder:
        source, target = Path(folder) / f"{name}.o", Path(folder) / f"{name}.linked"
        source.write_bytes(data)
        done = subprocess.run(
            [*command, "-o", str(target), str(source), *options], capture_output=True, text=True, check=False
        )
        if done.returncode:
            missing = sorted(set(_UNDEFINED.findall(done.stderr)))
            found = f"calls {', '.join(missing)}, which nothing here has" if missing else " ".join(done.stderr.split())
            raise text_error(f"{_named(command)} cannot link {what}: {found[:300]}")
        return target.read_bytes()


def _named(command: Sequence[str]) -> str:
    """Returns the name of a linker for messages."""
    return "ziglang" if "ziglang" in command else command[0]


_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
