"""The function that a program begins with: the one that is asked for takes the name `main`."""

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from qmlir.ir.signature import MAIN
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of


def as_main(module: ModuleOp, name: str) -> ModuleOp:
    """Returns `module` with the function `name` as `@main`, replacing any other `@main`.

    Of the other functions, those that it calls are kept.
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
