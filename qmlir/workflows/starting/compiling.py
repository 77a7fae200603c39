"""`qmlir.compile`: a model that was compiled before is found by the digest of its files, without being read again.

The cache has two records for a model file and its options. The first names the other files that the model consists of,
such as its weights. The second, which also depends on their contents, names the entries of the compiled code. Keys
cover everything that the module and the code depend on, so a record is never out of date. A model has records only if
it was read and compiled without a warning, and none of its files changed meanwhile: a warm start has nothing to report.
"""

import hashlib
import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from qmlir import registry, specialization
from qmlir.ir.limits import BUDGETS, budget
from qmlir.ir.messages import Diagnostic, DiagnosticError, Severity, revised
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.package import given_process_limit
from qmlir.targets.cpu.program import LOADING, Made, Program, loaded_entry
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME
from qmlir.text.data import JsonValue, read_data
from qmlir.text.files import FileAccess, access, keep_sources, note_input, path_of, read_regular
from qmlir.text.renames import checks_names
from qmlir.workflows import starting

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from qmlir.targets.cpu.length_buckets import Lengths
    from qmlir.targets.heterogeneous import HybridProgram
    from qmlir.workflows.loading import Model

RECORD = "record.json"

_READERS: Mapping[bool, Sequence[str]] = {False: ("safetensors",), True: ("ml_dtypes", "onnx")}
"""The packages that read modules and ONNX models, in addition to those that every key of the cache covers."""

_SETTLED = 2_000_000_000
"""The age in nanoseconds at which a file counts as unchanged since: clocks of file systems are that coarse."""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _record(key: str) -> JsonValue | None:
    folder = cache.find(key)
    return None if folder is None else read_data(folder / RECORD)


def _write_record(key: str, content: Mapping[str, Any], needs: Sequence[Path]) -> None:
    def build(folder: Path) -> None:
        (folder / RECORD).write_text(json.dumps(content), encoding="utf-8")

    cache.entry(key, build, lambda _: None, needs)


@contextmanager
def _written(name: str, files: Mapping[str, bytes]) -> Generator[Path]:
    """Writes the files of a model for the `with` block; yields the path of the one named `name`."""
    with TemporaryDirectory(prefix="qmlir-") as folder:
        for each, content in files.items():
            path = Path(folder, each)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield Path(folder, name)


class StoredProgram(Program):
    """A program from the cache. It keeps the files of its model, and reads the module from them when it is needed."""

    def __init__(
        self, name: str, files: Mapping[str, bytes], options: Mapping[str, Any], isa: str, parts: Sequence[Made],
        padding: Mapping[str, Any] | None,
    ) -> None:  # fmt: skip
        super().__init__(isa, options["threads"], options["codegen"], parts, padding)
        self._name, self._files, self._options = name, files, options

    def __reduce__(self) -> Any:
        return _restored, (self._name, self._files, self._options)

    @cached_property
    def _module(self) -> "ModuleOp":
        with _written(self._name, self._files) as path:
            return starting.load(path)

    @property
    def signature(self) -> "FuncOp":
        """The function of the module that the program computes, with its inputs and outputs."""
        return specialization.function_of(self._module, self._options["function"])


def _restored(name: str, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Any:
    """Restores a pickled program: from the cache if possible, otherwise by compiling it."""
    with _written(name, files) as path:
        return compile(path, **options)


@dataclass(frozen=True)
class WarmStart:
    """A model file and the options of `compile`, for which the cache may have a program."""

    path: Path
    content: bytes
    options: Mapping[str, Any]
    key: str
    begun: int
    """The time at which the file was read, in nanoseconds."""

    @staticmethod
    def of(model: object, options: Mapping[str, Any]) -> "WarmStart | None":
        """Returns `None` for anything but a readable file with options that have a digest, and if there are plug-ins.

        A process keeps the code of a plug-in after its files change. A package with faults would report them.
        """
        if not isinstance(model, str | PathLike) or registry.plug_ins():
            return None
        packages, begun = registry.packages(), time.time_ns()
        try:
            path = path_of(model)
            if not path.is_file() or any(each.faults for each in packages):  # opening a pipe would take its writer away
                return None
            content = read_regular(path)
            parts = {
                "model": [path.suffix, _sha256(content)],
                "options": dict(sorted(options.items())),
                "code": registry.code_digest(packages),
                "contributions": [each.contents() for each in packages],
                "limits": {name: budget(name) for name in BUDGETS},
                "named": [os.environ.get(NAME), os.environ.get(FEATURES)],
                "readers": [version(name) for name in _READERS[path.suffix in ONNX_SUFFIXES]],
                **cache.surroundings(),
            }
            return WarmStart(path, content, options, cache.digest(parts), begun)
        except (OSError, DiagnosticError, TypeError):  # an error that reading the model reports
            return None

    def _second_key(self, others: Mapping[str, bytes], tuned: str) -> str:
        digests = {name: _sha256(content) for name, content in sorted(others.items())}
        return cache.digest({"first": self.key, "files": digests, "tuned": tuned})

    def find(self) -> StoredProgram | None:
        """Returns the program in the cache; `None` if a part of it is missing or damaged, or if there are warnings."""
        try:
            given_process_limit()
            first = _record(self.key)
            if first is None:
                return None
            root, isa, troubles = Path(os.path.realpath(self.path.parent)), first["isa"].text(), list[str]()
            paths = {name: root / name for name in map(JsonValue.text, first["files"])}
            if any(os.path.realpath(path) != str(path) for path in paths.values()):
                return None  # a link, which the reader may reject
            others = {name: read_regular(path) for name, path in paths.items()}
            tuned = cache.UNTUNED
            if self.options["tuned"]:
                tuned = cache.tuned_schedules(isa, self.options["threads"], troubles.append)
            second = _record(self._second_key(others, tuned.digest))
            if second is None or troubles:
                return None
            keys = [each.text() for each in second["parts"]]
            with LOADING:
                folders = [folder for key in keys if (folder := cache.find(key)) is not None]
                if len(folders) < len(keys):
                    return None
                pairs = zip(folders, keys, strict=True)
                parts = [Made(folder, loaded_entry(folder, key), 0.0, tuned.digest) for folder, key in pairs]
        except (OSError, RuntimeError, DiagnosticError):  # the compiler reports it, or builds the entries again
            return None
        for path in (self.path, *paths.values()):
            note_input(path)
        padding = second.get("padding")
        files = {self.path.name: self.content, **others}
        return StoredProgram(self.path.name, files, self.options, isa, parts, padding and padding.value)

    def keep(self, program: object, run: FileAccess) -> None:
        """Writes the records for a program that was made from the files that `run` has read."""
        if not isinstance(program, Program):
            return
        parts, lengths = program.parts, program.any_length
        root, main = Path(os.path.realpath(self.path.parent)), Path(os.path.realpath(self.path))
        others = [path for path in run.inputs if path != main]
        with suppress(OSError, RuntimeError, DiagnosticError):  # without records, the next start takes longer
            directory = cache.cache_directory()
            found = [path.stat() for path in (main, *others)]
            newest = max(max(each.st_mtime_ns, each.st_ctime_ns) for each in found)
            is_stored = all(each.folder.parent == directory for each in parts)
            if not parts or not is_stored or newest > self.begun - _SETTLED or main not in run.inputs:
                return
            if not all(path.is_relative_to(root) for path in others):
                return
            contents = {path.relative_to(root).as_posix(): read_regular(path) for path in others}
            needs = [each.folder for each in parts]
            _write_record(self.key, {"isa": program.isa, "files": sorted(contents)}, needs)
            keys = [each.folder.name.partition("-")[0] for each in parts]
            about = {"parts": keys, "padding": None if lengths is None else lengths.description()}
            _write_record(self._second_key(contents, parts[0].tuned), about, needs)


@checks_names
def compile(
    module: "Model",
    *,
    device: str | Sequence[str] = "",
    threads: int = 1,
    isa: str = "host",
    function: str = "main",
    progress: IO[str] | None = None,
    tuned: bool = True,
    max_sizes: "Lengths | None" = None,
    codegen: str = "numba",
) -> "Program | HybridProgram":
    """Compiles a model to a program for the CPU, or for several devices.

    The results are bit-identical to those of `interpret`, except that float contractions may be rounded differently.
    Compiled code is kept in the cache (`QMLIR_CACHE_DIR`), so compiling the same model again is quick. It is quickest
    for a path: the program of unchanged files is found without reading them as a model. Without `max_sizes`, a model
    with dynamic dimensions is compiled at the first call with each combination of sizes.

    Args:
        module: The model: a module, a result that contains one (such as `Quantized`), or a path or ONNX model that
            `load` accepts.
        device: Targets, preferred first, such as `"npu,cpu"`: the model is partitioned among them unless it already is,
            and the CPU runs the rest. If empty, a partitioned model runs on its targets, any other on the CPU alone.
        threads: Maximum number of threads of the program, at least 1.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        function: Name of the function to compile.
        progress: Terminal that shows the kernel being compiled.
        tuned: Use the schedules that `tune` found on this machine. `False` uses the built-in ones.
        max_sizes: Maximum size of each dynamic dimension by its name, or a list of sizes to compile for. The program
            then pads its inputs, and accepts any size up to the maximum without compiling again.
        codegen: Generator of the CPU's machine code: `"numba"`, or `"llvm"`, which compiles faster and runs without
            numba.

    Returns:
        A `Program`, or a `HybridProgram` for several targets or for a model with operators that only the interpreter or
        ONNX Runtime runs.

    Raises:
        DiagnosticError: A target, instruction set or `codegen` is unknown, this CPU lacks the instruction set,
            `threads` is less than 1, an operation cannot be compiled, or `max_sizes` does not fit the model.

    Example:
        >>> program = qmlir.compile("docs/examples/fully_connected.mlir", codegen="llvm")
        >>> program(np.ones((1, 4), np.float32))["output0"]
        array([[0., 3.]], dtype=float32)
    """
    options: dict[str, Any] = {
        "threads": threads, "isa": isa, "function": function, "tuned": tuned, "max_sizes": max_sizes,
        "codegen": codegen,
    }  # fmt: skip
    start = None if device else WarmStart.of(module, options)
    with access() as run:
        stored = None if start is None else start.find()
        if stored is not None:
            keep_sources(stored, run)
            return stored
        warnings: list[Diagnostic] = []

        def noted(diagnostic: Diagnostic) -> Diagnostic:
            if diagnostic.severity is not Severity.REMARK:
                warnings.append(diagnostic)
            return diagnostic

        with revised(noted):
            program = starting.compile(module, device=device, progress=progress, **options)
        if start is not None and not warnings:
            start.keep(program, run)
    return program
