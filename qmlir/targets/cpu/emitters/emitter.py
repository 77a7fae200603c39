"""Emitters: the generators of machine code for programs that Python calls, one row of `Contribution.emitters` each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.targets.cpu.choices import NUMBA as NUMBA
from qmlir.targets.cpu.choices import emitter_names as emitter_names
from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.package import OnKernel

Write = Callable[[ModuleOp, Path, Mapping[str, Any] | None, ProgramCard | None], None]
Finish = Callable[[Path, str, OnKernel | None, int], None]


def _nothing(folder: Path, name: str, on_kernel: OnKernel | None, processes: int) -> None:
    """Does nothing: the package is complete when it is written."""


@dataclass(frozen=True)
class CodeEmitter:
    """A generator of machine code for modules of loops.

    `write(loops, folder, batch, card)` writes the package of a program into `folder` by calling `write_package`: the
    emitted code, and an `__init__.py` that defines `program`. `finish(folder, name, on_kernel, processes)` then
    compiles the package, under the module name `name`, in at most `processes` processes. Both raise `DiagnosticError`
    if an operation cannot be emitted. `needs` lists the Python packages that the emitter imports.

    Loops contain register tiles, vectors of rank 2 and more; an emitter without them runs `unroll_tiles` first.
    """

    write: Write
    finish: Finish = _nothing
    needs: tuple[str, ...] = ()


def checked_emitter(name: str) -> str:
    """Returns `name` unchanged. Raises `DiagnosticError` if no emitter has this name."""
    if name not in emitter_names():
        raise text_error(unknown("codegen", name, emitter_names()))
    return name


def emitter_named(name: str) -> CodeEmitter:
    """Returns the emitter `name`. Raises `DiagnosticError` if it is unknown, can't load, or needs a missing package."""
    found = registry.named("emitters")[checked_emitter(name)].load(CodeEmitter)
    missing = [each for each in found.needs if find_spec(each) is None]
    if missing:
        raise text_error(f"codegen '{name}' requires the Python package '{missing[0]}', which is not installed")
    return found
