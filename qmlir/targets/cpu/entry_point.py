"""Selects the entry point of a program: renames the requested function to `main`."""

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from qmlir.ir.signature import MAIN
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of


def as_main(module: ModuleOp, name: str) -> ModuleOp:
    """Renames the function `name` of `module` to `@main` in place, replacing any other `@main`; returns `module`.

    Functions that it doesn't call, directly or indirectly, are erased.
    """
    function = function_of(module, name)
    for op in list(module.ops):
        if op is function or not isinstance(op, FuncOp):
            continue
        if op.sym_name.data == MAIN:
            op.detach()
            op.erase()
        else:
            op.sym_visibility = StringAttr("private")
    function.sym_name, function.sym_visibility = StringAttr(MAIN), None
    return run_pipeline(module, "symbol-dce")
