"""Values joined of parts that differ much in size: one scale of 8 bits leaves the smaller part few codes.

What is concatenated has one type, and so has what is cut into parts: the hidden state and the cell of a recurrent layer
in one tensor, or the boxes and the scores of a detector. A part that is 16 times smaller than the largest has 16 codes
of 256. In 16 bits it has those of 8 bits and more; a product that reads the part alone rounds it to 8 bits of its own.
"""

from collections.abc import Container, Iterable, Set

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.elementwise import AddOp, MulOp, SubOp
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.groups import Groups
from qmlir.quantization.observed import observed
from qmlir.quantization.residual import computed_operands, is_passed_on
from qmlir.quantization.retyping import is_f32

LARGEST = 16.0
"""The largest ratio of the ranges of two parts that 8 bits hold: half of the bits are left for the smaller one."""

SMALLEST = float(np.finfo(np.float32).tiny)
"""What has a smaller range was 0 throughout, as an empty cache is: zeros are in every type."""


def uneven_values(function: FuncOp, in_float: Container[Operation] = ()) -> Set[SSAValue]:
    """The values of `function` that have one type with a part of themselves that is far smaller or larger, sums of such
    values, and the products of activations that sums add up to such a value.

    What computes `in_float` gives no values one type.
    """
    groups, found = Groups(), list[SSAValue]()
    for op in function.walk():
        if not isinstance(op, Quantizable) or op in in_float:
            continue
        data, results = computed_operands(op), [result for result in op.results if is_f32(result)]
        groups.join_by(op, data, results)
        if op.quantization_slots().shares_parameters and _is_uneven(op, [*data, *results]):
            found += results
    uneven = {member for value in found for member in groups.members(value)}
    for op in function.walk():  # a sum with something else has the parts still
        if uneven and isinstance(op, Quantizable) and is_passed_on(op) and not uneven.isdisjoint(computed_operands(op)):
            uneven.update(*map(groups.members, filter(is_f32, op.results)))
    for op in function.walk():  # and is no finer than the products that it adds: the old and the new part of a cell
        if isinstance(op, AddOp | SubOp) and not uneven.isdisjoint(op.results):
            uneven.update(value for value in computed_operands(op) if isinstance(value.owner, MulOp))
    return uneven


def uneven_results(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose result is among `uneven_values`."""
    return makers(uneven_values(function))


def makers(values: Iterable[SSAValue]) -> set[Operation]:
    """The operations that give `values`."""
    return {value.owner for value in values if isinstance(value.owner, Operation)}


def _is_uneven(op: Quantizable, values: list[SSAValue]) -> bool:
    """Whether the ranges of `values`, which `op` moves, differ by more than `LARGEST`; with a constant, they may."""
    if any(is_f32(operand) and constant_array(operand) is not None for operand in op.operands):
        return False
    sizes = [max(seen.maximum, 0.0) - min(seen.minimum, 0.0) for value in values if (seen := observed(value))]
    held = [size for size in sizes if size > SMALLEST]
    return len(held) > 1 and max(held) > LARGEST * min(held)
