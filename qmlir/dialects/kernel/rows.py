"""Row reductions: one number for a whole row of elements, inside the body that computes one element.

Softmax and row norms are a single `linalg.generic` whose iterators are all parallel. Its body computes one element, and
queries the maximum or the sum of values that it computes for all elements of the row. The body thus
separates the steps that depend on an element from those that depend on its row, and shows which sums may be
reordered.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    DenseArrayBase,
    IntegerType,
    SignlessIntegerConstraint,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import InterpretationError, VerifyException
from xdsl.utils.test_value import create_ssa_value

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.ir.evaluation import RunsRegions, evaluate


class RowReduceOp(IRDLOperation, ABC):
    """Reduces a value of the body over all elements of the current row to one number.

    A row consists of all steps of the iterators `dims`, the last of which varies fastest. All row reductions of a body
    have
    the same row; its numbers are combined one by one, in order.
    """

    T: ClassVar = VarConstraint("T", AnyFloatConstr | SignlessIntegerConstraint)

    value = operand_def(T)
    dims = prop_def(DenseArrayBase[IntegerType])
    result = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$value attr-dict `:` type($value)"
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, dims: Sequence[int]):
        super().__init__(
            operands=[value], properties={"dims": DenseArrayBase.from_list(i64, dims)}, result_types=[value.type]
        )

    @property
    def row(self) -> tuple[int, ...]:
        """The iterators of a row, the last of which varies fastest."""
        return integer_list(self.dims)

    @abstractmethod
    def start(self) -> float:
        """The identity: the result for an empty row."""

    @abstractmethod
    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        """Returns the scalar operation that combines the accumulator with one more number."""

    def verify_(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, GenericOp):
            raise VerifyException("must be in the body of a linalg.generic")
        kinds = [attribute.data for attribute in parent.iterator_types]
        if any(kind is not IteratorType.PARALLEL for kind in kinds) or not all(
            isinstance(value.type, TensorType) for value in parent.outputs
        ):
            raise VerifyException("requires a parent on tensors with parallel iterators only")
        if not self.row or len(set(self.row)) != len(self.row) or not all(0 <= dim < len(kinds) for dim in self.row):
            raise VerifyException(f"row must list distinct iterators out of {len(kinds)}, but got {list(self.row)}")
        first = next(each for each in parent.body.block.ops if isinstance(each, RowReduceOp))
        if first.row != self.row:
            raise VerifyException(
                f"row must be {list(first.row)}, as for the other reductions in this body, but got {list(self.row)}"
            )


@irdl_op_definition
class RowMaxOp(RowReduceOp):
    """Maximum of a row of signed integers, or of floats with the semantics of `arith.maximumf`."""

    name = "kernel.row_max"

    def start(self) -> float:
        integer = as_integer(self.value.type)
        return -math.inf if integer is None else integer_limits(integer.bitwidth)[0]

    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        return (arith.MaximumfOp if isinstance(value.type, AnyFloat) else arith.MaxSIOp)(so_far, value)


@irdl_op_definition
class RowSumOp(RowReduceOp):
    """Sum of a row: integers wrap around; floats are summed in order, unless `reassoc` is set.

    `reassoc` asserts a proof that all orders yield bit-identical sums.
    """

    name = "kernel.row_sum"

    reassoc = opt_prop_def(UnitAttr)

    def start(self) -> float:
        return 0

    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        if not isinstance(value.type, AnyFloat):
            return arith.AddiOp(so_far, value)
        flags = None if self.reassoc is None else arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
        return arith.AddfOp(so_far, value, flags)

    @property
    def is_ordered(self) -> bool:
        """Whether another order of the row may change the result."""
        return isinstance(self.value.type, AnyFloat) and self.reassoc is None

    def verify_(self) -> None:
        super().verify_()
        if self.reassoc is not None and not isinstance(self.value.type, AnyFloat):
            raise VerifyException(f"'reassoc' requires a float, but got '{self.value.type}'")


def row_reductions(op: Operation) -> list[RowReduceOp]:
    """Returns the row reductions in the body of an operation, in order."""
    return [each for region in op.regions for each in region.walk() if isinstance(each, RowReduceOp)]


def _reduced(frame: Any, op: RowReduceOp, value: Any) -> tuple[Any]:
    """Reduces each row; the iterators of the row are axes of the array. Raises `InterpretationError` for single
    elements."""
    steps: tuple[int, ...] = frame.steps
    if not steps:
        raise InterpretationError("reduces a whole row, so it can only be evaluated on whole arrays")
    whole: Array = np.broadcast_to(value, steps)
    rest = [axis for axis in range(len(steps)) if axis not in op.row]
    length = math.prod(steps[axis] for axis in op.row)
    rows = whole.transpose(*op.row, *rest).reshape(length, *(steps[axis] for axis in rest))
    found: Any = np.full(rows.shape[1:], op.start(), whole.dtype)
    combined = op.combined(create_ssa_value(op.value.type), create_ssa_value(op.value.type))
    for numbers in rows:
        (found,) = evaluate(combined, [found, numbers]) or (None,)
    return (np.expand_dims(found, tuple(op.row)),)


EVALUATORS = dict.fromkeys((RowMaxOp, RowSumOp), RunsRegions(_reduced))
