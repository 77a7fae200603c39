"""The interpreter as a target, for operations that can't be compiled: fallback nodes, data-dependent result sizes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.traits import ConstantLike

from qmlir import interpreter, targets
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.ir.builtin_types import is_truth, ranked_tensor
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from qmlir.target import INTERPRETER, ExecutionOptions, Runnable, Support, Target


def execute(module: ModuleOp, function: str, running: ExecutionOptions) -> Runnable:
    """Returns a callable that runs `function` in the interpreter.

    A function that consists only of islands and constants runs without the interpreter; its islands are prepared once,
    and its inputs, which come from other parts, are not checked again.
    """
    found = function_of(module, function)
    if not _has_islands_only(found):
        return partial(interpreter.interpret, module, function=function)
    program, names = targets.StaticProgram(module, function), [port.name for port in inputs_of(found)]
    truths = [port.name for port in outputs_of(found) if is_truth(port.type)]

    def run(inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Array]:
        values = program.run([inputs[name] for name in names] if isinstance(inputs, Mapping) else inputs)
        return values | {name: values[name].astype(np.bool_) for name in truths}

    return run


def _has_islands_only(function: FuncOp) -> bool:
    """Returns true if a function consists of islands and constants, and all of its values are ranked tensors."""
    ops = list(function.body.block.ops)
    values = [*function.body.block.args, *(result for op in ops for result in op.results)]
    return all(ranked_tensor(value.type) for value in values) and all(
        isinstance(op, OnnxIslandOp | ReturnOp) or op.has_trait(ConstantLike, value_if_unregistered=False) for op in ops
    )


TARGET = Target(
    INTERPRETER,
    summary="this machine, not compiled: islands of ONNX nodes, and results whose sizes depend on the data",
    supports=(Support("nn.onnx_island"), Support("nn.non_zero"), Support("nn.unique")),
    execute="qmlir.targets.interpreted:execute",
)
"""`compile` adds this target automatically if a module has operations that it supports."""
