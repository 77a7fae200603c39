"""Outlier channels: the columns over which matrix products with constant weights sum, and the range of each column.

In a transformer, some columns are many times larger than the others: a few columns in the result of a norm, and single
columns in values computed from it, up to the next matrix product. With one scale for all columns, few codes remain for
the smaller columns. Two transformations help: multiplying a column by a factor and dividing its weights by the same
factor, and computing the sum in two parts with separate scales. The ranges of columns are recorded for values that
allow one of these transformations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import BinaryOp, ComparisonOp, UnaryOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import reached
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.quantization.profiles.keys import unobserved, uses_behind_observers
from qmlir.quantization.profiles.statistics import stats_of, was_infinite
from qmlir.quantization.stored_constants import is_table


def weights_of(op: Operation) -> npt.NDArray[np.float32] | None:
    """Returns the constant weights of a matrix product as `[columns, channels]`; `None` for any other operation."""
    if not isinstance(op, MatMulOp):
        return None
    value = unobserved(op.rhs)
    array = constant_array(value)
    if array is None or array.ndim != 2 or array.dtype != np.float32 or is_table(value):  # shared with an embedding
        return None
    return array.T if op.is_rhs_transposed else array


def with_weights(op: MatMulOp, weights: Array) -> ConstantOp:
    """Returns a constant with the elements `weights`, `[columns, channels]`, to replace the weights of `op`.

    It has the provenance of the old constant.
    """
    stored = np.ascontiguousarray(weights.T if op.is_rhs_transposed else weights, np.float32)
    return constant_like(op.rhs, stored)


def constant_like(value: SSAValue, array: Array) -> ConstantOp:
    """Returns a constant with the elements `array` that replaces the constant `value`."""
    owner = unobserved(value).owner
    assert isinstance(owner, ConstantOp)
    made = ConstantOp.of(np.ascontiguousarray(array), TensorType(element_of(owner.result), array.shape))
    made.attributes.update(owner.attributes)
    made.result.name_hint = owner.result.name_hint
    return made


def exchange(op: Operation, position: int, constant: ConstantOp) -> None:
    """Makes `op` read `constant` as operand `position`, and erases the old constant if it becomes unused."""
    old = op.operands[position].owner
    Rewriter.insert_op(constant, InsertPoint.before(op))
    op.operands[position] = constant.result
    erase_unused(old)


def erase_unused(op: Operation | Block) -> None:
    """Erases `op` if it is a constant without uses."""
    if isinstance(op, ConstantOp) and not op.result.uses:
        Rewriter.erase_op(op)


def readers(value: SSAValue) -> list[MatMulOp]:
    """Returns the matrix products with constant weights that sum over the columns of `value`, in order."""
    uses = [use for use in uses_behind_observers(value) if use.index == 0]
    found = {use.operation for use in uses if weights_of(use.operation) is not None}
    blocks = dict.fromkeys(op.parent for op in found)
    return [op for block in blocks if block is not None for op in block.ops if op in found and isinstance(op, MatMulOp)]


def norms_of(function: FuncOp) -> list[Quantizable]:
    """Returns the row norms in `function` whose result a matrix product with constant weights reads."""
    norms = [op for op in function.walk() if isinstance(op, Quantizable) and op.quantization_slots().normalizes_rows]
    return [op for op in norms if readers(op.results[0])]


@dataclass(frozen=True)
class Hidden:
    """Operations that compute hidden columns from one input, and the matrix product that sums over the columns."""

    operations: tuple[NnOp, ...]
    """Matrix products with constant weights, and elementwise operations on their results and constants, in order."""

    last: MatMulOp
    """The matrix product that sums over the columns."""

    @property
    def values(self) -> list[SSAValue]:
        """The results of `operations`, whose last axis is that of the hidden columns."""
        return [op.results[0] for op in self.operations]


def _is_by_column(value: SSAValue, count: int) -> bool:
    """Returns True if `value` is a constant with one element for each column, or one for all."""
    array = constant_array(unobserved(value))
    return array is not None and (array.size == 1 or (array.size == count and array.shape[-1] == count))


def hidden_before(last: MatMulOp) -> Hidden | None:
    """Returns the operations that compute the data of `last`.

    Returns `None` if the result of one of them does not have the columns of the data, or has other users.
    """
    count, block = shape_of(last.lhs)[-1], last.parent
    if count == DYNAMIC_INDEX or block is None:
        return None

    def before(op: Operation | Block) -> Sequence[Operation | Block]:
        if isinstance(op, Block) or weights_of(op) is not None:
            return ()
        return [unobserved(value).owner for value in op.operands if not _is_by_column(value, count)]

    found = set[NnOp]()
    for op in reached([unobserved(last.lhs).owner], before):
        if not isinstance(op, NnOp) or op.parent is not block or shape_of(op.results[0])[-1:] != (count,):
            return None
        if weights_of(op) is None and (not isinstance(op, UnaryOp | BinaryOp) or isinstance(op, ComparisonOp)):
            return None
        found.add(op)
    users = {use.operation for op in found for use in uses_behind_observers(op.results[0])}
    operations = tuple(op for op in block.ops if op in found and isinstance(op, NnOp))
    return Hidden(operations, last) if users <= {*found, last} else None


def hidden_of(function: FuncOp) -> Iterator[Hidden]:
    """Yields the groups of operations in `function` that compute hidden columns from the results of row norms."""
    from_norms = {op for norm in norms_of(function) for op in readers(norm.results[0])}
    for op in function.walk():
        found = hidden_before(op) if isinstance(op, MatMulOp) and weights_of(op) is not None else None
        if found is not None and all(each in from_norms for each in found.operations if isinstance(each, MatMulOp)):
            yield found


def recorded_by_column(function: FuncOp) -> set[SSAValue]:
    """Returns the values of `function` whose columns can be scaled, or split into two groups."""
    found = {norm.results[0] for norm in norms_of(function)}
    found |= {value for hidden in hidden_of(function) for value in hidden.values}
    return {value for value in found if kind_of(element_of(value)) is Kind.FLOAT}


def column_ranges(value: SSAValue) -> tuple[F64, F64] | None:
    """Returns the smallest and largest observed element of each column; `None` if these were not recorded."""
    stats = stats_of(value)
    if stats is None or stats.axis.data != len(shape_of(value)) - 1 or was_infinite(value):
        return None
    return stats.axis_minima, stats.axis_maxima


def range_of(low: F64, high: F64) -> tuple[float, float]:
    """Returns the smallest range that includes 0 and the columns with the minima `low` and maxima `high`."""
    return min(0.0, float(low.min(initial=0.0))), max(0.0, float(high.max(initial=0.0)))


def named(ops: Sequence[Operation]) -> str:
    """Returns the names of `ops` for messages, separated by commas."""
    return ", ".join("+".join(map(str, origins_of(op))) or op.name for op in ops)
