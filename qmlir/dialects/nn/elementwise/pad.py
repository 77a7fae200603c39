"""Padding rules of elementwise operations, which may also compute with tensors of sizes and of indices.

A gather may read a flattened tensor at indices that are computed from positions along its axes, as sums of positions
times sizes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.symbolic_sizes import Content, Extent, as_extent, sizes_in
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, elementwise, one_of, with_sizes
from qmlir.ir.builtin_types import as_integer, element_of

LEAST_BITS = 32
"""The minimum width of an integer type that can hold any size."""


def dividing(op: ops.BinaryOp, at: PaddingSite) -> Sequence[PaddedValue]:
    """Returns the rule of divisions and powers, which sets integer padding in the second operand to 1.

    Padding could otherwise be a divisor of 0 or a negative exponent.
    """
    found = elementwise(op, at)
    if kind_of(element_of(op.rhs)) is Kind.INTEGER:
        at.select(op.rhs, range(len(at.axes(op.rhs))), one_of)
    return found


# --- Tensors of sizes -------------------------------------------------------------------------------------------------


def _product(op: ops.MulOp, at: PaddingSite, contents: Sequence[Content]) -> Content:
    return np.multiply(*contents, dtype=object)


def _combined(op: ops.BinaryOp, at: PaddingSite, contents: Sequence[Content]) -> Content | None:
    """Computes a sum, difference or quotient of sizes, if it is nondecreasing in the dynamic dimensions."""
    left, right = map(sizes_in, contents)
    lefts = list(map(as_extent, left))
    is_simple = all(size.counts_places for size in (*lefts, *map(as_extent, right)))
    if not isinstance(op, ops.AddOp):
        is_simple &= all(isinstance(size, int) and size > 0 for size in right)
    if isinstance(op, ops.DivOp):
        is_simple &= all(size.at(dict.fromkeys(size.names, 1)) >= 0 for size in lefts)
    return _ARITHMETIC[type(op)](*contents, dtype=object) if is_simple and not at.is_sized else None


_ARITHMETIC: Mapping[type[Operation], np.ufunc] = {
    ops.AddOp: np.add,
    ops.SubOp: np.subtract,
    ops.DivOp: np.floor_divide,
}


def _cast(op: ops.CastOp, at: PaddingSite, contents: Sequence[Content]) -> Content | None:
    integers = [as_integer(element_of(value)) for value in (op.input, op.result)]
    return None if any(each is None or each.width.data < LEAST_BITS for each in integers) else contents[0]


def _equal(op: ops.EqualOp, at: PaddingSite, contents: Sequence[Content]) -> Content | None:
    """Compares sizes. A dynamic one can only be compared with a number below 1, which no dimension is."""
    pairs = list(zip(*map(sizes_in, np.broadcast_arrays(*contents)), strict=True))
    for pair in pairs:
        is_below = any(isinstance(size, int) and size < 1 for size in pair)
        if any(isinstance(size, Extent) for size in pair) and not is_below:
            return None
    at.at_least(1, *(size for pair in pairs for size in pair))
    return np.equal(*contents, dtype=object)


def _where(op: ops.WhereOp, at: PaddingSite, contents: Sequence[Content]) -> Content:
    return np.where(contents[0].astype(bool), contents[1], contents[2])


# --- Tensors of indices -----------------------------------------------------------------------------------------------


def _broadcast_places(value: PaddedValue, rank: int) -> dict[int, Extent]:
    added = rank - len(value.axes)
    return {axis + added: step for axis, step in (value.positions or {}).items()}


def _sum(op: ops.AddOp, at: PaddingSite) -> Sequence[PaddedValue]:
    """The rule of additions: a sum of indices along different axes is an index."""
    operands = [at.facts(operand) for operand in op.operands]
    if all(each.positions is not None for each in operands):
        axes = at.broadcast(*(each.axes for each in operands))
        left, right = (_broadcast_places(each, len(axes)) for each in operands)
        if not set(left) & set(right):
            return [PaddedValue(axes, positions=left | right)]
    return elementwise(op, at)


def _scaled(op: ops.MulOp, at: PaddingSite) -> Sequence[PaddedValue]:
    """The rule of multiplications: an index times a size is an index."""
    operands = [at.facts(operand) for operand in op.operands]
    for each, factor in (operands, reversed(operands)):
        sizes = [] if factor.content is None else sizes_in(factor.content)
        if each.positions is not None and len(sizes) == 1:
            axes = at.broadcast(each.axes, factor.axes)
            positions = _broadcast_places(each, len(axes))
            return [PaddedValue(axes, positions={axis: step * as_extent(sizes[0]) for axis, step in positions.items()})]
    return elementwise(op, at)


RULES: Mapping[type[Operation], Rule] = {
    ops.UnaryOp: elementwise,
    ops.BinaryOp: elementwise,
    ops.ModOp: dividing,
    ops.PowOp: dividing,
    ops.BitCastOp: elementwise,
    ops.CastOp: with_sizes(elementwise, _cast),
    ops.EqualOp: with_sizes(elementwise, _equal),
    ops.WhereOp: with_sizes(elementwise, _where),
    ops.AddOp: with_sizes(_sum, _combined),
    ops.SubOp: with_sizes(elementwise, _combined),
    ops.DivOp: with_sizes(dividing, _combined),
    ops.MulOp: with_sizes(_scaled, _product),
}
