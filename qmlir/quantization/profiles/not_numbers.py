"""Values that may be NaN because the model chooses, joins or moves a constant with NaN: "no value" of a mask.

Such values are not profiled, and stay in float. NaN that appears in any other value is an error of the model or its
data, and profiling reports it.
"""

from collections.abc import Set

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.elementwise import WhereOp
from qmlir.dialects.nn.ops.logic import IsNaNOp, NotOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.interfaces import Quantizable


def _has_nan(value: SSAValue) -> bool:
    array = constant_array(value)
    return array is not None and array.dtype.kind not in "iub" and bool(np.isnan(array).any())


def _moves(op: Operation) -> bool:
    return isinstance(op, Quantizable) and op.quantization_slots().shares_parameters


def _replaces_nan(op: Operation, value: SSAValue) -> bool:
    """Return `True` if `op` is `where(isnan(value), other, value)`, or the same with the condition negated."""
    if not isinstance(op, WhereOp):
        return False
    condition, kept = op.condition.owner, op.rhs
    if isinstance(condition, NotOp):
        condition, kept = condition.operands[0].owner, op.lhs
    return kept is value and isinstance(condition, IsNaNOp) and condition.input is value


def values_with_nan(module: ModuleOp) -> Set[SSAValue]:
    """The values that a constant with NaN may reach, but not through a choice that replaces NaN."""
    waiting: list[SSAValue] = [
        result
        for op in module.walk()
        if _moves(op) and any(_has_nan(operand) for operand in op.operands)
        for result in op.results
    ]
    found: set[SSAValue] = set()
    while waiting:
        value = waiting.pop()
        type_ = ranked_tensor(value.type)
        if value in found or type_ is None or kind_of(type_.get_element_type()) is not Kind.FLOAT:
            continue
        found.add(value)
        for use in value.uses:
            op = use.operation
            if _replaces_nan(op, value) or isinstance(op, CallOp | ReturnOp):
                continue
            outer = op.parent_op() if op.has_trait(IsTerminator, value_if_unregistered=False) else None
            for each in (op, outer) if outer is not None else (op,):
                waiting.extend(each.results)
                waiting.extend(
                    argument for region in each.regions for block in region.blocks for argument in block.args
                )
    return found
