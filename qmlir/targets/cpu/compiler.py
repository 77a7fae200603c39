"""From a module to a program that runs: lowering, emission, the disk cache, and one compiled module for each shape.

What a program computes is what the interpreter computes on the module that it was made of, bit for bit.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as cached
from importlib import import_module
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, RLock
from typing import IO, Any, cast

import llvmlite
import numba
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, ModuleOp, i1
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import GlobalOp

from qmlir import registry
from qmlir.dialects.kernel.attributes import ISAS
from qmlir.dialects.nn.ops.constant import storage_element
from qmlir.environment import UNIVERSE_GROUP, default_environment
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.signature import Port, inputs_of
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE
from qmlir.specialization.flow import parameter_inputs
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.host import host_features, host_isa, host_name, runs_here
from qmlir.targets.cpu.numba.emit import emit_module
from qmlir.targets.cpu.numba.runtime import program as runtime
from qmlir.targets.cpu.package import CONSTANTS, KERNELS, load_package, write_package
from qmlir.targets.cpu.parallel import helper_count
from qmlir.text.elements import dense_array, dense_dtype
from qmlir.text.printing import module_text

Array = npt.NDArray[Any]


def lowered(module: ModuleOp, isa: str, threads: int = 1) -> ModuleOp:
    """A clone of a static module of the quantized level (or in float), taken down to the loops for `isa`."""
    environment = default_environment()
    ctx = environment.new_context()
    clone = module.clone()
    text = COMPILE.text(isa=isa, threads=str(threads))
    PassManager(ctx, parse_pipeline(text, environment.passes)).run(clone)
    return clone


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """The constants of a module of loops, by the names of its globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found


@cached
def _code_digest() -> str:
    """A digest of the compiler itself and of the packages that take part: other code makes other programs."""
    root = Path(registry.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.read_bytes())
    for group in (registry.CONTRIBUTIONS_GROUP, UNIVERSE_GROUP):
        for point in entry_points(group=group):
            if point.dist is not None:
                found.update(f"{point.dist.name} {point.dist.version}".encode())
    return found.hexdigest()


def _module_digest(module: ModuleOp) -> str:
    """A digest of a module: its text without weights, and the bytes of these."""
    found = hashlib.sha256(module_text(module).encode())
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, DenseIntOrFPElementsAttr):
                found.update(attribute.data.data)
    return found.hexdigest()


def _key(module: ModuleOp, isa: str, threads: int) -> str:
    parts = {
        "module": _module_digest(module),
        "code": _code_digest(),
        "isa": isa,
        "threads": threads,
        "processor": [host_name(), sorted(host_features())],
        "versions": [platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class _Progress:
    """One line on a terminal that says which kernel is being compiled."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None

    def kernel(self, name: str, number: int, count: int) -> None:
        """Say that the kernel `number` of `count` comes next."""
        if self._stream is not None:
            self._stream.write(f"\r\x1b[Kcompiling {number}/{count} {name}")
            self._stream.flush()

    def done(self) -> None:
        """Take the line away."""
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _build(module: ModuleOp, isa: str, threads: int, folder: Path, name: str, progress: _Progress) -> None:
    """Lower a static module, write its package into `folder`, and let numba compile and cache its kernels there."""
    loops = lowered(module, isa, threads)
    source = emit_module(loops)
    write_package(folder, source, constants_of(loops))
    load_package(folder, name, progress.kernel, helper_count(source))
    progress.done()


_LOADING = RLock()
"""One thread at a time compiles and loads: packages are entered into `sys.modules` before they are complete."""


@contextmanager
def _numba_caches_beside_the_source() -> Generator[None]:
    """Whatever the user says where numba keeps code: what runs from an entry is in the entry, under its digest."""
    settings: Any = import_module("numba").config
    before, settings.CACHE_DIR = settings.CACHE_DIR, ""
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def compiled_entry(module: ModuleOp, isa: str, threads: int, progress: IO[str] | None = None) -> tuple[Path, Any]:
    """The folder of the compiled program of a static module, and the program: from the cache where it is there."""
    key = _key(module, isa, threads)
    name = f"qmlir_program_{key[:24]}"
    shown = _Progress(progress)
    with _LOADING, _numba_caches_beside_the_source():
        entry = cache.entry(key, lambda folder: _build(module, isa, threads, folder, name, shown), _warn)
        package = sys.modules.get(name) or load_package(entry.folder, name, shown.kernel)
    return entry.folder, package.program


@dataclass(frozen=True)
class _Made:
    """A compiled specialization: where it lies, and what is called."""

    folder: Path
    call: Any


def _open_port(function: FuncOp, port: Port) -> runtime.Port:
    """An input as the runtime checks it before the sizes that are open are known."""
    type_ = ranked_tensor(port.type) or unranked_tensor(port.type)
    dtype = None if type_ is None else dense_dtype(storage_element(type_.get_element_type()))
    if type_ is None or dtype is None:
        raise op_error(function, f"input '{port.name}' has type {port.type}: compiled programs take tensors of numbers")
    ranked = ranked_tensor(port.type)
    is_bool = type_.get_element_type() == i1
    sizes = () if ranked is None else ranked.get_shape()
    shape = tuple(runtime.OPEN if size == DYNAMIC_INDEX else size for size in sizes)
    return runtime.Port(port.name, np.dtype(np.bool_) if is_bool else dtype, shape, has_rank=ranked is not None)


class Program:
    """A compiled model: call it with arrays by name, or in order; it gives its outputs by name.

    It may be called from several threads at once. Where sizes of the inputs are open, or shapes depend on the values of
    some, a module is compiled for each combination when it is first seen.
    """

    def __init__(
        self, module: ModuleOp, *, isa: str, threads: int, function: str = "main", progress: IO[str] | None = None
    ) -> None:
        self._module = module
        self._isa = isa
        self._threads = threads
        self._function = function
        self._progress = progress
        self._ports = inputs_of(function_of(module, function))
        self._open = [_open_port(function_of(module, function), port) for port in self._ports]
        self._parameters = frozenset(parameter_inputs(module, function))
        self._made: dict[Any, _Made] = {}
        self._lock = Lock()
        self._only = self._make({}, {}) if self._is_closed() else None

    def _is_closed(self) -> bool:
        """Whether everything is known before a call."""
        types = (ranked_tensor(port.type) for port in self._ports)
        return not self._parameters and all(type_ is not None and type_.has_static_shape() for type_ in types)

    def _make(self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Array]) -> _Made:
        module = specialize(self._module, shapes, values, function=self._function)
        return _Made(*compiled_entry(module, self._isa, self._threads, self._progress))

    def _made_for(self, values: Mapping[str, Array]) -> _Made:
        known = {name: np.asarray(values[name], order="C") for name in self._parameters}
        shapes = {name: np.shape(value) for name, value in values.items() if name not in known}
        key = (
            tuple(sorted(shapes.items())),
            tuple((name, array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(known.items())),
        )
        made = self._made.get(key)
        if made is None:
            with self._lock:  # two threads with one new shape: one compiles
                made = self._made.get(key)
                if made is None:
                    made = self._made[key] = self._make(shapes, known)
        return made

    def __call__(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] = (),
        outputs: Mapping[str, Array] | None = None,
    ) -> dict[str, Array]:
        """The outputs by name; those that `outputs` has arrays for are written there.

        Inputs must have the NumPy type and the shape of the model's; their layout and byte order do not matter. Raises
        `InputError`, one line, for what does not fit, NaN in a float input of a quantized model included.
        """
        if self._only is not None:
            return self._only.call(inputs, outputs)
        given = runtime.by_name(self._open, inputs)
        values = {port.name: runtime.checked(port, value) for port, value in zip(self._open, given, strict=True)}
        made = self._made_for(values)
        return made.call({name: value for name, value in values.items() if name not in self._parameters}, outputs)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the program as a Python package of its own: NumPy and numba run it, qmlir is not needed.

        `qmlir.load_program(folder)`, or importing the package, gives it back. Raises `DiagnosticError` where the shapes
        are not fixed, or where `folder` exists.
        """
        if self._only is None:
            raise text_error("a program whose shapes are open can't be saved: give `load` the shapes of its inputs")
        target = Path(folder)
        if target.exists():
            raise text_error(f"{target} exists: a program is saved into a new folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
            copy = Path(aside) / target.name
            shutil.copytree(self._only.folder, copy, ignore=shutil.ignore_patterns("*.pyc", cache.MANIFEST))
            copy.chmod(0o777 & ~_umask())  # an entry of the cache is its owner's alone, a saved program need not be
            copy.rename(target)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def compile_module(
    module: ModuleOp,
    *,
    threads: int = 1,
    isa: str = "host",
    function: str = "main",
    progress: IO[str] | None = None,
) -> Program:
    """A program that computes what `module` computes, for the instruction set `isa` and so many threads.

    A terminal as `progress` is told which kernel is being compiled. Raises `DiagnosticError` for an instruction set
    that nobody has heard of or that this processor lacks, and for what has no compiled form.
    """
    wanted = host_isa() if isa == "host" else isa
    if wanted not in ISAS:
        raise text_error(f"no instruction set '{isa}'{nearest_name(isa, ISAS)}, there are host, {', '.join(ISAS)}")
    if not runs_here(wanted):
        raise text_error(f"this processor lacks {wanted}: it has {host_isa()}")
    if threads < 1:
        raise text_error(f"a program runs on one thread or more, found {threads}")
    return Program(module, isa=wanted, threads=threads, function=function, progress=progress)


def load_program(folder: str | PathLike[str]) -> Any:
    """The program that `Program.save` wrote: call it as before. Raises `DiagnosticError` where there is none."""
    path = Path(folder).resolve()
    name = f"qmlir_saved_{hashlib.sha256(_identity(path).encode()).hexdigest()[:24]}"
    with _LOADING:
        package = sys.modules.get(name) or load_package(path, name)
    return package.program


def _identity(folder: Path) -> str:
    """The path of a saved program, and what tells it from one that lay there before."""
    files = [path for path in (folder / KERNELS, folder / CONSTANTS) if path.is_file()]
    return " ".join([str(folder), *(f"{cache.digest_of(path)}" for path in files)])
