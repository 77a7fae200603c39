"""Compiled programs as folders: a Python package with the emitted kernels, the runtime that they need, and constants.

Cache entries and saved programs have the same layout. They need NumPy and numba or llvmlite, but not qmlir:

    __init__.py             defines `program`, ready to be called; names the emitter, has the digest of the constants
    kernels.py              the emitted module of the emitter `numba`
    kernels.ll              the emitted module of the emitter `llvm`; __init__.py has its digest
    machine_code.bin        the code that numba or LLVM generated for this machine; with it, numba is not needed
    constants.safetensors   weights and tables, memory-mapped
    program.json            the card: ports, sizes, and (for a saved program) the digests of all its files
    runtime/                vector types and intrinsics, input checks
"""

import hashlib
import importlib
import importlib.util
import itertools
import json
import marshal
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.ir.messages import text_error
from qmlir.targets.cpu.cache import number_in
from qmlir.targets.cpu.runtime.batches import available_cores
from qmlir.targets.cpu.runtime.errors import CorruptProgramError, damaged
from qmlir.targets.cpu.runtime.helper import claimed
from qmlir.targets.cpu.runtime.machine_code import IR, SOURCE, digest_of, is_for_here

if TYPE_CHECKING:
    from qmlir.targets.cpu.emitters.card import ProgramCard

INIT = "__init__.py"
KERNELS = SOURCE
CONSTANTS = "constants.safetensors"
RUNTIME = "runtime"
CARD = "program.json"

_EMITTED = "kernels.*"
"""Matches the emitted module, in any language."""

_RUNTIME_PACKAGE = "qmlir.targets.cpu.runtime"

_NUMBA_INIT = '''"""A compiled neural network: `program(inputs)` gives the outputs by name."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from .runtime.errors import InputError
from .runtime.machine_code import loaded
from .runtime.program import CompiledModule, mapped

__all__ = ["InputError", "program"]

EMITTER = "numba"
CONSTANTS_DIGEST = "{digest}"
BATCH = {batch!r}

_FOLDER = Path(__file__).parent


def _emitted() -> ModuleType:
    return import_module(".kernels", __name__)


program = CompiledModule(
    loaded(_FOLDER) or _emitted(),
    mapped(_FOLDER / "constants.safetensors", CONSTANTS_DIGEST),
    _emitted,
    __name__,
    BATCH,
)
'''

_LLVM_INIT = '''"""A compiled neural network: `program(inputs)` gives the outputs by name."""

from pathlib import Path

from .runtime.errors import InputError
from .runtime.machine_code import program_module
from .runtime.program import CompiledModule, mapped

__all__ = ["InputError", "program"]

EMITTER = "llvm"
KERNELS_DIGEST = "{source}"
CONSTANTS_DIGEST = "{digest}"
BATCH = {batch!r}

_FOLDER = Path(__file__).parent

program = CompiledModule(
    program_module(_FOLDER, KERNELS_DIGEST),
    mapped(_FOLDER / "constants.safetensors", CONSTANTS_DIGEST),
    package=__name__,
    batch=BATCH,
)
'''


@dataclass(frozen=True)
class PackageForm:
    """The parts of a package that depend on the emitter: the file of kernels, and the text of `__init__.py`."""

    kernels: str
    init: str


PYTHON, IR_PROGRAM = PackageForm(SOURCE, _NUMBA_INIT), PackageForm(IR, _LLVM_INIT)
"""The forms of the emitters `numba` and `llvm`."""


_LINE = 64
"""The size of a cache line in bytes; a vector that spans two lines takes two reads."""


def _pieces(header: Mapping[str, Any], contents: Sequence[memoryview] = ()) -> list[bytes | memoryview]:
    """Returns a safetensors file in pieces: its header, then the contents, without a copy."""
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _LINE)
    return [len(text).to_bytes(8, "little"), text, *contents]


def _in_lines(entries: Mapping[str, Any], contents: Mapping[str, memoryview]) -> list[bytes | memoryview]:
    """Returns a safetensors file in pieces; constants begin at cache lines, except after one that ends within a line.

    `entries` hold the types and shapes of the constants.
    """
    header, position = {name: dict(entry) for name, entry in entries.items()}, 0
    whole_lines_first = sorted(entries, key=lambda name: contents[name].nbytes % _LINE > 0)
    for name in whole_lines_first:
        end = position + contents[name].nbytes
        header[name]["data_offsets"] = [position, end]
        position = end
    return _pieces(header, [contents[name] for name in whole_lines_first])


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> str:
    """Writes a file in pieces, and returns its digest."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
    return digest.hexdigest()


def _split(data: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Returns the header of a safetensors file, and the data of each tensor."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    places = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    tensors = memoryview(data)[8 + length :]
    return header, {name: tensors[begin:end] for name, (begin, end) in places.items()}


def share_constants(folder: Path, parts: Sequence[str]) -> int:
    """Moves the constants of the packages `parts` in `folder` to one file in `folder`, each distinct one once.

    Returns the size of the distinct constants in bytes. A part keeps a file that names the shared file, its digest, and
    the key of each constant, which is the digest of its type, shape and data.
    """
    shared: dict[str, Any] = {}
    contents: dict[str, memoryview] = {}
    keys: dict[str, dict[str, str]] = {}
    for part in parts:
        header, tensors = _split((folder / part / CONSTANTS).read_bytes())
        own = keys[part] = {}
        for name, entry in header.items():
            about = json.dumps([entry["dtype"], entry["shape"]]).encode()
            own[name] = key = digest_of(about + tensors[name])
            shared.setdefault(key, entry)
            contents.setdefault(key, tensors[name])
    digest = _write(folder / CONSTANTS, _in_lines(shared, contents))
    for part, own in keys.items():
        metadata = {"file": f"../{CONSTANTS}", "digest": digest, "shared": json.dumps(own)}
        before = digest_of((folder / part / CONSTANTS).read_bytes())
        after = _write(folder / part / CONSTANTS, _pieces({"__metadata__": metadata}))
        init = (folder / part / INIT).read_text(encoding="utf-8")
        (folder / part / INIT).write_text(init.replace(before, after), encoding="utf-8")
    return sum(each.nbytes for each in contents.values())


def own_constants(folder: Path, data: bytes) -> bytes:
    """Returns the file of constants `data` of a package in `folder`, with the constants that it shares in it.

    Raises `CorruptProgramError` if the shared file is damaged.
    """
    header, _ = _split(data)
    if (metadata := header.get("__metadata__")) is None:
        return data
    path = folder / metadata["file"]
    whole = path.read_bytes()
    if digest_of(whole) != metadata["digest"]:
        raise damaged(path)
    shared, tensors = _split(whole)
    keys = json.loads(metadata["shared"])
    entries, contents = ({name: each[key] for name, key in keys.items()} for each in (shared, tensors))
    return b"".join(_in_lines(entries, contents))


def write_package(
    folder: Path,
    source: str,
    constants: Mapping[str, Array],
    batch: Mapping[str, Any] | None = None,
    form: PackageForm = PYTHON,
    card: "ProgramCard | None" = None,
) -> None:
    """Writes the package of an emitted module to the existing `folder`; `batch` holds the fields of its `BatchPlan`.

    The digests of files are added to the `card` when the program is saved.
    """
    if card is not None:
        (folder / CARD).write_text(card.json(), encoding="utf-8")
    data = source.encode()
    (folder / form.kernels).write_bytes(data)
    kernels = digest_of(data)
    # The library says the types and their order, but would copy the arrays.
    types, _ = _split(
        importlib.import_module("safetensors.numpy").save(
            {name: np.empty(0, array.dtype) for name, array in constants.items()}
        )
    )
    entries = {name: {**types[name], "shape": list(constants[name].shape)} for name in types}
    contents = {name: np.asarray(constants[name], order="C").reshape(-1).view(np.uint8).data for name in types}
    digest = _write(folder / CONSTANTS, _in_lines(entries, contents))
    text = form.init.format(source=kernels, digest=digest, batch=batch)
    (folder / INIT).write_text(text, encoding="utf-8")
    with as_file(files(_RUNTIME_PACKAGE)) as runtime:
        shutil.copytree(runtime, folder / RUNTIME, ignore=shutil.ignore_patterns("__pycache__"))


@cache
def _runtime_bytecode() -> dict[str, bytes]:
    """Returns the bytecode of each module of the runtime by its path, in the format of a .pyc file.

    It records the size and modification time of its source, which copies preserve.
    """
    kept: dict[str, bytes] = {}
    with as_file(files(_RUNTIME_PACKAGE)) as runtime:
        for source in sorted(runtime.rglob("*.py")):
            path = source.relative_to(runtime)
            found, name = source.stat(), ".".join((_RUNTIME_PACKAGE, *path.with_suffix("").parts))
            code = SourceFileLoader(name, str(source)).get_code(name)
            facts = (0, int(found.st_mtime) & 0xFFFF_FFFF, found.st_size & 0xFFFF_FFFF)
            kept[path.as_posix()] = importlib.util.MAGIC_NUMBER + struct.pack("<3I", *facts) + marshal.dumps(code)
    return kept


def write_runtime_bytecode(folder: Path) -> None:
    """Writes the bytecode of the runtime to the package that was just written.

    Otherwise Python would compile the runtime again for each program. Python ignores bytecode whose source has changed.
    Nothing is written if Python keeps bytecode in a separate folder (`PYTHONPYCACHEPREFIX`).
    """
    if sys.pycache_prefix is not None:
        return
    for name, data in _runtime_bytecode().items():
        target = Path(importlib.util.cache_from_source(str(folder / RUNTIME / name)))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


OnKernel = Callable[[str, int, int], None]
"""A callback that is called before each kernel is compiled, with its name, its number (from 1), and their total."""


def _tell(runtime: Any, on_kernel: OnKernel, count: int) -> None:
    """Lets the runtime of a package report each kernel that it compiles."""
    numbers = itertools.count(1)

    def told(kernel: str) -> None:
        on_kernel(kernel, next(numbers), count)

    runtime.on_kernel = told


def forget(name: str) -> None:
    """Removes the package `name` from `sys.modules`, so that the next import loads it again."""
    for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[each]


def numba_caches_beside_the_source(package: str) -> AbstractContextManager[None]:
    """Lets numba keep its cache next to the source, even if the user has set another folder."""
    fast: Any = importlib.import_module(f"{package}.{RUNTIME}.operations.fast")
    return fast.caches_beside_the_source()


@contextmanager
def _reading() -> Generator[None]:
    """Prevents imports from writing bytecode, so that a cache entry stays as it was built."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


# Compiling in several processes: helpers compile kernels into numba's cache, this process loads them.
#
# Helpers are separate programs, started without fork. So the caller may have threads, be a child process, or have no
# main module. If a helper dies or can't be started, this process compiles its kernels.

PROCESSES_VARIABLE = "QMLIR_COMPILE_PROCESSES"
"""The maximum number of processes that compile; the default is one per core."""

_LINES_EACH = 1000
"""The number of source lines per helper: they compile in about four seconds; a process starts in about one."""


def given_process_limit() -> int | None:
    """Returns the number in the environment; `None` if it is unset. Raises `DiagnosticError` if it is not a number."""
    return number_in(PROCESSES_VARIABLE, "processes", 2)


def process_limit() -> int:
    """Returns the maximum number of compiling processes. Raises `DiagnosticError` if the variable is not a number."""
    given = given_process_limit()
    if given is not None:
        return given
    # A warm start doesn't need this module, which takes as long to import as everything else here.
    if importlib.import_module("multiprocessing").parent_process() is not None:  # sibling processes use the other cores
        return 1
    return available_cores()


def helper_count(source: str, limit: int) -> int:
    """Returns the number of helpers that speed up the compilation of the kernels in `source`.

    `limit` is the maximum number of processes, including this one.
    """
    return max(min(limit, source.count("\n") // _LINES_EACH) - 1, 0) if sys.executable else 0


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)
    except OSError:  # process limit reached, or no interpreter; compile without this helper
        return None


@contextmanager
def helped(runtime: Any, program: Path, count: int) -> Generator[None]:
    """Compiles the kernels of the package in `program` together with `count` helpers, inside the `with` block.

    `runtime` is the module `kernels` of the package's runtime, before the kernels are imported.
    """
    if count <= 0:
        yield
        return
    script = Path(runtime.__file__).parents[1] / "helper.py"
    # All processes must use the cache next to the source.
    environment = {**os.environ, "NUMBA_CACHE_DIR": ""}
    with TemporaryDirectory(prefix="qmlir-claims-") as claims:
        command = [sys.executable, str(script), str(program), claims]
        helpers = [each for _ in range(count) if (each := _started(command, environment)) is not None]

        class Shared(runtime.CompileShare):
            """Takes kernels that no helper has claimed, and waits for the helpers."""

            def takes(self, kernel: str) -> bool:
                return claimed(Path(claims), kernel)

            def wait(self) -> None:
                for each in helpers:
                    each.wait()

        alone, runtime.work = runtime.work, Shared()
        try:
            yield
        finally:
            runtime.work = alone
            for each in helpers:
                each.kill()
                each.wait()


@contextmanager
def _compiling(name: str, folder: Path, on_kernel: OnKernel | None, helpers: int) -> Generator[None]:
    """Prepares numba for the import of a package, which compiles its kernels or loads them from numba's cache."""
    settings: Any = importlib.import_module("numba").config
    if settings.DISABLE_JIT:
        raise text_error("compiling requires numba's compiler; unset NUMBA_DISABLE_JIT, or use qmlir.interpret")
    runtime: Any = importlib.import_module(f"{name}.{RUNTIME}.operations.kernels")  # before the kernels, which need it
    if on_kernel is not None:
        _tell(runtime, on_kernel, (folder / SOURCE).read_text(encoding="utf-8").count("\n@kernel("))
    with numba_caches_beside_the_source(name), helped(runtime, folder, helpers):
        yield


SAVED = "qmlir_saved_"
"""The prefix of names of saved packages. Their bytecode files are never executed, since they can't be trusted."""


class _SourceOnly(SourceFileLoader):
    """Loads a module from its source and ignores any bytecode file."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _SavedFinder(MetaPathFinder):
    """Finds the modules of saved packages."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(SAVED) else None
        if spec is not None and spec.origin is not None:
            spec.loader = _SourceOnly(fullname, spec.origin)
        return spec


_FINDER = _SavedFinder()


def load_package(
    folder: Path, name: str, on_kernel: OnKernel | None = None, helpers: int = 0, *, is_checked: bool = False
) -> ModuleType:
    """Imports the package in `folder` as `name`; compiles kernels that have no machine code for this machine.

    Up to `helpers` additional processes compile kernels. `is_checked` means that the caller has verified all files.

    Raises `DiagnosticError` if `folder` contains no saved program or a damaged one, if a module with custom kernels is
    not installed, or if numba's compiler is disabled.
    """
    if not (folder / INIT).is_file() or next(folder.glob(_EMITTED), None) is None:
        raise text_error(
            f"{folder} contains no saved program (no {SOURCE}); create one with 'qmlir compile MODEL -o DIR'"
        )
    init = str(folder / INIT)
    loader = _SourceOnly(name, init) if name.startswith(SAVED) else SourceFileLoader(name, init)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    spec = importlib.util.spec_from_file_location(name, init, loader=loader, submodule_search_locations=[str(folder)])
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    forget(name)  # kernels that are already loaded under this name would not be compiled
    sys.modules[name] = module
    try:
        with (
            _compiling(name, folder, on_kernel, helpers)
            if (folder / KERNELS).is_file() and not is_for_here(folder)
            else _reading()
        ):
            if is_checked:
                runtime: Any = importlib.import_module(f"{name}.{RUNTIME}.program")
                runtime.constants_are_checked = True
            loader.exec_module(module)
    except BaseException as error:
        forget(name)
        match error:
            case CorruptProgramError():
                raise text_error(str(error)) from error
            case SyntaxError():
                raise text_error(f"{error.filename} is damaged: line {error.lineno} is not Python") from error
            case ModuleNotFoundError():  # of a custom kernel
                needed = f"requires the Python module '{error.name}', which is not installed"
                raise text_error(f"{folder} {needed}") from error
            case _:
                raise
    return module
