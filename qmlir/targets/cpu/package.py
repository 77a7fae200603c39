"""Programs as folders: a Python package of emitted kernels, the runtime that they need, and their constants.

A cache entry and a saved program are the same thing. It needs NumPy, numba or llvmlite, and nothing of qmlir:

    __init__.py             gives `program`, ready to be called; names the emitter, has the digest of the constants
    kernels.py              the emitted module of the emitter `numba`
    kernels.ll              that of the emitter `llvm`, of which __init__.py has the digest
    machine_code.bin        what numba or LLVM made of it, for this very machine: there numba is not needed
    constants.safetensors   weights and tables, mapped into memory
    program.json            the card: what it is, its sizes, the digests of the files of a saved program, all of them
    runtime/                types and intrinsics of vectors, checks of inputs
"""

import importlib
import importlib.util
import itertools
import json
import marshal
import shutil
import struct
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.resources import as_file, files
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.memref import GlobalOp

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.parallel import helped
from qmlir.targets.cpu.runtime.errors import DamagedError
from qmlir.targets.cpu.runtime.machine_code import IR, SOURCE, digest_of, is_for_here
from qmlir.text.elements import dense_array

INIT = "__init__.py"
KERNELS = SOURCE
CONSTANTS = "constants.safetensors"
RUNTIME = "runtime"
CARD = "program.json"

_EMITTED = "kernels.*"
"""The emitted module, in whichever language."""

_RUNTIME_PACKAGE = "qmlir.targets.cpu.runtime"

_NUMBA_INIT = '''"""A compiled neural network: `program(inputs)` gives the outputs by name."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from .runtime.constants import mapped
from .runtime.machine_code import loaded
from .runtime.errors import InputError
from .runtime.program import CompiledModule

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

from .runtime.constants import mapped
from .runtime.errors import InputError
from .runtime.ir_code import program_module
from .runtime.program import CompiledModule

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
    """The package of a program by one emitter: its emitted module, and what gives the program."""

    kernels: str
    init: str


PYTHON, IR_PROGRAM = PackageForm(SOURCE, _NUMBA_INIT), PackageForm(IR, _LLVM_INIT)
"""Those of the emitters `numba` and `llvm`."""


_LINE = 64
"""Bytes of a cache line: a vector that lies in two of them is read twice."""


def _size(entry: Mapping[str, Any]) -> int:
    begin, end = entry["data_offsets"]
    return end - begin


def _in_lines(data: bytes) -> bytes:
    """A safetensors file in which constants begin at multiples of a line, but for those after one of an odd size."""
    length = int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :]
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    pieces: list[memoryview] = []
    place = 0
    whole_lines_first = sorted(entries.values(), key=lambda entry: _size(entry) % _LINE > 0)
    for entry in whole_lines_first:
        begin, end = entry["data_offsets"]
        entry["data_offsets"] = [place, place + end - begin]
        pieces.append(tensors[begin:end])
        place += end - begin
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _LINE)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """Return the constants of a module of loops by the names of its globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found


def write_package(
    folder: Path,
    source: str,
    constants: Mapping[str, Array],
    batch: Mapping[str, Any] | None = None,
    form: PackageForm = PYTHON,
    card: ProgramCard | None = None,
) -> None:
    """Write the package of an emitted module into `folder`, which exists; `batch` is what its `BatchPlan` says.

    The `card` gets the digests of files when the program is saved.
    """
    if card is not None:
        (folder / CARD).write_text(card.json(), encoding="utf-8")
    data = source.encode()
    (folder / form.kernels).write_bytes(data)
    kernels = digest_of(data)
    arrays = {name: np.asarray(array, order="C") for name, array in constants.items()}
    data = _in_lines(importlib.import_module("safetensors.numpy").save(arrays))
    (folder / CONSTANTS).write_bytes(data)
    text = form.init.format(source=kernels, digest=digest_of(data), batch=batch)
    (folder / INIT).write_text(text, encoding="utf-8")
    with as_file(files(_RUNTIME_PACKAGE)) as runtime:
        shutil.copytree(runtime, folder / RUNTIME, ignore=shutil.ignore_patterns("__pycache__"))


@cache
def _runtime_bytecode() -> dict[str, bytes]:
    """The bytecode of each module of the runtime, by its file, as Python keeps it.

    It names the time and the size of its source, which a copy has, too.
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
    """Write the bytecode of the runtime beside its copy in a package that was just written.

    Python would compile it for every program again. Where a source is another one, Python does not take it. Nothing is
    written where Python keeps bytecode in a folder of its own (`PYTHONPYCACHEPREFIX`).
    """
    if sys.pycache_prefix is not None:
        return
    for name, data in _runtime_bytecode().items():
        target = Path(importlib.util.cache_from_source(str(folder / RUNTIME / name)))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


OnKernel = Callable[[str, int, int], None]
"""Is called with the name of each kernel before it is compiled, its number, and how many there are."""


def _tell(runtime: Any, on_kernel: OnKernel, count: int) -> None:
    """Let the runtime of a package tell of each kernel that it compiles."""
    numbers = itertools.count(1)

    def told(kernel: str) -> None:
        on_kernel(kernel, next(numbers), count)

    runtime.on_kernel = told


def forget(name: str) -> None:
    """Let the package `name` be imported anew."""
    for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[each]


def numba_caches_beside_the_source(package: str) -> AbstractContextManager[None]:
    """Whatever the user says where numba keeps code: what runs from a folder is in the folder, under its digest."""
    fast: Any = importlib.import_module(f"{package}.{RUNTIME}.operations.fast")
    return fast.caches_beside_the_source()


@contextmanager
def _reading() -> Generator[None]:
    """While it is open, modules that are imported leave no bytecode: a cache entry stays as it was built."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextmanager
def _compiling(name: str, folder: Path, on_kernel: OnKernel | None, helpers: int) -> Generator[None]:
    """While it is open, kernels of the package that is imported are compiled, or loaded from numba's cache."""
    settings: Any = importlib.import_module("numba").config
    if settings.DISABLE_JIT:
        raise text_error("compiling requires numba's compiler; unset NUMBA_DISABLE_JIT, or use qmlir.interpret")
    runtime: Any = importlib.import_module(f"{name}.{RUNTIME}.operations.kernels")  # before the kernels, which need it
    if on_kernel is not None:
        _tell(runtime, on_kernel, (folder / SOURCE).read_text(encoding="utf-8").count("\n@kernel("))
    with numba_caches_beside_the_source(name), helped(runtime, folder, helpers):
        yield


SAVED = "qmlir_saved_"
"""What names of packages begin with that somebody has saved: of these, bytecode beside the source is not run."""


class _SourceOnly(SourceFileLoader):
    """Loads a module from its source, whatever bytecode lies beside it."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _SavedFinder(MetaPathFinder):
    """Finds the modules of packages that were saved."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(SAVED) else None
        if spec is not None and spec.origin is not None:
            spec.loader = _SourceOnly(fullname, spec.origin)
        return spec


_FINDER = _SavedFinder()


def load_package(
    folder: Path, name: str, on_kernel: OnKernel | None = None, helpers: int = 0, *, is_checked: bool = False
) -> ModuleType:
    """Import the package in `folder` under `name`; without machine code for here, and what numba has not cached, it is
    compiled.

    So many helpers, processes of their own, compile kernels as well. `is_checked` says that each file is known to be
    the one that was built.

    Raises `DiagnosticError` where `folder` holds no saved program or a damaged one, where a module that it calls
    functions of is not installed, and where numba is told not to compile.
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
    forget(name)  # kernels of this name that are loaded would not be compiled here
    sys.modules[name] = module
    try:
        with (
            _compiling(name, folder, on_kernel, helpers)
            if (folder / KERNELS).is_file() and not is_for_here(folder)
            else _reading()
        ):
            if is_checked:
                constants: Any = importlib.import_module(f"{name}.{RUNTIME}.constants")
                constants.is_checked = True
            loader.exec_module(module)
    except DamagedError as error:
        forget(name)
        raise text_error(str(error)) from error
    except SyntaxError as error:
        forget(name)
        raise text_error(f"{error.filename} is damaged: line {error.lineno} is not Python") from error
    except ModuleNotFoundError as error:  # of a custom kernel
        forget(name)
        raise text_error(f"{folder} requires the Python module '{error.name}', which is not installed") from error
    except BaseException:
        forget(name)
        raise
    return module
