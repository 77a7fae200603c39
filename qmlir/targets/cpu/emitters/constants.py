"""The constants of a module of loops, as arrays for the package of its program."""

from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.memref import GlobalOp

from qmlir.arithmetic.arrays import Array
from qmlir.text.elements import dense_array


def constants_of(module: ModuleOp) -> dict[str, Array]:
    """Returns the constants of a module of loops by the names of their globals."""
    found: dict[str, Array] = {}
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            found[op.sym_name.data] = dense_array(cast(DenseIntOrFPElementsAttr[Any], op.initial_value))
    return found
