"""From a static module to the package of its program by numba: lowered to loops, emitted as Python, with its constants.

`compiler` imports this when a program is not in the cache: a program that is there starts without it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.fingerprint import fingerprint
from qmlir.ir.signature import MAIN
from qmlir.targets.cpu.any_batch import batch_plan
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM, ProgramCard, card_of
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import host_text
from qmlir.targets.cpu.lowered import constants_of, lowered
from qmlir.targets.cpu.package import write_package
from qmlir.targets.cpu.tuned import UNTUNED, Tuned


def write_program(module: ModuleOp, isa: str, threads: int, folder: Path, tuned: Tuned = UNTUNED) -> str:
    """Lower a static module and write its package into `folder`; the source of its kernels."""
    loops = lowered(module, isa, threads, tuned)
    card = card_of(program_of(loops), MAIN, PROGRAM_FORM, "numba", host_text(), fingerprint(module), threads)
    return write_loops(loops, folder, vars(batch_plan(module, threads)), card)


def write_loops(
    loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None = None, card: ProgramCard | None = None
) -> str:
    """Write the package of a module of loops into `folder`; the source of its kernels."""
    source = emit_module(loops)
    write_package(folder, source, constants_of(loops), batch, card=card)
    return source
