"""The evaluators of `func`: calls."""

from typing import Any

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from qmlir.interpreter.interpreter import Frame
from qmlir.ir.evaluation import Evaluator, RegionEvaluator


def _call(frame: Frame, op: CallOp, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return frame.call(op.callee.root_reference.data, arguments)


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {CallOp: RegionEvaluator(_call)}
