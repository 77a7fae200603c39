"""`qmlir.compile`: a program for the CPU, or for several targets, each of which computes the parts that it got."""

from collections.abc import Sequence
from os import PathLike
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qmlir import targets
from qmlir.ir.diagnostics import text_error
from qmlir.target import HOST, INTERPRETER, Running, find_target, find_targets
from qmlir.targets.cpu import compiler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.emitters.card import PARTS_FORM
from qmlir.targets.cpu.saved import checked_program
from qmlir.targets.parts import parts_of
from qmlir.text.files import path_of

if TYPE_CHECKING:
    from qmlir.targets.cpu.any_length import Lengths
    from qmlir.targets.hybrid import HybridProgram


def _may_need_interpreter(module: ModuleOp) -> bool:
    """Whether any operation is of a kind that has no compiled form in some cases."""
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
    """A program that computes what `module` computes, for the instruction set `isa` and `threads` threads.

    `device` names those that compute parts of it, the preferred one first, `npu,cpu`: the module is partitioned unless
    it is already, and the CPU computes what is left. Without any, that is everything, unless the module has parts, or
    islands, which the interpreter runs: then the program is one of several targets.
    Schedules are those that `tune` found on this machine, where it ran, and otherwise those of the tables; without
    `tuned` always those of the tables. A terminal as `progress` shows the kernel that is being compiled. With
    `max_sizes={"sequence": 256}`, the largest of each open size by its name, or a list of capacities, a program for the
    CPU takes any size up to that without compiling again. `codegen` says what makes the machine code of the CPU's
    parts: `numba`, or `llvm`, which is faster to compile, and needs no numba where the program runs.

    Raises `DiagnosticError` for an unknown target, instruction set or emitter, for one that this processor
    lacks, and for what has no compiled form.
    """
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
    running = Running(threads, isa, tuned, progress, compiler.checked_emitter(codegen))
    divided = targets.partitioned(module, names) if set(names) - {HOST} else module
    return targets.compile_parts(divided, function, running)


def load_program(folder: str | PathLike[str]) -> "Program | HybridProgram":
    """The program that `Program.save` wrote, or that of several targets: call it as before.

    Raises `DiagnosticError` where there is none.
    """
    path = path_of(folder).resolve()
    card = checked_program(path)
    return targets.load_parts(path, card) if card.form == PARTS_FORM else compiler.load_checked(path, card)
