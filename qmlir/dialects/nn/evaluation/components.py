"""Evaluation of quantized composites by their parts, whose types the property `components` holds.

Float composites keep their direct evaluators, because a profiled range does not change any value.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.evaluation.parameters import is_quantized
from qmlir.dialects.nn.evaluation.steps import Watch, of_steps
from qmlir.dialects.nn.recurrent.ops import Layer
from qmlir.dialects.nn.requantize import decompose
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.evaluation import ByOperation, Evaluator, RegionEvaluator, Results, evaluate, operand_groups


def _by_operand(op: NnOp, arguments: tuple[Any, ...]) -> dict[SSAValue, Any]:
    """Returns the value of each operand of `op`."""
    values: dict[SSAValue, Any] = {}
    for (_, _, operands), argument in zip(operand_groups(op), arguments, strict=True):
        each = cast(tuple[Any, ...], argument) if isinstance(argument, tuple) else (argument,)
        values.update(zip(operands, each, strict=False))
    return values


def of_parts(op: NnOp, *arguments: Any, watch: Watch | None = None) -> Results:
    """Evaluates a composite part by part."""
    values = _by_operand(op, arguments)
    if isinstance(op, Layer) and (found := of_steps(op, values, watch)) is not None:
        return found
    parts = Parts(op)
    try:
        results = decompose(op, parts)
        if results is None:
            raise InterpretationError(f"'components' of {op.name} {parts.missing_type()}")
        if parts.is_excerpt:
            return _of_known_sizes(op, values, arguments, watch)
        for role, part in zip(parts.roles, parts.operations, strict=True):
            found = evaluate(part, [values[operand] for operand in part.operands])
            if found is None:
                raise InterpretationError(f"part '{part.name}' of {op.name} cannot be interpreted")
            values.update(zip(part.results, found, strict=True))
            if watch is not None:
                watch(role, part, found)
        return tuple(values[result] for result in results)
    finally:
        parts.discard()


def _of_known_sizes(
    op: NnOp, values: Mapping[SSAValue, Any], arguments: tuple[Any, ...], watch: Watch | None
) -> Results:
    """Evaluates a composite of dynamic length by all its parts, with the actual sizes of the values."""
    is_open = [DYNAMIC_INDEX in shape_of(operand) for operand in op.operands]
    types = [TensorType(cast(Any, element_of(value)), np.shape(values[value])) for value in op.operands]
    stand_ins = iter(Block(arg_types=[type_ for type_, each in zip(types, is_open, strict=True) if each]).args)
    known = type(op).create(
        operands=[next(stand_ins) if each else value for value, each in zip(op.operands, is_open, strict=True)],
        result_types=op.result_types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    try:
        for result, inferred in zip(tuple(known.results), known.infer_result_types(), strict=True):
            type_ = TensorType(cast(Any, element_of(result)), inferred.get_shape())
            Rewriter.replace_value_with_new_type(result, type_)
        return of_parts(known, *arguments, watch=watch)
    finally:
        known.erase(safe_erase=False)


def _or_parts(evaluator: Evaluator) -> ByOperation:
    def choose(op: NnOp) -> Evaluator | RegionEvaluator:
        if op.components is not None and any(is_quantized(value) for value in op.data_operands()):
            return of_parts
        return evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator

    return ByOperation(choose)


def with_components(evaluators: Mapping[type[Operation], Evaluator]) -> dict[type[Operation], Evaluator]:
    """Extends the evaluators of composites: those with typed parts are evaluated part by part."""
    return {operation: _or_parts(evaluator) for operation, evaluator in evaluators.items()}
