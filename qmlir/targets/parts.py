"""The parts of a module: functions that were assigned to targets, and each of them as a separate module."""

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from qmlir.ir.diagnostics import text_error, unknown
from qmlir.target import PART


def parts_of(module: ModuleOp) -> dict[str, str]:
    """The functions that partition gave to targets: name to target, in the order in which they stand."""
    return {
        op.sym_name.data: target.data
        for op in module.body.block.ops
        if isinstance(op, FuncOp) and isinstance(target := op.attributes.get(PART), StringAttr)
    }


def part_module(module: ModuleOp, name: str) -> ModuleOp:
    """A module that has the part `name` alone, as a function that others may call."""
    alone = ModuleOp([], attributes=dict(module.attributes))
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            part = op.clone()
            part.properties.pop("sym_visibility", None)
            alone.body.block.add_op(part)
            return alone
    names = parts_of(module)
    raise text_error(unknown("part", name, names))
