"""Objects and archives of programs that run without Python, and the linkers that make libraries from them."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from qmlir.extensions.aot.ahead import AheadForm
from qmlir.extensions.aot.llvm.standalone import standalone_text
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.targets.cpu.emitters.card import WrittenFiles, code_bytes
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import EntryPoint

# Links objects with an available linker: the system's compiler or linker, or Zig from PyPI.

Linker = Callable[[str], Sequence[str] | None]
"""Returns the link command for a triple, without files; `None` if the linker is not available or doesn't support the
triple.
"""


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
"""Names of the linker, including Debian's names with an LLVM version. The version must not be older than the LLVM that
wrote the object.
"""


def _wasm_linker(_: str) -> Sequence[str] | None:
    found = next(filter(shutil.which, _WASM_LD), None)
    return None if found is None else [found]


def _wasm_linker_of_zig(_: str) -> Sequence[str] | None:
    return None if importlib.util.find_spec("ziglang") is None else [sys.executable, "-m", "ziglang", "wasm-ld"]


WASM_LINKERS: Mapping[str, Linker] = {"wasm-ld": _wasm_linker, "ziglang of PyPI": _wasm_linker_of_zig}
"""The linkers for WebAssembly modules, by name, in the order in which they are tried."""

LINKERS: Mapping[str, Linker] = {"cc": _compiler, "TRIPLE-gcc": _cross_compiler, "ziglang of PyPI": _zig}
"""The linkers for shared libraries, by name, in the order in which they are tried."""


def shared_library(name: str, data: bytes, triple: str) -> bytes:
    """Links an object into a shared library. Raises a one-line `DiagnosticError` if no linker supports the triple."""
    return _linked(LINKERS, name, data, f"a shared library for {triple}", triple, ["-lm"])


def wasm_module(name: str, data: bytes, exported: Sequence[str], stack: int) -> bytes:
    """Links a WebAssembly object into a self-contained module with `stack` bytes of stack.

    Raises a one-line `DiagnosticError` if no linker is available, or if the object calls the C library, which
    WebAssembly modules lack.
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
            linker = "ziglang" if "ziglang" in command else command[0]
            raise text_error(f"{linker} cannot link {what}: {found[:300]}")
        return target.read_bytes()


_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


# Archives of objects (`.a`) as System V, GNU and LLVM linkers read them: a symbol index, and the objects.
#
# A file consists of `!<arch>\n` and members. A member is a header of 60 characters, followed by its bytes, padded to an
# even size. The first member, named `/`, holds the number of symbols, the offset of the member of each (32 bits,
# big-endian), and their names, each terminated by a zero byte. A member named `//` holds names longer than 15
# characters.

_MAGIC = b"!<arch>\n"
_LONGEST = 15


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
    return head.encode("ascii") + data + b"\n" * (len(data) % 2)


def archive(name: str, data: bytes, symbols: Sequence[str]) -> bytes:
    """Returns an archive with a single object, `data`, that defines `symbols`."""
    long_names, own = b"", f"{name}/"
    if len(name) > _LONGEST:
        long_names, own = _member("//", f"{name}/\n".encode("ascii")), "/0"
    names = b"".join(symbol.encode("ascii") + b"\0" for symbol in symbols)
    size = 4 + 4 * len(symbols) + len(names)
    position = len(_MAGIC) + len(_member("/", bytes(size))) + len(long_names)
    index = b"".join([len(symbols).to_bytes(4, "big"), position.to_bytes(4, "big") * len(symbols), names])
    return b"".join([_MAGIC, _member("/", index), long_names, _member(own, data)])


# Programs that run without Python as machine code: an object, a static library, and a shared library.


def object_of(entry: EntryPoint) -> bytes:
    """Returns the object file of a program. Raises `DiagnosticError` if the CPU lacks features or LLVM fails."""
    target, isa = code_target(entry.machine), entry.program.isa
    missing = sorted(isa.needs - target.processor.features)
    if missing:
        found = f"{target.triple} {target.cpu or 'generic'}"
        raise op_error(entry.program.main, f"requires {isa.name}, but {found} lacks {', '.join(missing)}")
    return target.compiled(standalone_text(entry, target.processor))


def _write_object(entry: EntryPoint) -> WrittenFiles:
    """Writes `NAME.o`, an object for a linker."""
    data = object_of(entry)
    return WrittenFiles({f"{entry.name}.o": data}, code_bytes(data))


def _write_static(entry: EntryPoint) -> WrittenFiles:
    """Writes `libNAME.a`, a static library."""
    data, symbols = object_of(entry), [f"{entry.name}_run_in", f"{entry.name}_run"]
    return WrittenFiles({f"lib{entry.name}.a": archive(f"{entry.name}.o", data, symbols)}, code_bytes(data))


def _write_shared(entry: EntryPoint) -> WrittenFiles:
    """Writes `libNAME.so`. Raises `DiagnosticError` if no available linker supports the machine."""
    data = object_of(entry)
    library = shared_library(entry.name, data, code_target(entry.machine).triple)
    return WrittenFiles({f"lib{entry.name}.so": library}, code_bytes(data))


OBJECT = AheadForm("an object in machine code", "", _write_object)
STATIC = AheadForm("an archive of the object", "", _write_static)
SHARED = AheadForm("a shared library", "", _write_shared)
