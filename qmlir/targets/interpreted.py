"""The target of what has no compiled form: islands of ONNX nodes, and results whose sizes depend on the data."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir import interpreter
from qmlir.arithmetic.arrays import Array
from qmlir.target import INTERPRETER, Running, Support, Target


def execute(
    module: ModuleOp, function: str, running: Running
) -> Callable[[Mapping[str, Any] | Sequence[Any]], Mapping[str, Array]]:
    """The interpreter on `function`."""
    return partial(interpreter.interpret, module, function=function)


TARGET = Target(
    INTERPRETER,
    summary="this machine, not compiled: islands of ONNX nodes, and results whose sizes depend on the data",
    supports=(Support("nn.onnx_island"), Support("nn.non_zero"), Support("nn.unique")),
    execute="qmlir.targets.interpreted:execute",
)
"""It takes part by itself where a module has operations for it: see `compile`."""
