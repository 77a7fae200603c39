"""Values joined of parts that differ much in size: one scale of 8 bits leaves the smaller part few codes.

What is concatenated has one type, and so has what is cut into parts: the hidden state and the cell of a recurrent layer
in one tensor, or the boxes and the scores of a detector. A part that is 16 times smaller than the largest has 16 codes
of 256. In 16 bits it has those of 8 bits and more; a product that reads the part alone rounds it to 8 bits of its own.

A dense block joins a joined value again, layer after layer, so that its first part may be far smaller than the last one
though each joined pair differs little. This matters if a constant multiplies the channels of the whole to equal sizes,
as the normalization behind the join does.
"""

from collections.abc import Container, Iterable, Iterator, Set

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.elementwise import AddOp, MulOp, SubOp
from qmlir.dialects.nn.ops.movement import ConcatOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.groups import Groups, width
from qmlir.quantization.observed import observed_range
from qmlir.quantization.residual import computed_operands, is_passed_on
from qmlir.quantization.retyping import is_f32

LARGEST = 16.0
"""The largest ratio of the ranges of two parts that 8 bits hold: half of the bits are left for the smaller one."""

MATTERS = 1 / 4
"""A part of the size of the largest one, or of this share of it, after a constant has multiplied them, is needed."""

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
        if isinstance(op, MulOp) and len(data) == 1 and _levels_parts(op, data[0]):
            found += data
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
    sizes = [max(ends[1], 0.0) - min(ends[0], 0.0) for value in values if (ends := observed_range(value))]
    held = [size for size in sizes if size > SMALLEST]
    return len(held) > 1 and max(held) > LARGEST * min(held)


def _levels_parts(op: MulOp, joined: SSAValue) -> bool:
    """Whether the constant of `op` makes parts of `joined` alike of which one is far smaller than the whole."""
    if not isinstance(join := joined.owner, ConcatOp) or observed_range(joined) is None:
        return False
    factors = next(array for value in op.operands if (array := constant_array(value)) is not None)
    shape, axis = shape_of(joined), join.axis.value.data % len(shape_of(joined))
    factors = np.abs(factors.reshape(*(1,) * (len(shape) - factors.ndim), *factors.shape))
    if factors.ndim != len(shape) or factors.shape[axis] != shape[axis]:
        return False
    by_channel = np.moveaxis(factors, axis, 0).reshape(shape[axis], -1).mean(1)
    parts = list(_leaves(joined, axis))
    if min(size for size, _ in parts) < 0:
        return False
    factors_of_parts = np.split(by_channel, np.cumsum([size for size, _ in parts])[:-1])
    sizes = [(reach, reach * own.mean()) for (_, reach), own in zip(parts, factors_of_parts, strict=True) if own.size]
    held = [(before, after) for before, after in sizes if before > SMALLEST]
    largest, needed = (max((each[at] for each in held), default=0.0) for at in (0, 1))
    return any(before * LARGEST < largest and after >= MATTERS * needed for before, after in held)


def _leaves(value: SSAValue, axis: int) -> Iterator[tuple[int, float]]:
    """The size along `axis` and the range of each part that `value` was joined of, also step by step."""
    open_ = [value]
    while open_:
        part = open_.pop()
        size, join = shape_of(part)[axis], part.owner
        if size and isinstance(join, ConcatOp) and join.axis.value.data % len(shape_of(part)) == axis:
            open_.extend(reversed(join.inputs))
        else:
            yield size, width([part])
