"""The emitter `numba`: Python source, which numba compiles when the package is imported.

The objects that numba compiled are saved in one file. numba's cache contains them together with data for typing and
inlining; the file contains only executable code. Nothing is saved if numba was configured for a CPU other than that of
this machine or the environment.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import compileall
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
from xdsl.dialects.builtin import ModuleOp

from qmlir.targets.cpu.emitters import numba
from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.emitters.emitter import CodeEmitter
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.package import OnKernel, forget, helper_count, load_package, write_package
from qmlir.targets.cpu.runtime import team_code
from qmlir.targets.cpu.runtime.machine_code import FACTS, FILE, SOURCE, digest_of, feature_text, processor_name, written


def _needs(bitcode: bytes) -> set[str]:
    """Returns the functions that a module calls but does not define, except LLVM's intrinsics."""
    functions = llvm.parse_bitcode(bitcode).functions
    return {each.name for each in functions if each.is_declaration and not each.name.startswith("llvm.")}


def write_machine_code(folder: Path, package: ModuleType) -> bool:
    """Writes the machine code that numba has just compiled for `package` to a file in `folder`, if possible.

    Programs with custom kernels are left to numba's cache: they may need numba's library, and may change without the
    emitted module.
    """
    compileall.compile_dir(folder, quiet=1)  # so that later imports don't change the folder
    emitted: Any = import_module(".kernels", package.__name__)
    functions = [each for each in vars(emitted).values() if hasattr(each, "py_func") and hasattr(each, "address")]
    by_address: dict[int, Any] = {each.address: each for each in functions}
    kernels = [by_address[int(address)] for address in emitted.KERNELS]
    if any(each.is_by_hand for each in kernels):
        return False
    cached: Any = import_module(".runtime.operations.fast", package.__name__).cached_object
    objects = [cached(each.compiled, processor_name(), feature_text()) for each in kernels]
    if None in objects:
        return False
    symbols, data = [each.symbol for each in objects], [each.data for each in objects]
    own, needs = {*symbols}, set[str]().union(*(_needs(each.bitcode) for each in objects))
    team: Any = getattr(emitted, "TEAM", None)
    if team is not None:
        data.append(team_code.team_object())
        own |= {team_code.shared_symbol(name) for name in team_code.team_names()}
        needs |= {team_code.OTHERS}
    symbols_of_team = [team_code.LEAD_SYMBOL, team_code.SERVE_SYMBOL]
    header: dict[str, Any] = {
        **{name: getattr(emitted, name) for name in FACTS},
        "kernels": symbols,
        "steps": kernels[-1].arguments,
        "team": None if team is None else {"threads": team.threads, "symbols": symbols_of_team},
        "needs": sorted(needs - own),
    }
    (folder / FILE).write_bytes(written(header, digest_of((folder / SOURCE).read_bytes()), data))
    return True


def _write(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None, card: ProgramCard | None) -> None:
    write_package(folder, numba.emit_module(loops), constants_of(loops), batch, card=card)


def _finish(folder: Path, name: str, on_kernel: OnKernel | None, processes: int) -> None:
    """Compiles the kernels with numba, and saves their machine code in the folder if it can run without numba."""
    source = (folder / SOURCE).read_text(encoding="utf-8")
    package = load_package(folder, name, on_kernel, helper_count(source, processes))
    if write_machine_code(folder, package):
        forget(name)  # every process, including this one, then loads that code


EMITTER = CodeEmitter(_write, _finish, needs=("numba",))
