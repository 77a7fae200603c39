"""Matchers for the different ways in which models spell a function: polynomials, products, row sums and means, roots.

Exporters write one function in many ways: a square as a product or a power, a quotient as a product with a reciprocal,
a reduction that keeps its axes, or a reduction that drops them and is followed by a reshape. Each matcher accepts all
of these spellings. Their results are equal over the real numbers; for floats, they are equal up to rounding.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type
from xdsl.ir import Operation, OpResult, SSAValue

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    ClipOp,
    DivOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    PowOp,
    ReciprocalOp,
    SqrtOp,
    SubOp,
)
from qmlir.dialects.nn.movement.ops import AxesOp, ReshapeOp, normalized_axis
from qmlir.dialects.nn.raising.unification import constant_of
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp, ReduceOp, ReduceSumOp, ReduceSumSquareOp
from qmlir.dialects.nn.shapes.ops import ExpandOp
from qmlir.ir.builtin_types import element_of, shape_of

TOLERANCE = 4e-7
"""The relative tolerance within which two constants denote the same number: f32 rounding, sometimes applied twice."""

_LARGEST_NUMBER = 4096
"""The maximum size of a constant that is checked for a single repeated number."""


def defining_op(value: SSAValue) -> Operation | None:
    """Returns the operation that defines `value`; `None` for a block argument."""
    return value.op if isinstance(value, OpResult) else None


def above(root: Operation, most: int) -> list[Operation]:
    """Returns `root` and the operations that compute it, at most `most` of them, in breadth-first order.

    Constants are also returned, but do not count towards `most`.
    """
    found = [root]
    left = most - 1
    for each in found:
        for operand in each.operands:
            owner = defining_op(operand)
            is_counted = constant_of(operand) is None
            if owner is not None and owner not in found and (left > 0 or not is_counted):
                found.append(owner)
                left -= is_counted
    return found


def is_close(number: float, wanted: float) -> bool:
    """Returns whether a constant equals `wanted` up to `TOLERANCE`."""
    return math.isclose(number, wanted, rel_tol=TOLERANCE)


def number(value: SSAValue) -> float | None:
    """Returns the number in an f32 constant whose elements are all equal; `None` for any other value."""
    constant = constant_of(value)
    if constant is None or not isinstance(element_of(value), Float32Type):
        return None
    array = constant.array
    if not 0 < array.size <= _LARGEST_NUMBER or (array != array.flat[0]).any():
        return None
    return float(array.flat[0])


def _with_number(op: Operation) -> tuple[SSAValue, float] | None:
    """Returns the other operand of a commutative operation with a number, and the number."""
    for value, other in (op.operands, op.operands[::-1]):
        if (found := number(other)) is not None:
            return value, found
    return None


# --- Functions of one value -------------------------------------------------------------------------------------------

Polynomial = Mapping[tuple[int, ...], float]
"""A polynomial: maps the exponents of the variables in each term to the coefficient of that term."""

_DEGREE = 4


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    found: dict[tuple[int, ...], float] = {}
    for powers, factor in left.items():
        for others, other in right.items():
            key = tuple(map(sum, zip(powers, others, strict=True)))
            found[key] = found.get(key, 0.0) + factor * other
    return found


def polynomial(value: SSAValue, variables: Sequence[SSAValue], depth: int = 8) -> Polynomial | None:
    """Returns `value` as a polynomial of `variables`.

    Returns `None` if it is not a polynomial, or if its expression is deeper than `depth`.
    """
    constant = (0,) * len(variables)
    if value in variables:
        position = variables.index(value)
        return {tuple(int(each == position) for each in range(len(variables))): 1.0}
    if (known := number(value)) is not None:
        return {constant: known}
    op = defining_op(value)
    if not depth or not isinstance(op, AddOp | SubOp | MulOp | DivOp | NegOp | PowOp):
        return None
    left = polynomial(op.operands[0], variables, depth - 1)
    if left is None:
        return None
    if isinstance(op, NegOp):
        return _product(left, {constant: -1.0})
    if isinstance(op, DivOp | PowOp):
        return _scaled(op, left, constant)
    right = polynomial(op.operands[1], variables, depth - 1)
    if right is None or isinstance(op, MulOp):
        return None if right is None else _product(left, right)
    sign = -1.0 if isinstance(op, SubOp) else 1.0
    return {key: left.get(key, 0.0) + sign * right.get(key, 0.0) for key in (*left, *right)}


def _scaled(op: DivOp | PowOp, left: Polynomial, constant: tuple[int, ...]) -> Polynomial | None:
    """Matches a polynomial divided by a number, or raised to a small power."""
    known = number(op.operands[1])
    if not known:
        return None
    if isinstance(op, DivOp):
        return _product(left, {constant: 1 / known})
    if known not in range(1, _DEGREE + 1):
        return None
    found: Polynomial = {constant: 1.0}
    for _ in range(int(known)):
        found = _product(found, left)
    return found


def is_polynomial(value: SSAValue, variables: Sequence[SSAValue], wanted: Polynomial) -> bool:
    """Returns whether `value` is the polynomial `wanted` of `variables`."""
    found = polynomial(value, variables)
    if found is None or any(found.get(key) is None for key in wanted):
        return False
    return all(is_close(factor, wanted.get(key, 0.0)) for key, factor in found.items())


def clipped(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Matches a value that is clipped to `[0, number]`; returns the value and the number."""
    op = defining_op(value)
    if isinstance(op, ClipOp) and op.minimum is not None and op.maximum is not None:
        low, high = op.minimum.value.data, op.maximum.value.data
        return (op.input, high) if low == 0 < high else None
    if isinstance(op, MinOp) and (found := _with_number(op)) is not None:
        inner = lower_bounded(found[0])
        return (inner[0], found[1]) if inner is not None and inner[1] == 0 < found[1] else None
    if isinstance(op, MaxOp | ReluOp) and (inner := lower_bounded(value)) is not None:
        below = defining_op(inner[0])
        found = _with_number(below) if isinstance(below, MinOp) else None
        return found if found is not None and inner[1] == 0 < found[1] else None
    return None


def lower_bounded(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Matches the maximum of a value and a number; returns the value and the number."""
    op = defining_op(value)
    if isinstance(op, ReluOp):
        return op.input, 0.0
    if isinstance(op, ClipOp) and op.minimum is not None and op.maximum is None:
        return op.input, op.minimum.value.data
    return _with_number(op) if isinstance(op, MaxOp) else None


def power(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Matches a power (square, root, reciprocal, …); returns its base and its exponent."""
    op = defining_op(value)
    if isinstance(op, SqrtOp):
        return op.input, 0.5
    if isinstance(op, ReciprocalOp):
        return op.input, -1.0
    if isinstance(op, MulOp) and op.lhs is op.rhs:
        return op.lhs, 2.0
    if isinstance(op, DivOp) and number(op.lhs) == 1:
        return op.rhs, -1.0
    if isinstance(op, PowOp) and (exponent := number(op.rhs)) is not None:
        return op.lhs, exponent
    return None


# --- Rows: the operands of reductions along axes ----------------------------------------------------------------------


def _is_reshaped_by_units(op: Operation) -> bool:
    """Whether a data-movement operation only adds and removes axes of size 1."""
    if isinstance(op, AxesOp):
        return op.is_known("axes")
    if not isinstance(op, ReshapeOp):
        return False
    before, after = ([size for size in shape_of(value) if size != 1] for value in (op.input, op.result))
    return before == after and before.count(DYNAMIC_INDEX) <= 1


def row(value: SSAValue) -> SSAValue:
    """Strips broadcasts, added axes of size 1, and a maximum with minus infinity from `value`."""
    while (op := defining_op(value)) is not None:
        if isinstance(op, ExpandOp) or _is_reshaped_by_units(op):
            value = op.operands[0]
        elif isinstance(op, MaxOp) and (found := _with_number(op)) is not None and found[1] == -math.inf:
            value = found[0]
        else:
            break
    return value


@dataclass(frozen=True)
class Rows:
    """The rows of `data` along `axes`. A reduction maps each row to one number."""

    data: SSAValue
    axes: tuple[int, ...]

    @staticmethod
    def of(op: ReduceOp) -> "Rows | None":
        """Returns the rows that `op` reduces; `None` if the reduced axes are not constant."""
        if not op.is_known("axes"):
            return None
        return Rows(op.input, tuple(sorted(op.reduced_axes(len(shape_of(op.input))))))

    @property
    def count(self) -> int | None:
        """The number of elements in a row; `None` if it is dynamic."""
        sizes = [shape_of(self.data)[axis] for axis in self.axes]
        return None if DYNAMIC_INDEX in sizes else math.prod(sizes)

    @property
    def is_trailing(self) -> bool:
        """Whether the rows span the trailing axes."""
        rank = len(shape_of(self.data))
        return bool(self.axes) and self.axes == tuple(range(rank - len(self.axes), rank))

    def fits(self, value: SSAValue) -> bool:
        """Returns whether broadcasting aligns each number in `value` with its row."""
        op = defining_op(value)
        shape, sizes = shape_of(op.operands[0] if isinstance(op, ExpandOp) else value), shape_of(self.data)
        kept = [1 if axis in self.axes else size for axis, size in enumerate(sizes)]
        return len(shape) <= len(sizes) and [1] * (len(sizes) - len(shape)) + list(shape) == kept

    def reduces(self, value: SSAValue, kind: type[ReduceOp]) -> bool:
        """Returns whether `value` is a reduction of class `kind` of these rows, and aligns with them."""
        op = defining_op(row(value))
        return isinstance(op, kind) and Rows.of(op) == self and self.fits(value)


def summed(value: SSAValue) -> Rows | None:
    """Returns the rows whose sums are `value`; `None` if it is not a sum along constant axes."""
    op = defining_op(row(value))
    return Rows.of(op) if isinstance(op, ReduceSumOp) else None


def averaged(value: SSAValue) -> Rows | None:
    """Returns the rows whose means are `value`; means may be spelled as sums divided by the element count."""
    op = defining_op(row(value))
    if isinstance(op, ReduceMeanOp):
        return Rows.of(op)
    if not isinstance(op, MulOp | DivOp):
        return None
    found = _with_number(op) if isinstance(op, MulOp) else None
    if isinstance(op, DivOp) and (known := number(op.rhs)):
        found = op.lhs, 1 / known
    rows = None if found is None else summed(found[0])
    if rows is None or found is None or not rows.count:
        return None
    return rows if is_close(found[1] * rows.count, 1.0) else None


def sums_of_squares(value: SSAValue) -> Rows | None:
    """Returns the rows whose sums of squares are `value`; `None` if it is not such a sum."""
    op = defining_op(row(value))
    return Rows.of(op) if isinstance(op, ReduceSumSquareOp) else squares(summed(value))


def squares(reduced: Rows | None) -> Rows | None:
    """Returns the rows whose elementwise squares are the rows `reduced`."""
    squared = None if reduced is None else power(reduced.data)
    return Rows(squared[0], reduced.axes) if reduced is not None and squared is not None and squared[1] == 2 else None


def is_centered(value: SSAValue, rows: Rows) -> bool:
    """Returns whether `value` is the data of `rows` minus the means of the rows."""
    op = defining_op(value)
    return isinstance(op, SubOp) and op.lhs is rows.data and averaged(op.rhs) == rows and rows.fits(op.rhs)


# --- Products and sums of several values ------------------------------------------------------------------------------


@dataclass
class Product:
    """The factors of a value: constants, powers of row statistics, and all other factors."""

    rows: Rows
    constants: list[SSAValue] = field(default_factory=list[SSAValue])
    powers: list[tuple[SSAValue, float]] = field(default_factory=list[tuple[SSAValue, float]])
    others: list[SSAValue] = field(default_factory=list[SSAValue])

    @staticmethod
    def of(value: SSAValue, rows: Rows) -> "Product | None":
        """Returns the factors of `value`, which may be the data of `rows`; `None` if one does not fit the rows."""
        found = Product(rows)
        return found if found._add(value, 1.0, is_beside=False) else None

    def _add(self, value: SSAValue, exponent: float, *, is_beside: bool) -> bool:
        """Adds the factor `value` to the power of `exponent`; `is_beside`: it is known to align with its row."""
        if constant_of(value) is not None:
            self.constants.append(value)
            return exponent == 1
        op = defining_op(value)
        if value is self.rows.data or op is None or is_centered(value, self.rows):
            self.others.append(value)
            return exponent == 1
        found, inner = power(row(value)), defining_op(row(value))
        if isinstance(inner, MulOp | DivOp | PowOp | ReciprocalOp) and inner is not op:
            is_beside = is_beside or self.rows.fits(value)
            return is_beside and self._add(row(value), exponent, is_beside=True)
        if found is not None and found[1] == -1:
            return self._add(found[0], -exponent, is_beside=is_beside)
        if found is not None and abs(found[1]) == 0.5:
            self.powers.append((found[0], found[1] * exponent))
            return is_beside or self.rows.fits(value)
        if isinstance(op, MulOp | DivOp):
            way = -1.0 if isinstance(op, DivOp) else 1.0
            left = self._add(op.lhs, exponent, is_beside=is_beside)
            return left and self._add(op.rhs, exponent * way, is_beside=is_beside)
        self.others.append(value)
        return exponent == 1


def terms(value: SSAValue, most: int = 3) -> Iterator[tuple[SSAValue, bool]]:
    """Yields the terms of a sum, each with whether it is added or subtracted; any other value is its only term."""
    queue = [(value, True)]
    while queue:
        term, is_added = queue.pop(0)
        op = defining_op(term)
        if isinstance(op, AddOp | SubOp) and most > 1:
            most -= 1
            queue += [(op.lhs, is_added), (op.rhs, is_added == isinstance(op, AddOp))]
        elif isinstance(op, NegOp):
            queue.append((op.input, not is_added))
        else:
            yield term, is_added


def one_axis(rows: Rows | None) -> int | None:
    """Returns the axis, counted from the start, of rows along a single axis; `None` for any other rows."""
    return normalized_axis(rows.axes[0], len(shape_of(rows.data))) if rows is not None and len(rows.axes) == 1 else None
