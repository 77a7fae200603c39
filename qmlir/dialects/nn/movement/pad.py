"""Padding rules of data movement, which may also move tensors of sizes."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.arithmetic.symbolic_sizes import Extent, Size, joined, quotient, reshaped, reshaped_sized
from qmlir.dialects.nn.elementwise.ops import MinOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.movement import ops
from qmlir.dialects.nn.movement.ops import normalized_axes, normalized_axis, slice_indices
from qmlir.dialects.nn.padding_rules import ONE, PaddedValue, PaddingSite, Rule, on_images, with_sizes
from qmlir.ir.builtin_types import shape_of


def _reshape_sizes(op: ops.ReshapeOp, at: PaddingSite) -> list[Size]:
    if op.shape is None:
        return [-1 if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    sizes = at.elements(op.shape, "its shape")
    if op.allow_zero.value.data:
        return sizes
    axes = at.axes(op.input)
    return [axes[axis] if size == 0 else size for axis, size in enumerate(sizes)]


def _reshape(op: ops.ReshapeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    facts = at.facts(op.input)
    if at.is_sized:
        sizes: list[Size] = list(shape_of(op.result))
        after = reshaped_sized(facts.axes, shape_of(op.result), at.capacities)
    else:
        sizes = _reshape_sizes(op, at)
        after = reshaped(facts.axes, sizes)
    if after is None:
        found, wanted = (", ".join(map(str, each)) for each in (facts.axes, sizes))
        at.decline(f"joins or splits dynamic axes, which would put padding between elements: [{found}] to [{wanted}]")
    return [facts.moved_to(after)]


def _squeeze(op: ops.SqueezeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    facts = at.facts(op.input)
    named = at.integers("axes")
    if named is None and any(axis.names for axis in facts.axes):
        at.decline("removes every axis of size 1, but a dynamic dimension may be 1")
    ones = [axis for axis, extent in enumerate(facts.axes) if extent == ONE]
    gone = ones if named is None else normalized_axes(named, len(facts.axes))
    if not set(gone) <= set(ones):
        at.decline("removes a dynamic axis, whose size must be 1")
    return [facts.moved_to(tuple(extent for axis, extent in enumerate(facts.axes) if axis not in gone))]


def _unsqueeze(op: ops.UnsqueezeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    facts, named = at.facts(op.input), at.integers("axes") or []
    after = list(facts.axes)
    for axis in sorted(normalized_axes(named, len(facts.axes) + len(named))):
        after.insert(axis, ONE)
    return [facts.moved_to(tuple(after))]


def _transpose(op: ops.TransposeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    facts = at.facts(op.input)
    zeros = frozenset(position for position, axis in enumerate(op.order) if axis in facts.zeros)
    return [PaddedValue(tuple(facts.axes[axis] for axis in op.order), zeros)]


# --- Slices -----------------------------------------------------------------------------------------------------------


def _least_whole(at: PaddingSite, extent: Extent) -> int:
    """Returns the smallest end of a slice that is sure to include the whole axis."""
    return extent.at(at.capacities) if at.is_sized else np.iinfo(np.int32).max


def _cut(at: PaddingSite, extent: Extent, start: Size, end: Size, step: Size) -> Extent:
    """Returns the extent of a slice along one axis."""
    if extent.number is not None and all(isinstance(each, int) for each in (start, end, step)):
        return Extent.of(len(slice_indices(extent.number, int(str(start)), int(str(end)), int(str(step)))))
    if start == 0 and step == 1:
        if end == extent or (isinstance(end, int) and end >= _least_whole(at, extent)):
            return extent
        if extent.number is not None and isinstance(end, Extent):
            at.count(end)
            at.at_least(0, end)  # a negative end would count from the back
            return end
    if isinstance(start, int) and isinstance(step, int) and start >= 0 and step > 0 and extent.names:
        found = _cut_from_the_front(at, extent, start, end, step)
        if found is not None:
            return found
    at.decline(
        f"slices [{start}:{end}:{step}] of a dimension of size {extent}, so the result depends on the runtime size"
    )


def _cut_from_the_front(at: PaddingSite, extent: Extent, start: int, end: Size, step: int) -> Extent | None:
    """Returns the extent of a slice from `start` on. An end that counts from the back depends on the size."""
    if end == 1 and start == 0:
        at.count(extent)
        return ONE
    if at.is_sized or not extent.counts_places:
        return None
    most = None
    if isinstance(end, Extent):
        if not end.counts_places or not _is_within(at, end, extent):
            return None
        extent = end
    elif end < 0:
        start -= end  # the number of elements that are left out
    elif end < _least_whole(at, extent):
        most = -(-(end - start) // step)
    at.derived(extent)
    found = quotient(extent, step - 1 - start, step, most)
    at.at_least(1, found)
    return ONE if most == 1 else found


def _is_within(at: PaddingSite, size: Extent, whole: Extent) -> bool:
    """Returns True if `size <= whole` for every runtime size."""
    names = set(size.names) | set(whole.names)
    if len(names) != 1:
        return False
    (name,) = names
    return all(size.at({name: each}) <= whole.at({name: each}) for each in range(1, at.capacities[name] + 1))


def _slice(op: ops.SliceOp, at: PaddingSite) -> Sequence[PaddedValue]:
    facts = at.facts(op.input)
    starts, ends = (at.sizes(name) or [] for name in ("starts", "ends"))
    steps = at.sizes("steps") or [1] * len(starts)
    named = at.integers("axes")
    axes = normalized_axes(range(len(starts)) if named is None else named, len(facts.axes))
    after = list(facts.axes)
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        after[axis] = _cut(at, after[axis], *bounds)
    return [PaddedValue(tuple(after), frozenset(axis for axis in facts.zeros if after[axis] == facts.axes[axis]))]


# --- Parts ------------------------------------------------------------------------------------------------------------


def _concat(op: ops.ConcatOp, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data()
    values = [at.axes(value) for value in op.inputs]
    axis = normalized_axis(op.axis.value.data, len(values[0]))
    if at.is_sized:  # the types agree, so a part with one element along the batch is joined to each sample
        shared = at.broadcast(*((*axes[:axis], ONE, *axes[axis + 1 :]) for axes in values))
        values = [(*shared[:axis], axes[axis], *shared[axis + 1 :]) for axes in values]
    parts = [axes[axis] for axes in values]
    for position, extent in enumerate(values[0]):
        for other in (axes[position] for axes in values if position != axis and axes[position] != extent):
            at.together(extent, other)
    whole = parts[0]
    if len(parts) > 1:
        if at.is_sized and any(part.names for part in parts):
            at.decline("concatenates tensors along a dynamic dimension, which would put padding between them")
        for part in (part for part in parts if part.names):
            at.derived(part)
        whole = joined(parts)
    found = PaddedValue((*values[0][:axis], whole, *values[0][axis + 1 :]))
    if any(part.names for part in parts[:-1]):
        _close_up(op, at, axis, parts, found)
    return [found]


def _close_up(op: ops.ConcatOp, at: PaddingSite, axis: int, parts: Sequence[Extent], facts: PaddedValue) -> None:
    """Moves each part of a concatenation to the end of the valid elements of the parts before it."""
    sizes = [part.at(at.capacities) for part in parts]
    positions = indices = at.constant(np.arange(sum(sizes)))
    for count in range(1, len(parts)):  # elements of part `count` and later follow the padding of earlier parts
        if parts[count - 1].names:
            start = at.size(joined(parts[:count]))
            moved = positions + (at.size(Extent.of(sum(sizes[:count]))) - start)
            indices = indices.where(positions < start, moved)
    last = indices.apply(MinOp, at.size(Extent.of(sum(sizes) - 1)))
    made = at.here.append(op.clone()).result  # keeps its type, which may rescale the operands
    at.keep(made, facts)
    at.replace(op.result, at.here.add(GatherOp, made, last.value, axis=axis).result, facts)


def _split(op: ops.SplitOp, at: PaddingSite) -> Sequence[PaddedValue]:
    axes = at.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    number = axes[axis].number
    if number is None:
        at.decline(f"splits a dimension of size {axes[axis]} at positions that depend on the runtime size")
    sizes = op.part_sizes(number, at.array("split"))
    return [PaddedValue((*axes[:axis], Extent.of(size), *axes[axis + 1 :])) for size in sizes]


def _blocks(op: ops.BlocksOp, at: PaddingSite) -> Sequence[PaddedValue]:
    (batch, channels, *spatial), block = at.axes(op.input), op.block
    for axis in spatial:
        at.derived(axis)
    if isinstance(op, ops.DepthToSpaceOp):
        return [PaddedValue((batch, Extent.of(channels.at({}) // block**2), *(axis * block for axis in spatial)))]
    blocks = [quotient(axis, 0, block) for axis in spatial]
    for axis, each in zip(spatial, blocks, strict=True):
        at.require(axis, each * block, is_equal=True)
    return [PaddedValue((batch, channels * block**2, *blocks))]


RULES: Mapping[type[Operation], Rule] = {
    ops.ReshapeOp: with_sizes(_reshape),
    ops.SqueezeOp: with_sizes(_squeeze),
    ops.UnsqueezeOp: with_sizes(_unsqueeze),
    ops.TransposeOp: _transpose,
    ops.SliceOp: with_sizes(_slice),
    ops.ConcatOp: with_sizes(_concat),
    ops.SplitOp: _split,
    ops.BlocksOp: on_images(_blocks),
}
