"""The parts of a module: functions that were assigned to targets, and each of them as a separate module."""

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from qmlir.ir.diagnostics import text_error, unknown
from qmlir.target import PART


def parts_of(module: ModuleOp) -> dict[str, str]:
    """Returns the target of each part by the name of its function, in module order."""
    return {
        op.sym_name.data: target.data
        for op in module.body.block.ops
        if isinstance(op, FuncOp) and isinstance(target := op.attributes.get(PART), StringAttr)
    }


def part_module(module: ModuleOp, name: str) -> ModuleOp:
    """Returns a module that contains only the part `name`, as a public function.

    Raises `DiagnosticError` if there is no such part.
    """
    alone = ModuleOp([], attributes=dict(module.attributes))
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            part = op.clone()
            part.properties.pop("sym_visibility", None)
            alone.body.block.add_op(part)
            return alone
    names = parts_of(module)
    raise text_error(unknown("part", name, names))
