"""The interpreter as a target, for operations that can't be compiled: fallback nodes, data-dependent result sizes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.traits import ConstantLike

from qmlir import interpreter, registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.island.ops import TABLE, OnnxIslandOp
from qmlir.ir.builtin_types import is_truth, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.evaluation import evaluate, not_computed
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from qmlir.target import INTERPRETER, ExecutionOptions, Runnable, Support, Target


def execute(module: ModuleOp, function: str, running: ExecutionOptions) -> Runnable:
    """Returns a callable that runs `function` in the interpreter.

    A function that consists only of islands and constants runs without the interpreter; its islands are prepared once.
    """
    found = function_of(module, function)
    islands = _Islands.of(found)
    return partial(interpreter.interpret, module, function=function) if islands is None else islands


class _Islands:
    """Runs a function that consists of islands and constants; inputs from other parts are not checked again."""

    def __init__(self, function: FuncOp) -> None:
        self._positions: dict[SSAValue, int] = {}
        self._values: list[Any] = []
        self._names = [port.name for port in inputs_of(function)]
        for argument in function.body.block.args:
            self._position(argument, None)
        self._steps: list[tuple[OnnxIslandOp, list[int], list[int], Callable[[Sequence[Any]], Sequence[Any]]]] = []
        for op in function.body.block.ops:
            if isinstance(op, OnnxIslandOp):
                operands = [self._positions[value] for value in op.operands]
                run = registry.table(TABLE)["prepare"](op)
                self._steps.append((op, operands, [self._position(value, None) for value in op.results], run))
            elif not isinstance(op, ReturnOp):
                for value, known in zip(op.results, evaluate(op, []) or (), strict=True):
                    self._position(value, known)
        returned = function.body.block.last_op
        operands = () if returned is None else returned.operands
        self._outputs = [
            (port.name, self._positions[value], is_truth(value.type))
            for port, value in zip(outputs_of(function), operands, strict=True)
        ]

    @staticmethod
    def of(function: FuncOp) -> "_Islands | None":
        """Returns the runner of `function`; `None` if it has other operations, or values that aren't ranked tensors."""
        ops = list(function.body.block.ops)
        is_all = all(
            isinstance(op, OnnxIslandOp | ReturnOp) or op.has_trait(ConstantLike, value_if_unregistered=False)
            for op in ops
        )
        values = [*function.body.block.args, *(result for op in ops for result in op.results)]
        return _Islands(function) if is_all and all(ranked_tensor(value.type) for value in values) else None

    def _position(self, value: SSAValue, known: Any) -> int:
        self._values.append(known)
        return self._positions.setdefault(value, len(self._positions))

    def __call__(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Array]:
        values = self._values.copy()
        values[: len(self._names)] = [inputs[name] for name in self._names] if isinstance(inputs, Mapping) else inputs
        for op, operands, results, run in self._steps:
            try:
                found = run([values[position] for position in operands])
            except DiagnosticError:
                raise
            except Exception as error:
                raise not_computed(op, error) from error
            for position, value in zip(results, found, strict=True):
                values[position] = value
        return {
            name: values[position].astype(np.bool_) if is_truth else values[position]
            for name, position, is_truth in self._outputs
        }


TARGET = Target(
    INTERPRETER,
    summary="this machine, not compiled: islands of ONNX nodes, and results whose sizes depend on the data",
    supports=(Support("nn.onnx_island"), Support("nn.non_zero"), Support("nn.unique")),
    execute="qmlir.targets.interpreted:execute",
)
"""`compile` adds this target automatically if a module has operations that it supports."""
