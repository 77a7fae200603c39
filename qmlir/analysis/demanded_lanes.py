"""Which lanes of a vector are observed: they reach memory, a scalar, or another block.

A row that is not a whole number of vectors ends in a partial one. Behind its end a load gives 0, whatever the elements
of the row exclude: a quotient there may be NaN, which is not an integer. Compiled code computes such lanes and stores
none of them. They are poison as LLVM has it, and harm nothing unless they are observed.
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
"""All of their operations compute lane by lane."""
_OPERATIONS = (FMAOp, CompareOp, ConvertOp, RoundToIntOp, SelectOp)
"""These do, too, where no lane is divided (`bitcast`)."""


def _lanes(value: SSAValue) -> int | None:
    """The number of lanes of a vector of one axis, `None` for anything else."""
    type_ = as_vector(value.type)
    return type_.get_shape()[0] if type_ is not None and type_.get_num_dims() == 1 else None


def _is_lanewise(op: Operation) -> bool:
    """Whether each lane of the one result comes from that lane of the operands, vectors of one axis."""
    sizes = {_lanes(value) for value in (*op.operands, *op.results)}
    is_known = op.dialect_name() in _DIALECTS or isinstance(op, _OPERATIONS)
    return is_known and len(op.results) == 1 and len(sizes) == 1 and None not in sizes


def _observed_by(user: Operation, place: int, known: Mapping[SSAValue, Lanes]) -> Lanes | bool:
    """The lanes of the operand at `place` that `user` observes, or makes observed ones of."""
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
    """`op` and what follows in its block."""
    each: Operation | None = op
    while each is not None:
        yield each
        each = each.next_op


def _observed_lanes(op: Operation, block: Block) -> Lanes:
    """The lanes of the result of `op` that are observed: from the end of its block back to it."""
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
    """`operands` with what an observed lane has in the others, where these cannot change what the run gives.

    `None` where every lane is observed, or none.
    """
    if op.parent is None or not _is_lanewise(op):
        return None
    observed = _observed_lanes(op, op.parent)
    if observed.all() or not observed.any():
        return None
    return [np.where(observed, value, value[observed.argmax()]) for value in operands]
