"""Compiles modules to runnable programs: lowering, emission, the disk cache, and a specialization per input shape.

A program is bit-identical to the interpreter on the module that it was compiled from.
"""

import compileall
import hashlib
import os
import secrets
import shutil
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, RLock
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, Signedness, StringAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from qmlir import specialization
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.environment import default_environment
from qmlir.interpreter.progress import bar, is_slow
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, warn
from qmlir.ir.gc_control import rare_collection
from qmlir.ir.signature import MAIN, Port, inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of, shape_text, signature_text
from qmlir.specialization.specialize import is_open, parameter_inputs, specialize
from qmlir.target import ExecutionOptions
from qmlir.targets import cpu
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.cache import UNTUNED, Tuned, program_key, saved_key, tuned_schedules
from qmlir.targets.cpu.choices import CALLS
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM, ProgramCard
from qmlir.targets.cpu.emitters.elements import unfilled_bits
from qmlir.targets.cpu.emitters.emitter import NUMBA, checked_emitter, emitter_named
from qmlir.targets.cpu.host import host_isa, resolved_isa, runs_here
from qmlir.targets.cpu.package import (
    KERNELS,
    SAVED,
    OnKernel,
    forget,
    helper_count,
    load_package,
    numba_caches_beside_the_source,
    process_limit,
    write_runtime_bytecode,
)
from qmlir.targets.cpu.runtime import ports as runtime
from qmlir.targets.cpu.runtime.helper import COLLECTED
from qmlir.targets.cpu.runtime.lengths import AnyLength, Bucket
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME, is_for_here
from qmlir.targets.cpu.runtime.program import CompiledModule
from qmlir.targets.cpu.saved import LENGTHS, PROGRAM_FIRST, checked_program, copy_program, seal
from qmlir.targets.cpu.timing import ROUNDS, KernelTime, time_steps
from qmlir.text.elements import dense_dtype
from qmlir.text.files import access, note_sources, path_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.tables import Readable, counted
from qmlir.text.writing import folder_result

if TYPE_CHECKING:
    from qmlir.targets.cpu.batch_tiling import Shapes
    from qmlir.targets.cpu.length_buckets import Lengths


def _build(
    module: ModuleOp, made_for: ExecutionOptions, tuned: Tuned, folder: Path, name: str, on_kernel: OnKernel, limit: int
) -> None:
    """Lowers a static module, writes its package to `folder`, and compiles it there in at most `limit` processes."""
    with rare_collection(COLLECTED):
        cpu.write_program(module, made_for.isa, made_for.threads, folder, tuned, made_for.emitter)
        write_runtime_bytecode(folder)
        emitter_named(made_for.emitter).finish(folder, name, on_kernel, limit)


_LOADING = RLock()
"""Serializes compiling and loading: packages are in `sys.modules` before they are complete."""


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def as_main(module: ModuleOp, name: str) -> ModuleOp:
    """Renames the function `name` of `module` to `@main` in place, replacing any other `@main`; returns `module`.

    Functions that it doesn't call, directly or indirectly, are erased.
    """
    function = function_of(module, name)
    for op in list(module.ops):
        if op is function or not isinstance(op, FuncOp):
            continue
        if op.sym_name.data == MAIN:
            Rewriter.erase_op(op)
        else:
            op.sym_visibility = StringAttr("private")
    function.sym_name, function.sym_visibility = StringAttr(MAIN), None
    return run_pipeline(module, "symbol-dce")


class _Made(NamedTuple):
    """A compiled specialization: its folder, the program to call, and the seconds that it took to make or load it."""

    folder: Path
    call: Any
    seconds: float


def compiled_entry(module: ModuleOp, made_for: ExecutionOptions, slow: str = "") -> _Made:
    """Compiles a static module, or takes its program from the cache.

    `slow` is a warning that is emitted if this takes long.
    """
    begun = time.perf_counter()
    limit = process_limit()  # before anything is built
    isa, threads = made_for.isa, made_for.threads
    found = tuned_schedules(isa, threads, _warn) if made_for.tuned else UNTUNED
    key = program_key(module, isa, threads, found.digest, made_for.emitter)
    name = f"qmlir_program_{key[:24]}"
    with _LOADING, bar("compiling", None, made_for.progress) as advance:
        started, untold = time.monotonic(), [slow] if slow else []

        def on_kernel(kernel: str, number: int, count: int) -> None:
            advance.at(number - 1, count, kernel)
            if untold and is_slow(started):
                warn(untold.pop())

        entry = cache.entry(key, lambda folder: _build(module, made_for, found, folder, name, on_kernel, limit), _warn)
        package = sys.modules.get(name) or load_package(entry.folder, name, on_kernel, is_checked=not entry.is_new)
    return _Made(entry.folder, package.program, time.perf_counter() - begun)


def _package_of(call: Any) -> str:
    """Returns the name of the package of a compiled program."""
    return type(call).__module__.partition(".")[0]


def open_port(function: FuncOp, port: Port) -> runtime.ArrayPort:
    """Returns the port that checks an input whose dynamic sizes are not known yet.

    It accepts NaN. If the input is quantized, the code for specific sizes rejects NaN.
    """
    type_ = ranked_tensor(port.type) or unranked_tensor(port.type)
    stored = None if type_ is None else storage_element(type_.get_element_type())
    dtype = None if stored is None else dense_dtype(stored)
    if type_ is None or stored is None or dtype is None:
        raise op_error(function, f"input '{port.name}' must be a tensor of numbers, but got type {port.type}")
    ranked = ranked_tensor(port.type)
    is_bool = type_.get_element_type() == i1
    # A 1-bit stored integer is signed; a plain i1 is a Boolean.
    bits = unfilled_bits(IntegerType(1, Signedness.SIGNED) if stored == i1 and not is_bool else stored)
    sizes = () if ranked is None else ranked.get_shape()
    shape = tuple(runtime.OPEN if size == DYNAMIC_INDEX else size for size in sizes)
    dtype = np.dtype(np.bool_) if is_bool else dtype
    return runtime.ArrayPort(port.name, dtype, shape, has_rank=ranked is not None, bits=bits)


MOST_SPECIALIZATIONS = 128
"""The maximum number of specializations (combinations of sizes and parameters) in memory."""


def module_bytes(module: ModuleOp) -> bytes:
    """Serializes a module with its weights, for pickles."""
    return module_text(module, PrintOptions(weights=Weights.INLINE)).encode()


def module_of_bytes(data: bytes) -> ModuleOp:
    """Parses a module that `module_bytes` wrote."""
    return parse_module(default_environment().new_context(), data.decode())


def _again(module: bytes, made_for: ExecutionOptions, function: str, lengths: "Lengths | None") -> "Program":
    """Restores a pickled program: from the cache if possible, otherwise by compiling it."""
    checked_isa(made_for.isa, made_for.threads)
    return Program(module_of_bytes(module), made_for, function=function, lengths=lengths)


class RunnableProgram(Readable):
    """Base class of programs; its errors tell users of other libraries how to call a program."""

    def __getattr__(self, name: str) -> Any:
        hint = "; call it as program(inputs)" if name in CALLS else ""
        raise AttributeError(f"a program has no attribute '{name}'{hint}", name=name, obj=self)

    @staticmethod
    def refuse(named: Mapping[str, Any]) -> None:
        """Raises `InputError` if inputs are passed as keyword arguments."""
        if named:
            raise runtime.InputError(f"inputs must be passed as one dict: program({{{next(iter(named))!r}: …}})")


class Program(RunnableProgram):
    """A compiled model, created by `compile`. Call it with the inputs to get the outputs.

    Several threads may call it at once. It can be copied and pickled; a pickle contains the module, not the code. If
    dimensions are dynamic, code for a new combination of sizes is compiled when it is first called with these sizes.
    The code of the last 128 combinations stays in memory; the disk cache keeps the code of all of them.

    A batch that is larger than those before runs by the code for fewer samples. When such calls have taken as long as
    compiling that code did, the next one compiles faster code; `compile_for` does so in advance.

    Example:
        >>> program = qmlir.compile("docs/examples/fully_connected.mlir", codegen="llvm")
        >>> program({"input0": np.ones((2, 4), np.float32)})["output0"].shape
        (2, 2)
    """

    def __init__(
        self, module: ModuleOp, made_for: ExecutionOptions, *, function: str = "main", lengths: "Lengths | None" = None
    ) -> None:
        self._module = module
        self._settings = made_for
        self._function = function
        ports = inputs_of(self.signature)
        self._open = [open_port(self.signature, port) for port in ports]
        self._parameters = frozenset(parameter_inputs(module, function))
        is_fixed = not self._parameters and not any(is_open(port.type) for port in ports)
        self._batch = None if self._parameters or is_fixed else cpu.OpenBatch(module, function)
        self._made: OrderedDict[Any, _Made] = OrderedDict()
        self._last: tuple[tuple[tuple[int, ...], ...], _Made] | None = None
        self._spent: dict[Any, float] = {}
        self._lock = Lock()
        self._only = self._make({}, {}) if is_fixed else None
        self._lengths = lengths
        self._folders: list[Path] = []
        self._unpadded = ""
        self._any_length = None if lengths is None or self._only is not None else self._padded(lengths)

    def __reduce__(self) -> tuple[Callable[..., "Program"], tuple[Any, ...]]:
        settings = replace(self._settings, progress=None)
        return _again, (module_bytes(self._module), settings, self._function, self._lengths)

    @property
    def isa(self) -> str:
        """The instruction set of the code, such as `avx2`."""
        return self._settings.isa

    @property
    def threads(self) -> int:
        """The maximum number of threads."""
        return self._settings.threads

    @property
    def emitter(self) -> str:
        """The generator of the machine code: `numba` or `llvm`."""
        return self._settings.emitter

    @property
    def signature(self) -> FuncOp:
        """The function of the module that the program computes, with its inputs and outputs."""
        return function_of(self._module, self._function)

    @property
    def is_fixed(self) -> bool:
        """True if all sizes were known when the program was compiled."""
        return self._only is not None

    def text(self) -> str:
        """Describes the program.

        Returns:
            The instruction set, the number of threads, and the names and types of inputs and outputs.
        """
        return f"program for {self.isa}, {counted(self.threads, 'thread')}\n{signature_text(self.signature)}"

    def _padded(self, lengths: "Lengths") -> AnyLength | None:
        """Returns the program for all sizes up to a maximum; `None`, with a warning, if it can't be padded."""
        known = cpu.checked_lengths(self._module, lengths, self._function)
        try:
            found = specialization.outline(self._module, self._function)
            modules = cpu.padded_modules(self._module, cpu.all_capacities(found, known), self._function)
        except DiagnosticError as error:
            if error.diagnostic.op is None:  # about `lengths`, not about the model
                raise
            self._unpadded = error.diagnostic.message
            _warn(f"the model cannot be padded, so each new input size is compiled on its first call: {self._unpadded}")
            return None
        made = [self._entry(each.module) for each in modules]
        self._folders = [each.folder for each in made]
        buckets = [Bucket(each.capacities, each.takes, one.call) for each, one in zip(modules, made, strict=True)]
        return AnyLength(cpu.plan_of(found), buckets)

    def _entry(self, module: ModuleOp, slow: str = "") -> _Made:
        return compiled_entry(as_main(module, self._function), self._settings, slow)

    def _make(self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Array]) -> _Made:
        listed = ", ".join(f"{name} {shape_text(shape)}" for name, shape in shapes.items())
        slow = f"this call compiles for {listed}; later calls of these sizes reuse the code" if listed else ""
        if self._batch is not None:
            return self._entry(self._batch.specialized(self._module, shapes), slow)
        return self._entry(specialize(self._module, shapes, values, function=self._function), slow)

    def _made_for(self, values: Mapping[str, Array], *, waits: bool = False) -> _Made:
        if self._parameters:
            return self._searched(values, waits=waits)
        sizes, last = tuple([array.shape for array in values.values()]), self._last
        if last is not None and last[0] == sizes:  # sizes are nearly always those of the last call
            return last[1]
        return self._searched(values, waits=waits)

    def _searched(self, values: Mapping[str, Array], *, waits: bool) -> _Made:
        known = {name: np.asarray(values[name], order="C") for name in self._parameters}
        shapes: Shapes = {name: np.shape(value) for name, value in values.items() if name not in known}
        chunks = [shapes] if self._batch is None else self._batch.chunks(shapes)
        numbers = tuple((name, array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(known.items()))
        key, *others = [(tuple(sorted(chunk.items())), numbers) for chunk in chunks]
        made = self._made.get(key)
        if made is None and not waits:
            slower = next((found for each in others if (found := self._made.get(each)) is not None), None)
            # Compiling once the slower runs have taken as long costs at most twice the least possible time.
            if slower is not None and self._spent.get(key, 0.0) < slower.seconds:
                return slower._replace(call=self._timed(slower.call, key))
        if made is None:
            with self._lock:  # if two threads call with the same new shape, only one compiles
                made = self._made.get(key)
                if made is None:
                    made = self._made[key] = self._make(chunks[0], known)
                    self._drop_the_longest_unused()
        with suppress(KeyError):  # another thread may have dropped it just now
            self._made.move_to_end(key)
        if not self._parameters:
            self._last = tuple([array.shape for array in values.values()]), made
        return made

    def _timed(self, call: Any, key: Any) -> Any:
        """Wraps a program so that the seconds of its runs are added to `_spent[key]`."""

        def run(inputs: Mapping[str, Any] | Sequence[Any], outputs: Mapping[str, Array] | None) -> dict[str, Array]:
            started = time.perf_counter()
            found = call(inputs, outputs)
            self._spent[key] = self._spent.get(key, 0.0) + time.perf_counter() - started
            return found

        return run

    def _for_one(self) -> _Made | None:
        """Returns the program for one sample if it runs any batch size and nothing else is dynamic; else `None`."""
        one = None if self._batch is None else self._batch.one({port.name: port.shape for port in self._open})
        if one is None:
            return None
        return self._made_for({port.name: np.empty(one[port.name], port.dtype) for port in self._open})

    def _drop_the_longest_unused(self) -> None:
        """Unloads the least recently used specializations; running calls keep their code alive."""
        while len(self._made) > MOST_SPECIALIZATIONS:
            _, dropped = self._made.popitem(last=False)
            with _LOADING:
                forget(_package_of(dropped.call))

    def __call__(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] | Array = (),
        outputs: Mapping[str, Array] | None = None,
        **named: Any,
    ) -> dict[str, Array]:
        """Runs the program.

        Args:
            inputs: Arrays by input name, a sequence of arrays in the order of the inputs, or the array of the only
                input. NumPy types and shapes must match; layout and byte order do not matter. If samples are
                independent, any batch size is accepted.
            outputs: Arrays by output name, to which these outputs are written. Each must have the type and shape of its
                output.

        Returns:
            The outputs by name. A quantized output contains the stored integers.

        Raises:
            InputError: An argument is missing, does not fit, is a keyword argument, or is a quantized input with NaN.
        """
        self.refuse(named)
        if self._any_length is not None:
            return self._any_length(inputs, outputs)
        call, known = self._chosen(inputs)
        return call(known, outputs)

    def _chosen(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, *, waits: bool = False
    ) -> tuple[Any, Mapping[str, Any] | Sequence[Any] | Array]:
        """Returns the program that runs these inputs (the first chunk of a batch), and its arguments."""
        if self._only is not None:
            return self._only.call, inputs
        if self._any_length is not None:
            return self._any_length.first(inputs)
        given = runtime.by_name(self._open, inputs)
        values = {port.name: runtime.checked(port, value) for port, value in zip(self._open, given, strict=True)}
        made = self._made_for(values, waits=waits)
        return made.call, {name: value for name, value in values.items() if name not in self._parameters}

    def compile_for(self, inputs: Mapping[str, Any] | Sequence[Any] | Array) -> None:
        """Compiles the code for inputs of these sizes now, instead of at the first call.

        Args:
            inputs: As for a call. Only their sizes, and values that determine shapes, matter.

        Raises:
            DiagnosticError: An operation cannot be compiled for these sizes.
            InputError: An input does not fit.
        """
        self._chosen(inputs, waits=True)

    def time_kernels(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array = (), rounds: int = ROUNDS
    ) -> tuple[KernelTime, ...]:
        """Times each kernel of a run, called one by one from Python.

        Args:
            inputs: As for a call. If a batch runs in chunks, only the first chunk is timed.
            rounds: Number of runs. The shortest time of each kernel call is returned.

        Returns:
            The name, the nodes of the model, and the seconds of each kernel call, in order.

        Raises:
            DiagnosticError: The program was compiled with `codegen="llvm"`.
            InputError: An input does not fit.
        """
        call, known = self._chosen(inputs, waits=True)
        if not call.has_emitted:
            raise text_error(f"timing kernels requires codegen '{NUMBA}', but the program uses '{self.emitter}'")
        with _LOADING, numba_caches_beside_the_source(_package_of(call)):
            call.load_emitted()
        return time_steps(call, call.first(known), rounds)

    def save(self, folder: str | PathLike[str], about: Mapping[str, Any] | None = None, *, force: bool = False) -> None:
        """Writes the program as a Python package that runs without qmlir.

        The package needs NumPy and numba, or NumPy and llvmlite for `codegen="llvm"`. `load_program` loads it, and it
        can also be imported. Files that qmlir previously wrote into the folder are replaced; other files are kept.

        Args:
            folder: The folder to write.
            about: JSON values to store in the manifest of the program, such as the origin of the model.
            force: Replace files that qmlir did not write.

        Raises:
            DiagnosticError: The program has dynamic dimensions without maximum sizes, a file is in the way, or the
                folder cannot be written.
        """
        with access(force=force):
            note_sources(self)
            with folder_result(path_of(folder), PROGRAM_FIRST) as whole:
                self.write(whole, about)

    def _why_unsaved(self) -> str:
        """Returns the message that says why this program can't be saved, and what to pass instead."""
        advice = "pass the shapes of the inputs to load (--shape)"
        if self._unpadded:
            return f"cannot save a program that compiles each new input size: {self._unpadded}; {advice}"
        proof = None
        if self._batch is not None:
            shapes = {port.name: [max(size, 1) for size in port.shape] for port in self._open}
            proof = self._batch.proof(shapes)
        reason = f": {proof.diagnostic.message}" if isinstance(proof, DiagnosticError) else ""
        return (
            f"cannot save a program with dynamic dimensions{reason}; {advice}, or maximum sizes to compile (--max-size)"
        )

    def write(self, folder: Path, about: Mapping[str, Any] | None = None) -> None:
        """Writes the files of `save` into a new folder, without its checks.

        Args:
            folder: The folder to create.
            about: JSON values to store in the manifest.

        Raises:
            DiagnosticError: The program has dynamic dimensions without maximum sizes.
            OSError: The folder exists or cannot be written.
        """
        ignored = shutil.ignore_patterns("__pycache__", cache.MANIFEST)
        if self._any_length is not None:
            cpu.write_lengths(folder, self._any_length, self._folders, ignored, about)
        elif (made := self._only or self._for_one()) is not None:
            shutil.copytree(made.folder, folder, ignore=ignored)
            seal(folder, about)
        else:
            raise text_error(self._why_unsaved())
        folder.chmod(0o777 & ~_umask())  # cache entries are private, but saved programs need not be


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def checked_isa(isa: str, threads: int) -> str:
    """Checks `isa` and `threads`; returns the instruction set, with `host` resolved.

    Raises `DiagnosticError` if `isa` is unknown or not supported by this CPU, if `threads < 1`, or if the CPU named in
    the environment is unknown to LLVM.
    """
    if any(os.environ.get(name) for name in (NAME, FEATURES)):
        cpu.check_named_processor()
    wanted = resolved_isa(isa)
    if not runs_here(wanted):
        raise text_error(f"this CPU does not support {wanted}; it supports {host_isa()}")
    if not isinstance(threads, Integral) or threads < 1:
        raise text_error(f"threads must be at least 1, but got {threads!r}")
    return wanted


@contextmanager
def temporary_program(loops: ModuleOp) -> Generator[Any]:
    """Compiles a module of loops to a program for the `with` block, without the cache."""
    limit = process_limit()
    name = f"qmlir_temporary_{secrets.token_hex(12)}"
    with TemporaryDirectory(prefix="qmlir-") as folder:
        with _LOADING, rare_collection(COLLECTED):
            emitter_named(NUMBA).write(loops, Path(folder), None, None)
            source = (Path(folder) / KERNELS).read_text(encoding="utf-8")
            package: Any = load_package(Path(folder), name, None, helper_count(source, limit))
        try:
            yield package.program
        finally:
            forget(name)


def compile_module(
    module: ModuleOp,
    *,
    threads: int = 1,
    isa: str = "host",
    function: str = "main",
    progress: IO[str] | None = None,
    tuned: bool = True,
    lengths: "Lengths | None" = None,
    emitter: str = NUMBA,
) -> Program:
    """Compiles `module` for the instruction set `isa` and `threads` threads.

    With `tuned`, the schedules that `tune` measured on this machine apply, otherwise only the default ones. `progress`
    is a terminal that shows the kernel being compiled. `lengths` maps each dynamic dimension to its maximum size or to
    a list of bucket sizes; the program then runs any size up to the maximum without compiling again. `emitter`
    generates the machine code.

    Raises `DiagnosticError` if the instruction set or the emitter is unknown, if this CPU lacks the instruction set, or
    if an operation can't be compiled.
    """
    made_for = ExecutionOptions(threads, checked_isa(isa, threads), tuned, progress, checked_emitter(emitter))
    return Program(module, made_for, function=function, lengths=lengths)


def execute(module: ModuleOp, function: str, running: ExecutionOptions) -> Program:
    """Compiles `function` to a program. Raises `DiagnosticError` if an operation can't be compiled."""
    isa, emitter = checked_isa(running.isa, running.threads), checked_emitter(running.emitter)
    return Program(module, replace(running, isa=isa, emitter=emitter), function=function)


def load_program(folder: str | PathLike[str]) -> CompiledModule | AnyLength:
    """Loads a program that `Program.save` wrote. Raises `DiagnosticError` if there is none."""
    path = path_of(folder).resolve()
    return load_checked(path, checked_program(path))


def load_checked(path: Path, card: ProgramCard) -> CompiledModule | AnyLength:
    """Loads the program in a folder whose files were checked against `card`. Raises `DiagnosticError`."""
    if card.form != PROGRAM_FORM:
        raise text_error(
            f"{path} contains a program of the form '{card.form}', but Python can load only '{PROGRAM_FORM}'"
        )
    if LENGTHS in card.files:
        program = cpu.read_lengths(path, load_program)
    else:
        name = f"{SAVED}{hashlib.sha256(f'{path} {card.digest}'.encode()).hexdigest()[:24]}"
        with _LOADING:
            package: Any = sys.modules.get(name) or _saved_package(path, card, name)
        program = package.program
    program.again = (load_program, (str(path),))
    return program


def _saved_package(path: Path, card: ProgramCard, name: str) -> Any:
    """Loads the package of a saved program; compiles a copy in the cache if it has no machine code for this machine.

    numba keeps compiled code next to the source and reads it as pickles, which can run arbitrary code. So numba's files
    in a saved folder are neither read nor written. A cache entry is private to the user, with a digest per file.
    """
    if not (path / KERNELS).is_file() or is_for_here(path):
        return load_package(path, name, is_checked=True)
    source = (path / KERNELS).read_text(encoding="utf-8")
    try:
        key = saved_key(card.digest, source)
    except SyntaxError as error:
        raise text_error(f"{path / KERNELS} is damaged: line {error.lineno} is not Python") from error
    limit = process_limit()

    def build(folder: Path) -> None:
        copy_program(path, card, folder)
        with rare_collection(COLLECTED):
            load_package(folder, name, None, helper_count(source, limit), is_checked=True)
        forget(name)  # the folder is moved into the cache
        compileall.compile_dir(folder, quiet=1)

    entry = cache.entry(key, build, _warn)
    return load_package(entry.folder, name, is_checked=True)
