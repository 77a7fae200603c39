"""The emitter `numba`: Python source, which numba compiles when the package is imported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.targets.cpu.emitters import numba
from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.emitters.constants import constants_of
from qmlir.targets.cpu.emitters.emitter import CodeEmitter
from qmlir.targets.cpu.package import OnKernel, forget, load_package, write_package
from qmlir.targets.cpu.parallel import helper_count
from qmlir.targets.cpu.runtime.machine_code import SOURCE


def _write(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None, card: ProgramCard | None) -> None:
    write_package(folder, numba.emit_module(loops), constants_of(loops), batch, card=card)


def _finish(folder: Path, name: str, on_kernel: OnKernel | None, processes: int) -> None:
    """Compiles the kernels with numba, and saves their machine code in the folder if it can run without numba."""
    source = (folder / SOURCE).read_text(encoding="utf-8")
    package = load_package(folder, name, on_kernel, helper_count(source, processes))
    if numba.write_machine_code(folder, package):
        forget(name)  # every process, including this one, then loads that code


EMITTER = CodeEmitter(_write, _finish, needs=("numba",))
