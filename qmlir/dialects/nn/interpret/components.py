"""The evaluator of a quantized composite whose property `components` has the types of its parts: those parts.

Float composites keep their own evaluator: a profiled range changes no number.
"""

from collections.abc import Mapping
from typing import Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.interpret.quantized.parameters import is_quantized
from qmlir.dialects.nn.requantize import decompose
from qmlir.ir.decomposition import Parts
from qmlir.ir.evaluation import ByOperation, Evaluator, Results, RunsRegions, evaluate, operand_groups


def _by_operand(op: NnOp, arguments: tuple[Any, ...]) -> dict[SSAValue, Any]:
    """The value of each operand of `op`."""
    values: dict[SSAValue, Any] = {}
    for (_, _, operands), argument in zip(operand_groups(op), arguments, strict=True):
        each = cast(tuple[Any, ...], argument) if isinstance(argument, tuple) else (argument,)
        values.update(zip(operands, each, strict=False))
    return values


def of_parts(op: NnOp, *arguments: Any) -> Results:
    """What the parts of a composite compute."""
    values = _by_operand(op, arguments)
    parts = Parts(op)
    try:
        results = decompose(op, parts)
        if results is None:
            raise InterpretationError(f"the components of {op.name} {parts.missing_type()}")
        for part in parts.operations:
            found = evaluate(part, [values[operand] for operand in part.operands])
            if found is None:
                raise InterpretationError(f"{part.name}, a part of {op.name}, has no evaluator")
            values.update(zip(part.results, found, strict=True))
        return tuple(values[result] for result in results)
    finally:
        parts.discard()


def _or_parts(evaluator: Evaluator) -> ByOperation:
    def choose(op: NnOp) -> Evaluator | RunsRegions:
        if op.components is not None and any(is_quantized(value) for value in op.data_operands()):
            return of_parts
        return evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator

    return ByOperation(choose)


def with_components(evaluators: Mapping[type[Operation], Evaluator]) -> dict[type[Operation], Evaluator]:
    """`evaluators`, with those of composites extended to the types of their parts."""
    return {operation: _or_parts(evaluator) for operation, evaluator in evaluators.items()}
