"""Builders for rewrites: insertion of operations with provenance, and formulas written with Python operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, Operand, build, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.text.elements import dense_dtype

NnOpT = TypeVar("NnOpT", bound=NnOp)
OperationT = TypeVar("OperationT", bound=Operation)


@dataclass(frozen=True)
class InsertionBuilder:
    """An insertion point for operations that replace or extend `op`, with the origins of `op` in the role `ROLE`."""

    ROLE: ClassVar[str] = ""

    op: Operation
    insert: Callable[[Operation], object]

    def error(self, message: str) -> DiagnosticError:
        """Returns an error that names the operation, for the caller to raise."""
        return op_error(self.op, message)

    def append(self, op: OperationT) -> OperationT:
        """Inserts an operation of any dialect, and returns it."""
        origins = origins_of(self.op)
        set_origins(op, (origin.within(self.ROLE) for origin in origins) if self.ROLE else origins)
        self.insert(op)
        return op

    def add(
        self,
        operation: type[NnOpT],
        *operands: Operand,
        result_types: Sequence[AnyTensor] | None = None,
        results: int = 1,
        **properties: Any,
    ) -> NnOpT:
        """Builds and inserts an operation of `nn`; see `build`."""
        try:
            return self.append(build(operation, operands, properties, result_types=result_types, results=results))
        except VerifyException as error:
            raise self.error(
                f"cannot build the '{operation.name}' that it needs: {' '.join(str(error).split())}"
            ) from error

    # Constants

    def constant(self, array: Any, like: SSAValue) -> SSAValue:
        """Returns a constant with the plain element type of `like`."""
        element: Attribute = plain_type(element_of(like))
        held: Array = np.ascontiguousarray(np.asarray(array, dense_dtype(element)))
        return self.append(ConstantOp.of(held.reshape(np.shape(array)), TensorType(element, np.shape(array)))).result

    def filled(self, number: float, like: SSAValue) -> SSAValue:
        """Returns a tensor with the shape and plain element type of `like`, filled with `number`."""
        return self.expanded(self.constant(number, like), like)

    # Shapes

    def known_shape(self, value: SSAValue) -> tuple[int, ...]:
        """Returns the static shape of `value`. Raises `DiagnosticError` if a size is dynamic."""
        sizes = shape_of(value)
        if DYNAMIC_INDEX in sizes:
            raise self.error(f"'{value.type}' has dynamic dimensions; fix the input shapes with --shape")
        return sizes

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Reshapes `value` to a static shape."""
        return self.add(movement.ReshapeOp, value, result_types=[TensorType(element_of(value), shape)]).result

    def reshaped_as(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """Reshapes `value` to the shape of `like`."""
        sizes = shape_of(like)
        shape = self.add(shapes.ShapeOp, like).result if sizes.count(DYNAMIC_INDEX) > 1 else None
        type_: AnyTensor = TensorType(element_of(value), sizes)
        return self.add(movement.ReshapeOp, value, shape, result_types=[type_], allow_zero=True).result

    def transposed(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Permutes the axes of `value`."""
        if tuple(permutation) == tuple(range(len(permutation))):
            return value
        return self.add(movement.TransposeOp, value, permutation=list(permutation)).result

    def restored(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Transposes `value` by the inverse of `permutation`, which undoes `transposed`."""
        return self.transposed(value, [int(axis) for axis in np.argsort(permutation)])

    def unsqueezed(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Inserts axes of size 1, which have these indices in the result."""
        return self.add(movement.UnsqueezeOp, value, axes=list(axes)).result if axes else value

    def squeezed(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Removes the given axes of size 1."""
        return self.add(movement.SqueezeOp, value, axes=list(axes)).result if axes else value

    def expanded(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """Broadcasts `value` to the shape of `like`."""
        sizes = shape_of(like)
        if DYNAMIC_INDEX not in sizes:
            return self.expanded_to(value, sizes)
        shape = self.add(shapes.ShapeOp, like).result
        type_: AnyTensor = TensorType(element_of(value), sizes)
        return self.add(shapes.ExpandOp, value, shape=shape, result_types=[type_]).result

    def expanded_to(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Broadcasts `value` to a static shape."""
        return value if shape_of(value) == tuple(sizes) else self.add(shapes.ExpandOp, value, shape=sizes).result

    def sliced(self, value: SSAValue, axis: int, start: int, end: int, step: int = 1) -> SSAValue:
        """Returns the elements from `start` up to, but not including, `end` along one axis."""
        return self.add(movement.SliceOp, value, starts=[start], ends=[end], axes=[axis], steps=[step]).result

    def padded(self, value: SSAValue, axis: int, before: int, after: int) -> SSAValue:
        """Pads `value` with zeros before and after one axis; negative numbers remove elements instead."""
        if not before and not after:
            return value
        return self.add(shapes.PadOp, value, pads=[before, after], axes=[axis]).result

    # Sums

    def sum(self, value: SSAValue, axes: Sequence[int], keep_dims: bool = False) -> SSAValue:
        """Sums `value` along `axes`."""
        if not axes:
            return value
        return self.add(reduction.ReduceSumOp, value, axes=list(axes), keep_dims=keep_dims).result


@dataclass(frozen=True, eq=False)
class Expr:
    """A value in a formula, with Python operators; a number as operand becomes a constant of the value's type."""

    at: InsertionBuilder
    value: SSAValue

    def apply(self, operation: type[NnOp], *others: Expr | float) -> Expr:
        """Applies an operation of `nn` to this value and others, and returns the result."""
        values = [self._like(other).value for other in others]
        return Expr(self.at, self.at.add(operation, self.value, *values).results[0])

    def _flipped(self, operation: type[NnOp], left: float) -> Expr:
        return self._like(left).apply(operation, self)

    def __add__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.AddOp, other)

    def __radd__(self, other: float) -> Expr:
        return self + other

    def __sub__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.SubOp, other)

    def __rsub__(self, other: float) -> Expr:
        return self._flipped(elementwise.SubOp, other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.MulOp, other)

    def __rmul__(self, other: float) -> Expr:
        return self * other

    def __truediv__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.DivOp, other)

    def __rtruediv__(self, other: float) -> Expr:
        return self._flipped(elementwise.DivOp, other)

    def __pow__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.PowOp, other)

    def __neg__(self) -> Expr:
        return self.apply(elementwise.NegOp)

    def __abs__(self) -> Expr:
        return self.apply(elementwise.AbsOp)

    def __gt__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.GreaterOp, other)

    def __ge__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.GreaterOrEqualOp, other)

    def __lt__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.LessOp, other)

    def __le__(self, other: Expr | float) -> Expr:
        return self.apply(elementwise.LessOrEqualOp, other)

    def equals(self, other: Expr | float) -> Expr:
        """Compares elements for equality; the result has the element type i1."""
        return self.apply(elementwise.EqualOp, other)

    def where(self, condition: Expr, otherwise: Expr | float = 0.0) -> Expr:
        """Returns this value where the condition is true, and `otherwise` elsewhere."""
        return self._either(condition, self, self._like(otherwise))

    def unless(self, condition: Expr, otherwise: Expr | float = 0.0) -> Expr:
        """Returns `otherwise` where the condition is true, and this value elsewhere."""
        return self._either(condition, self._like(otherwise), self)

    def _like(self, other: Expr | float) -> Expr:
        return other if isinstance(other, Expr) else Expr(self.at, self.at.constant(other, self.value))

    def _either(self, condition: Expr, chosen: Expr, otherwise: Expr) -> Expr:
        op = self.at.add(elementwise.WhereOp, condition.value, chosen.value, otherwise.value)
        return Expr(self.at, op.result)
