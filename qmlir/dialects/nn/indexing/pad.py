"""Padding rules of indexing: padding in indices is replaced with 0, because it may be out of range."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.symbolic_sizes import Extent, Size, as_extent, sizes_in
from qmlir.dialects.nn.indexing import ops
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, with_sizes, zero_of
from qmlir.ir.builtin_types import shape_of


def _select_indices(op: ops.GatheringOp, at: PaddingSite) -> None:
    if not at.is_fixed(op.indices):  # constant indices are checked when the module is specialized
        at.select(op.indices, range(len(at.axes(op.indices))), zero_of)


def _is_every_place(data: Extent, indices: PaddedValue) -> bool:
    """Returns True if `indices` are the flat indices of all elements of `data`, each at its own position."""
    wanted: dict[Extent, Extent] = {}
    step = Extent()
    for factor in reversed(data.factors):
        wanted[Extent.of(factor)] = step
        step = Extent.of(factor, *step.factors)
    found = {indices.axes[axis]: step for axis, step in (indices.positions or {}).items()}
    return found == wanted and len(wanted) == len(data.factors) == len(indices.positions or {})


def _take_places(op: ops.GatherOp, at: PaddingSite, extent: Extent, positions: Sequence[Size]) -> None:
    """Checks that constant indices count from the front, or adds the runtime size to those that count from the back."""
    numbers = [position for position in positions if isinstance(position, int)]
    is_front, is_back = (bool(numbers) and all((each < 0) == sign for each in numbers) for sign in (False, True))
    if len(numbers) != len(positions) or not (is_front or is_back) or (at.is_sized and numbers != [0] * len(numbers)):
        at.decline(f"slices a dimension of size {extent} at unknown positions")
    if not at.is_sized:
        at.at_least(1 + max(numbers) if is_front else -min(numbers), extent)
    if is_back:
        from_the_end = at.constant(np.array(numbers).reshape(shape_of(op.indices)))
        op.operands[1] = (from_the_end + at.size(extent)).value


def _gather(op: ops.GatherOp, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data()
    data, indices = at.axes(op.input), at.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(data))
    content = at.facts(op.indices).content
    if data[axis].names and _is_every_place(data[axis], at.facts(op.indices)):
        at.keeps_positions()
    elif data[axis].names:
        at.count(data[axis])
        _take_places(op, at, data[axis], [] if content is None else sizes_in(content))
    _select_indices(op, at)
    return [PaddedValue((*data[:axis], *indices, *data[axis + 1 :]))]


def _gather_elements(op: ops.GatherElementsOp, at: PaddingSite) -> Sequence[PaddedValue]:
    data, indices = at.axes(op.input), at.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(data))
    if data[axis].names or any(
        a != b for position, (a, b) in enumerate(zip(data, indices, strict=True)) if position != axis
    ):
        at.decline("gathers elements along a dynamic dimension")
    _select_indices(op, at)
    return [PaddedValue(indices)]


def _one_hot(op: ops.OneHotOp, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data(op.indices)
    axes = at.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(axes) + 1)
    (depth,) = at.sizes("depth") or [0]
    extent = as_extent(depth)
    at.count(extent)
    at.at_least(1, extent)
    return [PaddedValue((*axes[:axis], extent, *axes[axis:]))]


RULES: Mapping[type[Operation], Rule] = {
    ops.GatherOp: with_sizes(_gather),
    ops.GatherElementsOp: _gather_elements,
    ops.OneHotOp: _one_hot,
}
