"""Compiled programs as users call them. This module needs no module of operations, so that a warm start imports none.

`qmlir.targets.cpu.compiler` has the program that keeps the module that it was compiled from.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from qmlir import specialization
from qmlir.arithmetic.arrays import Array
from qmlir.ir.messages import text_error
from qmlir.targets import cpu
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.choices import CALLS, NUMBA
from qmlir.targets.cpu.package import OnKernel, load_package, numba_caches_beside_the_source
from qmlir.targets.cpu.runtime import ports as runtime
from qmlir.targets.cpu.timing import ROUNDS, KernelTime, time_steps
from qmlir.text.files import access, note_sources, path_of
from qmlir.text.tables import Readable, counted
from qmlir.text.writing import folder_result

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

LOADING = RLock()
"""Serializes compiling and loading: packages are in `sys.modules` before they are complete."""


def warn_of_cache(message: str) -> None:
    """Warns about trouble with the cache or with the files in it."""
    warnings.warn(message, RuntimeWarning, stacklevel=4)


class Made(NamedTuple):
    """A compiled specialization: its folder, the program to call, and the seconds that it took to make or load it."""

    folder: Path
    call: Any
    seconds: float
    tuned: str = ""
    """The digest of the tuned schedules that it was compiled with."""


def package_name(key: str) -> str:
    """Returns the name of the package of a cache entry."""
    return f"qmlir_program_{key[:24]}"


def loaded_entry(folder: Path, key: str, on_kernel: OnKernel | None = None, *, is_checked: bool = True) -> Any:
    """Returns the program in a cache entry; the caller holds `LOADING`. Raises `DiagnosticError` if it is damaged."""
    name = package_name(key)
    return (sys.modules.get(name) or load_package(folder, name, on_kernel, is_checked=is_checked)).program


def package_of(call: Any) -> str:
    """Returns the name of the package of a compiled program."""
    return type(call).__module__.partition(".")[0]


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
        self, isa: str, threads: int, emitter: str, parts: Sequence[Made] = (), padding: Mapping[str, Any] | None = None
    ) -> None:
        """Creates a program of compiled code.

        Args:
            isa: The instruction set.
            threads: The maximum number of threads.
            emitter: The generator of the machine code.
            parts: The compiled code: of the only specialization, or of each bucket of a program with maximum sizes.
                Empty if code for each combination of sizes is compiled at its first call.
            padding: The description of a program with maximum sizes, as `AnyLength.description` returns it.
        """
        self._isa, self._threads, self._emitter, self.parts = isa, threads, emitter, parts
        self.any_length = None if padding is None else cpu.described(padding, [each.call for each in parts])

    @property
    def _only(self) -> Made | None:
        """The code of a program whose sizes are all fixed."""
        return self.parts[0] if self.parts and self.any_length is None else None

    @property
    def isa(self) -> str:
        """The instruction set of the code, such as `avx2`."""
        return self._isa

    @property
    def threads(self) -> int:
        """The maximum number of threads."""
        return self._threads

    @property
    def emitter(self) -> str:
        """The generator of the machine code: `numba` or `llvm`."""
        return self._emitter

    @property
    def signature(self) -> "FuncOp":
        """The function of the module that the program computes, with its inputs and outputs."""
        raise NotImplementedError

    @property
    def is_fixed(self) -> bool:
        """True if all sizes were known when the program was compiled."""
        return self._only is not None

    def text(self) -> str:
        """Describes the program.

        Returns:
            The instruction set, the number of threads, and the names and types of inputs and outputs.
        """
        ports = specialization.signature_text(self.signature)
        return f"program for {self.isa}, {counted(self.threads, 'thread')}\n{ports}"

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
        if self.any_length is not None:
            return self.any_length(inputs, outputs)
        call, known = (self.parts[0].call, inputs) if self.parts else self._chosen(inputs)
        return call(known, outputs)

    def _chosen(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, *, waits: bool = False
    ) -> tuple[Any, Mapping[str, Any] | Sequence[Any] | Array]:
        """Returns the program that runs these inputs (the first chunk of a batch), and its arguments.

        If `waits`, code for new sizes is compiled even if slower code could run them.
        """
        return (self.parts[0].call, inputs) if self.any_length is None else self.any_length.first(inputs)

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
        with LOADING, numba_caches_beside_the_source(package_of(call)):
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
            with folder_result(path_of(folder), cpu.PROGRAM_FIRST) as whole:
                self.write(whole, about)

    def _whole(self) -> Made:
        """Returns the code that runs all inputs. Raises `DiagnosticError` if no code does."""
        return self.parts[0]

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
        if self.any_length is not None:
            cpu.write_lengths(folder, self.any_length, [each.folder for each in self.parts], ignored, about)
        else:
            shutil.copytree(self._whole().folder, folder, ignore=ignored)
            cpu.seal(folder, about)
        folder.chmod(0o777 & ~_umask())  # cache entries are private, but saved programs need not be


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
