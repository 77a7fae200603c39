"""From a static module to the package of its program: lowered to loops, emitted as Python, with its constants.

`compiler` imports this when a program is not in the cache: a program that is there starts without it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.memref import GlobalOp

from qmlir.arithmetic.arrays import Array
from qmlir.targets.cpu.any_batch import batch_plan
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.package import write_package
from qmlir.targets.cpu.target import TARGET
from qmlir.targets.cpu.tuned import UNTUNED, Tuned
from qmlir.targets.lowering import lower_for
from qmlir.text.elements import dense_array


def lowered(module: ModuleOp, isa: str, threads: int = 1, tuned: Tuned = UNTUNED) -> ModuleOp:
    """A clone of a static module of the quantized level (or in float), taken down to the loops for `isa`."""
    return lower_for(TARGET, module, isa=isa, threads=str(threads), tuned=tuned.option)


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """The constants of a module of loops, by the names of its globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found


def write_program(module: ModuleOp, isa: str, threads: int, folder: Path, tuned: Tuned = UNTUNED) -> str:
    """Lower a static module and write its package into `folder`; the source of its kernels."""
    return write_loops(lowered(module, isa, threads, tuned), folder, vars(batch_plan(module, threads)))


def write_loops(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None = None) -> str:
    """Write the package of a module of loops into `folder`; the source of its kernels."""
    source = emit_module(loops)
    write_package(folder, source, constants_of(loops), batch)
    return source
