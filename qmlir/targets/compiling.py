"""Compiling a module: for the CPU, or partitioned among several targets."""

from collections.abc import Sequence
from os import PathLike
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qmlir import targets
from qmlir.ir.diagnostics import text_error
from qmlir.target import HOST, INTERPRETER, ExecutionOptions, find_target, find_targets
from qmlir.targets.cpu import compiler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.emitters.card import PARTS_FORM
from qmlir.targets.cpu.emitters.emitter import checked_emitter
from qmlir.targets.cpu.runtime.lengths import AnyLength
from qmlir.targets.cpu.runtime.program import CompiledModule
from qmlir.targets.cpu.saved import checked_program
from qmlir.targets.parts import parts_of
from qmlir.text.files import path_of

if TYPE_CHECKING:
    from qmlir.targets.cpu.length_buckets import Lengths
    from qmlir.targets.heterogeneous import HybridProgram


def _may_need_interpreter(module: ModuleOp) -> bool:
    """Returns True if any operation is of a kind that can't be compiled in some cases."""
    interpreter = find_target(INTERPRETER).description
    return any(interpreter.why_not(op) is None for op in module.walk())


def compile(
    module: ModuleOp,
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
    """Implements `qmlir.compile` for a module that has been read."""
    if _may_need_interpreter(module):
        module = targets.with_islands_apart(module)
    names = [each.name for each in find_targets(device)] if device else []
    owners = dict.fromkeys((*names, *parts_of(module).values()))
    if not owners.keys() - {HOST}:
        return compiler.compile_module(
            module, threads=threads, isa=isa, function=function, progress=progress, tuned=tuned, lengths=max_sizes,
            emitter=codegen,
        )  # fmt: skip
    if max_sizes is not None:
        raise text_error(f"dynamic dimensions are supported only for target 'cpu', but got {', '.join(owners)}")
    running = ExecutionOptions(threads, isa, tuned, progress, checked_emitter(codegen))
    divided = targets.partitioned(module, names) if set(names) - {HOST} else module
    return targets.compile_parts(divided, function, running)


def load_program(folder: str | PathLike[str]) -> "CompiledModule | AnyLength | HybridProgram":
    """Loads a program that `Program.save` or `HybridProgram.save` wrote.

    Args:
        folder: The folder of the program.

    Returns:
        The program. Call it like the saved one; its `inputs` and `outputs` describe the arrays. A program for several
        targets is a `HybridProgram`. Other loaded programs lack the methods of `Program`, such as `save`.

    Raises:
        DiagnosticError: The folder does not contain a program, or a file in it is damaged.

    Example:
        >>> program = qmlir.compile("docs/examples/fully_connected.mlir", codegen="llvm")
        >>> program.save("program")
        >>> qmlir.load_program("program")(np.ones((1, 4), np.float32))["output0"]
        array([[0., 3.]], dtype=float32)
    """
    path = path_of(folder).resolve()
    card = checked_program(path)
    return targets.load_parts(path, card) if card.form == PARTS_FORM else compiler.load_checked(path, card)
