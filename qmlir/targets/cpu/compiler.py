"""Compiles modules to runnable programs: lowering, emission, the disk cache, and a specialization per input shape.

A program is bit-identical to the interpreter on the module that it was compiled from.
"""

import compileall
import hashlib
import math
import os
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import takewhile
from numbers import Integral
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, Signedness, StringAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from qmlir import registry, specialization
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lengths import FOLLOWED
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.quant.infer import scaling_of
from qmlir.environment import default_environment
from qmlir.interpreter.progress import bar, is_slow
from qmlir.ir.builtin_types import ranked_tensor, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, warn
from qmlir.ir.equivalence import fingerprint
from qmlir.ir.gc_control import rare_collection
from qmlir.ir.signature import MAIN, Port, inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of, shape_text
from qmlir.specialization.specialize import is_open, parameter_inputs, specialize
from qmlir.target import ExecutionOptions
from qmlir.targets import cpu
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.cache import UNTUNED, Tuned, saved_key, tuned_schedules
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
    process_limit,
    write_runtime_bytecode,
)
from qmlir.targets.cpu.program import LOADING, Made, Program, loaded_entry, package_name, package_of, warn_of_cache
from qmlir.targets.cpu.runtime import ports as runtime
from qmlir.targets.cpu.runtime.helper import COLLECTED
from qmlir.targets.cpu.runtime.lengths import AnyLength, Bucket
from qmlir.targets.cpu.runtime.machine_code import FEATURES, NAME, is_for_here
from qmlir.targets.cpu.runtime.program import CompiledModule
from qmlir.targets.cpu.saved import LENGTHS, checked_program, copy_program
from qmlir.text.elements import dense_dtype
from qmlir.text.files import path_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text

if TYPE_CHECKING:
    from qmlir.specialization.padding import Outline
    from qmlir.targets.cpu.batch_tiling import Shapes
    from qmlir.targets.cpu.length_buckets import Lengths, PaddedModule


def _build(
    module: ModuleOp, made_for: ExecutionOptions, tuned: Tuned, folder: Path, name: str, on_kernel: OnKernel,
    limit: int, others: Sequence[ModuleOp],
) -> None:  # fmt: skip
    """Lowers a static module, writes its package to `folder`, and compiles it there in at most `limit` processes."""
    with rare_collection(COLLECTED):
        cpu.write_program(module, made_for.isa, made_for.threads, folder, tuned, made_for.emitter, others)
        write_runtime_bytecode(folder)
        emitter_named(made_for.emitter).finish(folder, name, on_kernel, limit)


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


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "", emitter: str = "numba") -> str:
    """Returns the cache key of a static module's program; `tuned` is the digest of the tuned schedules."""
    parts = {
        "module": fingerprint(module),
        "code": registry.code_digest(registry.packages()),
        "isa": isa,
        "emitter": emitter,
        "threads": threads,
        "tuned": tuned,
        **cache.surroundings(),
    }
    return cache.digest(parts)


def compiled_entry(
    module: ModuleOp, made_for: ExecutionOptions, slow: str = "", others: Sequence[ModuleOp] = ()
) -> Made:
    """Compiles a static module, or takes its program from the cache.

    `slow` is a warning that is emitted if this takes long. `others` are those of `write_program`.
    """
    begun = time.perf_counter()
    limit = process_limit()  # before anything is built
    isa, threads = made_for.isa, made_for.threads
    found = tuned_schedules(isa, threads, warn_of_cache) if made_for.tuned else UNTUNED
    key = program_key(module, isa, threads, found.digest, made_for.emitter)
    name = package_name(key)
    with LOADING, bar("compiling", None, made_for.progress) as advance:
        started, untold = time.monotonic(), [slow] if slow else []

        def on_kernel(kernel: str, number: int, count: int) -> None:
            advance.at(number - 1, count, kernel)
            if untold and is_slow(started):
                warn(untold.pop())

        entry = cache.entry(
            key, lambda folder: _build(module, made_for, found, folder, name, on_kernel, limit, others), warn_of_cache
        )
        call = loaded_entry(entry.folder, key, on_kernel, is_checked=not entry.is_new)
    return Made(entry.folder, call, time.perf_counter() - begun, found.digest)


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
    scale, zero_point = scaling_of(type_.get_element_type())
    return runtime.ArrayPort(
        port.name, dtype, shape, has_rank=ranked is not None, bits=bits, scale=scale, zero_point=zero_point
    )


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
    return ModuleProgram(module_of_bytes(module), made_for, function=function, lengths=lengths)


class ModuleProgram(Program):
    """A program that keeps the module that it was compiled from, and compiles specializations of it."""

    def __init__(
        self, module: ModuleOp, made_for: ExecutionOptions, *, function: str = "main", lengths: "Lengths | None" = None
    ) -> None:
        super().__init__(made_for.isa, made_for.threads, made_for.emitter)
        self._module = module
        self._settings = made_for
        self._function = function
        ports = inputs_of(self.signature)
        self._open = [open_port(self.signature, port) for port in ports]
        self._parameters = frozenset(parameter_inputs(module, function))
        is_fixed = not self._parameters and not any(is_open(port.type) for port in ports)
        self._batch = None if self._parameters or is_fixed else cpu.OpenBatch(module, function)
        self._made: OrderedDict[Any, Made] = OrderedDict()
        self._last: tuple[tuple[tuple[int, ...], ...], Made] | None = None
        self._spent: dict[Any, float] = {}
        self._lock = Lock()
        self._lengths = lengths
        self._unpadded = ""
        if is_fixed:
            self.parts = [self._make({}, {})]
        elif lengths is not None:
            self._pad(lengths)

    def __reduce__(self) -> tuple[Callable[..., "Program"], tuple[Any, ...]]:
        settings = replace(self._settings, progress=None)
        return _again, (module_bytes(self._module), settings, self._function, self._lengths)

    @property
    def signature(self) -> FuncOp:
        """The function of the module that the program computes, with its inputs and outputs."""
        return function_of(self._module, self._function)

    def _pad(self, lengths: "Lengths") -> None:
        """Compiles for all sizes up to a maximum; warns if the model can't be padded."""
        known = cpu.checked_lengths(self._module, lengths, self._function)
        try:
            found = specialization.outline(self._module, self._function)
            combinations = cpu.all_capacities(found, known)
            modules, self.parts = self._following(found, known, lengths)
            if not modules:
                modules = cpu.padded_modules(self._module, combinations, self._function)
                self.parts = [self._entry(each.module) for each in modules]
        except DiagnosticError as error:
            if error.diagnostic.op is None:  # about `lengths`, not about the model
                raise
            self._unpadded = error.diagnostic.message
            warn_of_cache(
                f"the model cannot be padded, so each new input size is compiled on its first call: {self._unpadded}"
            )
            return
        constants: dict[Any, Array] = {}
        for each in self.parts:
            each.call.share_constants(constants)
        pairs = zip(modules, self.parts, strict=True)
        buckets = [Bucket(each.capacities, each.takes, one.call) for each, one in pairs]
        self.any_length = AnyLength(cpu.plan_of(found), buckets)

    def _following(
        self, found: "Outline", known: "Mapping[str, tuple[int, ...]]", lengths: "Lengths"
    ) -> "tuple[list[PaddedModule], list[Made]]":
        """Compiles for one capacity of each dimension whose loops follow its size; returns nothing if there is none.

        If the capacity is below the maximum, there is another one for larger sizes.
        """
        for skipped in range(2):  # a prime may divide other bounds of loops by chance
            followed = cpu.followed_lengths(self._module, found, lengths, self._settings.isa, skipped)
            sizes = {name: (math.prod(followed[name]),) if name in followed else each for name, each in known.items()}
            modules = cpu.padded_modules(self._module, cpu.all_capacities(found, sizes), self._function, followed)
            if not followed or not all(FOLLOWED in each.module.attributes for each in modules):
                return [], []
            parts = [self._entry(each.module, others=each.others) for each in modules]
            if all(each.call.batches.plan.follows for each in parts):
                break
        else:
            return [], []
        larger = {name: each[-1:] for name, each in known.items() if name in followed and each[-1] > sizes[name][0]}
        if larger:
            sizes = {name: (*each, *larger.get(name, ())) for name, each in sizes.items()}
            held = [each.capacities for each in modules]
            more = [each for each in cpu.all_capacities(found, sizes) if each not in held]
            modules += cpu.padded_modules(self._module, more, self._function, followed)
            parts += [self._entry(each.module) for each in modules[len(parts) :]]
        return modules, parts

    def _entry(self, module: ModuleOp, slow: str = "", others: Sequence[ModuleOp] = ()) -> Made:
        others = [as_main(each, self._function) for each in others]
        return compiled_entry(as_main(module, self._function), self._settings, slow, others)

    def _make(self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Array]) -> Made:
        listed = ", ".join(f"{name} {shape_text(shape)}" for name, shape in shapes.items())
        slow = f"this call compiles for {listed}; later calls of these sizes reuse the code" if listed else ""
        if self._batch is not None:
            return self._entry(self._batch.specialized(self._module, shapes), slow)
        return self._entry(specialize(self._module, shapes, values, function=self._function), slow)

    def _made_for(self, values: Mapping[str, Array], *, waits: bool = False) -> Made:
        if self._parameters:
            return self._searched(values, waits=waits)
        sizes, last = tuple([array.shape for array in values.values()]), self._last
        if last is not None and last[0] == sizes:  # sizes are nearly always those of the last call
            return last[1]
        return self._searched(values, waits=waits)

    def _searched(self, values: Mapping[str, Array], *, waits: bool) -> Made:
        known = {name: np.asarray(values[name], order="C") for name in self._parameters}
        shapes: Shapes = {name: np.shape(value) for name, value in values.items() if name not in known}
        chunks = [shapes] if self._batch is None else self._batch.chunks(shapes)
        numbers = tuple((name, array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(known.items()))
        keys = [(tuple(sorted(chunk.items())), numbers) for chunk in chunks]
        key, made = keys[0], self._made.get(keys[0])
        if made is None and not waits:
            slower = next((found for each in keys if (found := self._made.get(each)) is not None), None)
            if slower is not None:
                # Compiling once the slower runs have taken as long costs at most twice the least possible time.
                faster = list(takewhile(lambda each: self._made.get(each) is not slower, keys))
                due = [each for each in faster if self._spent.get(each, 0.0) >= slower.seconds]
                if not due:
                    return slower._replace(call=self._timed(slower.call, faster))
                key = due[0]
        if made is None:
            with self._lock:  # if two threads call with the same new shape, only one compiles
                made = self._made.get(key)
                if made is None:
                    made = self._made[key] = self._make(chunks[keys.index(key)], known)
                    self._drop_the_longest_unused()
        with suppress(KeyError):  # another thread may have dropped it just now
            self._made.move_to_end(key)
        if not self._parameters and key == keys[0]:
            self._last = tuple([array.shape for array in values.values()]), made
        return made

    def _timed(self, call: Any, keys: Sequence[Any]) -> Any:
        """Wraps a program so that the seconds of its runs are added to `_spent` for each of `keys`."""

        def run(inputs: Mapping[str, Any] | Sequence[Any], outputs: Mapping[str, Array] | None) -> dict[str, Array]:
            started = time.perf_counter()
            found = call(inputs, outputs)
            took = time.perf_counter() - started
            self._spent.update((key, self._spent.get(key, 0.0) + took) for key in keys)
            return found

        return run

    def _for_one(self) -> Made | None:
        """Returns the program for one sample if it runs any batch size and nothing else is dynamic; else `None`."""
        one = None if self._batch is None else self._batch.one({port.name: port.shape for port in self._open})
        if one is None:
            return None
        return self._made_for({port.name: np.empty(one[port.name], port.dtype) for port in self._open})

    def _drop_the_longest_unused(self) -> None:
        """Unloads the least recently used specializations; running calls keep their code alive."""
        while len(self._made) > MOST_SPECIALIZATIONS:
            _, dropped = self._made.popitem(last=False)
            with LOADING:
                forget(package_of(dropped.call))

    def _chosen(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, *, waits: bool = False
    ) -> tuple[Any, Mapping[str, Any] | Sequence[Any] | Array]:
        if self.parts:
            return super()._chosen(inputs, waits=waits)
        given = runtime.by_name(self._open, inputs)
        values = {port.name: runtime.checked(port, value) for port, value in zip(self._open, given, strict=True)}
        made = self._made_for(values, waits=waits)
        return made.call, {name: value for name, value in values.items() if name not in self._parameters}

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

    def _whole(self) -> Made:
        if (made := self._only or self._for_one()) is None:
            raise text_error(self._why_unsaved())
        return made


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
        with LOADING, rare_collection(COLLECTED):
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
    return ModuleProgram(module, made_for, function=function, lengths=lengths)


def execute(module: ModuleOp, function: str, running: ExecutionOptions) -> Program:
    """Compiles `function` to a program. Raises `DiagnosticError` if an operation can't be compiled."""
    isa, emitter = checked_isa(running.isa, running.threads), checked_emitter(running.emitter)
    return ModuleProgram(module, replace(running, isa=isa, emitter=emitter), function=function)


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
        with LOADING:
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

    entry = cache.entry(key, build, warn_of_cache)
    return load_package(entry.folder, name, is_checked=True)
