"""Padding rules of operations that read sizes, or whose operands determine the sizes of their results."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.symbolic_sizes import Extent, as_extent, content_of, extents, product, quotient, sizes_in
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.padding_rules import ONE, PaddedValue, PaddingSite, Rule, with_sizes, zero_of
from qmlir.dialects.nn.shapes import ops


def _shape(op: ops.ShapeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    content = content_of(at.axes(op.input)[op.bounds])
    return [PaddedValue(extents(content.shape), content=content)]


def _size(op: ops.SizeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    return [PaddedValue((), content=content_of([product(at.axes(op.input))]).reshape(()))]


def _range(op: ops.RangeOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    contents = [at.facts(value).content for value in op.operands]
    if any(content is None for content in contents):
        return None
    start, limit, delta = (sizes_in(np.asarray(content))[0] for content in contents)
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int) and delta:
        return [PaddedValue(extents([len(range(start, limit, delta))]))]
    if start != 0 or delta != 1 or not isinstance(limit, Extent):
        return None
    at.at_least(0, limit)
    return [PaddedValue((limit,), positions={0: ONE})]


def _expand(op: ops.ExpandOp, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data(op.input)
    target = tuple(as_extent(size) for size in at.sizes("shape") or [])
    at.at_least(0, *target)
    return [at.facts(op.input).moved_to(at.broadcast(at.axes(op.input), target))]


def _tile(op: ops.TileOp, at: PaddingSite) -> Sequence[PaddedValue]:
    repeats = [as_extent(size) for size in at.sizes("repeats") or []]
    at.at_least(0, *repeats)
    return [PaddedValue(tuple(factor * extent for factor, extent in zip(repeats, at.axes(op.input), strict=True)))]


def _pad(op: ops.PadOp, at: PaddingSite) -> Sequence[PaddedValue]:
    axes = at.axes(op.input)
    added = op.paddings(len(axes), at.array("pads"), at.array("axes"))
    after: list[Extent] = []
    for extent, (before, behind) in zip(axes, added, strict=True):
        is_same = (before, behind) == (0, 0)
        if extent.names and not is_same:
            if op.mode.data != "constant" or min(before, behind) < 0:
                at.decline(f"pads a dimension of size {extent}, so the added elements depend on the runtime size")
            at.derived(extent)
        after.append(extent if is_same else quotient(extent, before + behind, 1))
    ends = [axis for axis, extent in enumerate(axes) if extent.names and added[axis][1]]
    if ends:  # elements added at the end take the positions of padding
        number = constant_array(op.value)
        if op.value is not None and number is None:
            at.decline("pads after a dynamic dimension with an unknown value")
        at.select(op.input, ends, zero_of if number is None else lambda _: number.reshape(()))
    return [PaddedValue(tuple(after))]


def _trilu(op: ops.TriluOp, at: PaddingSite) -> Sequence[PaddedValue]:
    axes = at.axes(op.input)
    for axis in axes[-2:]:
        at.count(axis)
    at.integers("k")
    return [PaddedValue(axes)]


RULES: Mapping[type[Operation], Rule] = {
    ops.ShapeOp: _shape,
    ops.SizeOp: _size,
    ops.RangeOp: _range,
    ops.ExpandOp: with_sizes(_expand),
    ops.TileOp: _tile,
    ops.PadOp: _pad,
    ops.TriluOp: _trilu,
}
