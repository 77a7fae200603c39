"""A static module of the quantized level taken down to the loops, as every emitter takes it, and its constants."""

from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.memref import GlobalOp

from qmlir.arithmetic.arrays import Array
from qmlir.targets.cpu.target import TARGET
from qmlir.targets.cpu.tuned import UNTUNED, Tuned
from qmlir.targets.lowering import lower_for
from qmlir.text.elements import dense_array


def lowered(module: ModuleOp, isa: str, threads: int = 1, tuned: Tuned = UNTUNED) -> ModuleOp:
    """A clone of a static module of the quantized level (or in float), taken down to the loops for `isa`."""
    return lower_for(TARGET, module, isa=isa, threads=str(threads), tuned=tuned.path)


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """The constants of a module of loops, by the names of its globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found
