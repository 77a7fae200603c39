"""Reductions of a row: one number for a whole row of elements, inside the body that computes one element.

Softmax and the normalizations of a row are one `linalg.generic` whose iterators are all parallel. Its body computes one
element, and asks for the largest number, or for the sum, of what it has computed for all elements of the same row. So
one body says which steps depend on an element and which on its row alone, and which sums have no order to keep.
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
    """One number made of a value of the body, for all elements of the row that the element belongs to.

    A row is all steps of the iterators `dims`, the last of which runs fastest. The operations of one body have the same
    row; the numbers of the row are combined one by one, in its order.
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
        """The iterators of a row, the last of which runs fastest."""
        return integer_list(self.dims)

    @abstractmethod
    def start(self) -> float:
        """The number of a row without elements."""

    @abstractmethod
    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        """The operation on scalars that takes one more number of the row."""

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
    """The largest number of a row: of signed integers, or of floats, as `arith.maximumf`."""

    name = "kernel.row_max"

    def start(self) -> float:
        integer = as_integer(self.value.type)
        return -math.inf if integer is None else integer_limits(integer.bitwidth)[0]

    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        return (arith.MaximumfOp if isinstance(value.type, AnyFloat) else arith.MaxSIOp)(so_far, value)


@irdl_op_definition
class RowSumOp(RowReduceOp):
    """The sum of a row from 0 on: integers wrapped; floats in order, unless each order is proven to give the same bits.

    `reassoc` says that it is.
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
        """Whether another order of the row may give other bits."""
        return isinstance(self.value.type, AnyFloat) and self.reassoc is None

    def verify_(self) -> None:
        super().verify_()
        if self.reassoc is not None and not isinstance(self.value.type, AnyFloat):
            raise VerifyException(f"'reassoc' requires a float, but got '{self.value.type}'")


def row_reductions(op: Operation) -> list[RowReduceOp]:
    """The reductions of a row in the body of an operation, in their order."""
    return [each for region in op.regions for each in region.walk() if isinstance(each, RowReduceOp)]


def _reduced(frame: Any, op: RowReduceOp, value: Any) -> tuple[Any]:
    """The number of each row, the iterators of the row being axes of one element. Raises for anything but arrays."""
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
