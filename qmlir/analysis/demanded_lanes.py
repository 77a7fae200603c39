"""Demanded lanes: the lanes of a vector that reach memory, a scalar or another block.

A row whose length isn't a multiple of the vector length ends in a partial vector. A load returns 0 in its excess lanes,
even if no element of the row can be 0: a quotient there may be NaN, which has no integer value. Compiled code computes
these lanes and never stores them. Like poison in LLVM, they are harmless unless they are observed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.vector import FMAOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.dialects.simd.base import as_vector, lanes_of
from qmlir.dialects.simd.lanes import CompareOp, ConvertOp, NarrowOp, RoundToIntOp, SelectOp
from qmlir.dialects.simd.memory import StorePartialOp

Lanes = npt.NDArray[np.bool_]

_DIALECTS = frozenset({"arith", "math"})
"""Dialects in which all operations are lane-wise."""
_OPERATIONS = (FMAOp, CompareOp, ConvertOp, RoundToIntOp, SelectOp)
"""Further lane-wise operations, as long as they keep the number of lanes (a `bitcast` may not)."""


def _lanes(value: SSAValue) -> int | None:
    """Returns the number of lanes of a 1-D vector, or `None` for any other type."""
    type_ = as_vector(value.type)
    return type_.get_shape()[0] if type_ is not None and type_.get_num_dims() == 1 else None


def _is_lanewise(op: Operation) -> bool:
    """Returns True if each lane of the only result depends on the same lane of the operands, all 1-D vectors."""
    sizes = {_lanes(value) for value in (*op.operands, *op.results)}
    is_known = op.dialect_name() in _DIALECTS or isinstance(op, _OPERATIONS)
    return is_known and len(op.results) == 1 and len(sizes) == 1 and None not in sizes


def _observed_by(user: Operation, place: int, known: Mapping[SSAValue, Lanes]) -> Lanes | bool:
    """Returns the lanes of the operand at `place` that `user` observes or passes on to observed lanes."""
    match user:
        case StorePartialOp():
            count = ConstantLike.get_constant_value(user.count)
            return not isinstance(count, IntegerAttr) or np.arange(lanes_of(user.vector)) < count.value.data
        case NarrowOp():
            ends = np.cumsum([lanes_of(value) for value in user.values])
            return np.split(known[user.result], ends[:-1])[place]
        case _:
            return not _is_lanewise(user) or known[user.results[0]]


def _from(op: Operation) -> Iterator[Operation]:
    """Yields `op` and the operations after it in its block."""
    each: Operation | None = op
    while each is not None:
        yield each
        each = each.next_op


def _observed_lanes(op: Operation, block: Block) -> Lanes:
    """Returns the observed lanes of the result of `op`, by a backward walk from the end of its block."""
    known: dict[SSAValue, Lanes] = {}
    for each in reversed(list(_from(op))):
        for value in each.results:
            if (lanes := _lanes(value)) is None:
                continue
            known[value] = np.zeros(lanes, np.bool_)
            for use in value.uses:
                user = use.operation
                known[value] |= user.parent is not block or _observed_by(user, use.index, known)
    return known[op.results[0]]


def with_observed_lanes(op: Operation, operands: Sequence[Any]) -> list[Any] | None:
    """Returns `operands` with the lanes that are not observed replaced by an observed lane.

    Returns `None` if `op` isn't lane-wise, if all of its lanes are observed, or if none is.
    """
    if op.parent is None or not _is_lanewise(op):
        return None
    observed = _observed_lanes(op, op.parent)
    if observed.all() or not observed.any():
        return None
    return [np.where(observed, value, value[observed.argmax()]) for value in operands]
