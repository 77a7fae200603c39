"""Padding rules for tensors of sizes, and for operations that move elements or read sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp, DivOp, EqualOp, LessOp, MinOp, MulOp, SubOp, WhereOp
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import normalized_axes, normalized_axis, slice_indices
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.specialization.padding.padding import Axes, PaddedValue, PaddingWalk, Rule, zero_of
from qmlir.specialization.padding.rows import broadcast, dividing, elementwise
from qmlir.specialization.padding.symbolic_sizes import (
    Content,
    Extent,
    Size,
    as_extent,
    content_of,
    extents,
    joined,
    product,
    quotient,
    reshaped,
    reshaped_sized,
    sizes_in,
)
from qmlir.specialization.specialize import is_constant

MOST_SIZES = 64
"""The largest number of elements of a constant that is treated as a tensor of sizes."""

LEAST_BITS = 32
"""The least width of an integer that can hold any size."""


ONE = Extent()


# --- Lists of sizes ---------------------------------------------------------------------------------------------------


def _constant(op: ConstantOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    shape = shape_of(op.result)
    axes, is_list = extents(shape), len(shape) <= 1 and kind_of(element_of(op.result)) is Kind.INTEGER
    if not is_list or sum(shape) > MOST_SIZES or not is_constant(op.result):
        return [PaddedValue(axes)]
    return [PaddedValue(axes, content=op.array.astype(object))]


def _shape(op: shapes.ShapeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    content = content_of(walk.axes(op.input)[op.bounds])
    return [PaddedValue(extents(content.shape), content=content)]


def _size(op: shapes.SizeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    return [PaddedValue((), content=content_of([product(walk.axes(op.input))]).reshape(()))]


def _listed(op: Operation, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """Evaluates an operation that moves or combines sizes. Evaluators accept objects as well as numbers."""
    contents = [walk.facts(operand).content for operand in op.operands]
    if not contents or any(content is None for content in contents) or len(shape_of(op.results[0])) > 1:
        return None
    arrays: list[Content] = [np.asarray(content) for content in contents]
    known = [each if any(isinstance(size, Extent) for size in sizes_in(each)) else each.astype(int) for each in arrays]
    if isinstance(op, MulOp):
        found: Content = np.asarray(np.multiply(arrays[0], arrays[1], dtype=object), object)
    elif isinstance(op, AddOp | SubOp | DivOp):
        if walk.is_sized or not _is_simple(op, arrays):
            return None
        found = np.asarray(_ARITHMETIC[type(op)](arrays[0], arrays[1], dtype=object), object)
    elif isinstance(op, CastOp):
        integers = [as_integer(element_of(value)) for value in (op.input, op.result)]
        if any(each is None or each.width.data < LEAST_BITS for each in integers):
            return None
        found = arrays[0]
    elif isinstance(op, EqualOp):
        pairs = list(zip(*(sizes_in(each) for each in np.broadcast_arrays(*arrays)), strict=True))
        if any(
            isinstance(each, Extent) and not _is_below_one(other)
            for each, other in (*pairs, *((b, a) for a, b in pairs))
        ):
            return None
        _at_least(op, walk, 1, *(size for pair in pairs for size in pair))
        found = np.asarray(np.equal(arrays[0], arrays[1], dtype=object), object)
    elif isinstance(op, WhereOp):
        found = np.asarray(np.where(arrays[0].astype(bool), arrays[1], arrays[2]), object)
    elif not isinstance(op, movement.ConcatOp) and any(each.dtype == object for each in known[1:]):
        return None  # an index or a shape is unknown
    else:
        results = evaluate(op, known)
        assert results is not None
        found = np.asarray(results[0], object)
    return [PaddedValue(extents(found.shape), content=found)]


_ARITHMETIC: dict[type[Operation], np.ufunc] = {AddOp: np.add, SubOp: np.subtract, DivOp: np.floor_divide}


def _is_simple(op: Operation, arrays: Sequence[Content]) -> bool:
    """Returns True if a sum, difference or quotient of sizes is nondecreasing in the dynamic dimensions."""
    left, right = (sizes_in(each) for each in arrays)
    if isinstance(op, SubOp | DivOp) and not all(isinstance(size, int) and size > 0 for size in right):
        return False
    if isinstance(op, DivOp) and not all(
        as_extent(size).at(dict.fromkeys(as_extent(size).names, 1)) >= 0 for size in left
    ):
        return False
    return all(as_extent(size).counts_places for size in (*left, *right))


def _is_below_one(size: Size) -> bool:
    """Returns True if `size` is static and below 1, which no dynamic dimension is."""
    return isinstance(size, int) and size < 1


def _with_lists(rule: Rule) -> Rule:
    """Wraps `rule` so that operations on tensors of sizes and on indices are evaluated symbolically instead."""
    return lambda op, walk: _listed(op, walk) or _placed(op, walk) or rule(op, walk)


def _numbers(
    op: Operation, walk: PaddingWalk, value: SSAValue | None, known: Sequence[int] | None, what: str
) -> list[Size]:
    """Returns the numbers of a parameter: those of a property, or the elements of an operand that holds sizes."""
    if value is None:
        return list(known or ())
    content = walk.facts(value).content
    if content is None:
        walk.decline(op, f"computes {what} from sizes in an unsupported way")
    return sizes_in(content)


def _integers(op: Any, walk: PaddingWalk, name: str) -> list[Size] | None:
    """Returns the numbers of the parameter `name`, or `None` if it is omitted."""
    value = getattr(op, f"{name}_value")
    known = op.integers(name) if value is None else None
    return None if value is None and known is None else _numbers(op, walk, value, known, name)


def _known(op: Any, walk: PaddingWalk, name: str) -> list[int] | None:
    """Returns the numbers of the parameter `name`, which must be static; `None` if it is omitted."""
    sizes = _integers(op, walk, name)
    numbers = None if sizes is None else [size for size in sizes if isinstance(size, int)]
    if sizes is not None and (numbers is None or len(numbers) != len(sizes)):
        walk.decline(op, f"computes {name} from dynamic dimensions")
    return numbers


def _at_least(op: Operation, walk: PaddingWalk, least: int, *sizes: Size) -> None:
    """Requires dynamic sizes, which may be differences, to be at least `least` at run time."""
    for size in sizes:
        if isinstance(size, Extent) and size.names:
            walk.require(op, size, Extent.of(least), is_equal=False)


def _range(op: shapes.RangeOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    contents = [walk.facts(value).content for value in op.operands]
    if any(content is None for content in contents):
        return None
    start, limit, delta = (sizes_in(np.asarray(content))[0] for content in contents)
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int) and delta:
        return [PaddedValue(extents([len(range(start, limit, delta))]))]
    if start != 0 or delta != 1 or not isinstance(limit, Extent):
        return None
    _at_least(op, walk, 0, limit)
    return [PaddedValue((limit,), places={0: Extent()})]


# --- Flat indices: a gather may read a flattened tensor by indices computed from positions along its axes -------------


def _placed(op: Operation, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """Returns the facts of sums of indices times sizes, folded for the capacities like the axes that they index."""
    operands = [walk.facts(operand) for operand in op.operands]
    if isinstance(op, AddOp):
        axes = broadcast(op, walk, *(each.axes for each in operands))
        forms = [_broadcast_places(each, len(axes)) for each in operands]
        if None in forms or set(forms[0] or ()) & set(forms[1] or ()):
            return None
        return [PaddedValue(axes, places={**(forms[0] or {}), **(forms[1] or {})})]
    for each, factor in ((operands[0], operands[-1]), (operands[-1], operands[0])):
        sizes = [] if factor.content is None else sizes_in(factor.content)
        if isinstance(op, MulOp) and each.places is not None and len(sizes) == 1:
            axes = broadcast(op, walk, each.axes, factor.axes)
            steps = {
                axis: step * as_extent(sizes[0]) for axis, step in (_broadcast_places(each, len(axes)) or {}).items()
            }
            return [PaddedValue(axes, places=steps)]
    return None


def _broadcast_places(value: PaddedValue, rank: int) -> dict[int, Extent] | None:
    added = rank - len(value.axes)
    return None if value.places is None else {axis + added: step for axis, step in value.places.items()}


def _moved_places(value: PaddedValue, after: Axes) -> dict[int, Extent] | None:
    """Returns the index form of a value after an operation that only adds, drops or repeats axes of size 1."""
    if value.places is None:
        return None
    if any(not value.axes[axis].names or after.count(value.axes[axis]) != 1 for axis in value.places):
        return None
    return {after.index(value.axes[axis]): step for axis, step in value.places.items()}


def _is_every_place(data: Extent, indices: PaddedValue) -> bool:
    """Returns True if `indices` are the flat indices of all elements of `data`, each at its own position."""
    wanted: dict[Extent, Extent] = {}
    step = Extent()
    for factor in reversed(data.factors):
        wanted[Extent.of(factor)] = step
        step = Extent.of(factor, *step.factors)
    found = {indices.axes[axis]: step for axis, step in (indices.places or {}).items()}
    return found == wanted and len(wanted) == len(data.factors) == len(indices.places or {})


# --- Movement ---------------------------------------------------------------------------------------------------------


def _moved_zeros(zeros: frozenset[int], before: Axes, after: Axes) -> frozenset[int]:
    """Returns the axes along which padding is still 0 after a reshape: those that it leaves unchanged."""
    found: set[int] = set()
    for axis, extent in enumerate(before):
        if axis in zeros and extent.names and before.count(extent) == after.count(extent) == 1:
            found.add(after.index(extent))
    return frozenset(found)


def _reshape_sizes(op: movement.ReshapeOp, walk: PaddingWalk) -> list[Size]:
    if op.shape is None:
        return [-1 if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    sizes = _numbers(op, walk, op.shape, None, "its shape")
    if op.allow_zero.value.data:
        return sizes
    axes = walk.axes(op.input)
    return [axes[axis] if size == 0 else size for axis, size in enumerate(sizes)]


def _reshape(op: movement.ReshapeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    facts = walk.facts(op.input)
    if walk.is_sized:
        sizes: list[Size] = list(shape_of(op.result))
        after = reshaped_sized(facts.axes, shape_of(op.result), walk.capacities)
    else:
        sizes = _reshape_sizes(op, walk)
        after = reshaped(facts.axes, sizes)
    if after is None:
        found, wanted = (", ".join(map(str, each)) for each in (facts.axes, sizes))
        walk.decline(
            op, f"joins or splits dynamic axes, which would put padding between elements: [{found}] to [{wanted}]"
        )
    return [PaddedValue(after, _moved_zeros(facts.zeros, facts.axes, after), places=_moved_places(facts, after))]


def _squeeze(op: movement.SqueezeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    facts = walk.facts(op.input)
    named = _known(op, walk, "axes")
    rank = len(facts.axes)
    if named is None and any(axis.names for axis in facts.axes):
        walk.decline(op, "removes every axis of size 1, but a dynamic dimension may be 1")
    gone = [axis for axis in range(rank) if facts.axes[axis] == Extent()] if named is None else None
    gone = normalized_axes(named or (), rank) if gone is None else gone
    if any(facts.axes[axis] != Extent() for axis in gone):
        walk.decline(op, "removes a dynamic axis, whose size must be 1")
    after = tuple(extent for axis, extent in enumerate(facts.axes) if axis not in gone)
    return [PaddedValue(after, _moved_zeros(facts.zeros, facts.axes, after))]


def _unsqueeze(op: movement.UnsqueezeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    facts = walk.facts(op.input)
    named = _known(op, walk, "axes") or []
    added = normalized_axes(named, len(facts.axes) + len(named))
    rest = iter(facts.axes)
    after = tuple(Extent() if axis in added else next(rest) for axis in range(len(facts.axes) + len(named)))
    return [PaddedValue(after, _moved_zeros(facts.zeros, facts.axes, after), places=_moved_places(facts, after))]


def _transpose(op: movement.TransposeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    facts = walk.facts(op.input)
    zeros = frozenset(place for place, axis in enumerate(op.order) if axis in facts.zeros)
    return [PaddedValue(tuple(facts.axes[axis] for axis in op.order), zeros)]


def _least_whole(walk: PaddingWalk, extent: Extent) -> int:
    """Returns the smallest end of a slice that is sure to include the whole axis."""
    return extent.at(walk.capacities) if walk.is_sized else np.iinfo(np.int32).max


def _cut(op: movement.SliceOp, walk: PaddingWalk, extent: Extent, start: Size, end: Size, step: Size) -> Extent:
    """Returns the extent of a slice along one axis."""
    if extent.number is not None and all(isinstance(each, int) for each in (start, end, step)):
        return Extent.of(len(slice_indices(extent.number, int(str(start)), int(str(end)), int(str(step)))))
    if start == 0 and step == 1:
        if end == extent or (isinstance(end, int) and end >= _least_whole(walk, extent)):
            return extent
        if extent.number is not None and isinstance(end, Extent):
            walk.count(op, end)
            _at_least(op, walk, 0, end)  # a negative end would count from the back
            return end
    if isinstance(start, int) and isinstance(step, int) and start >= 0 and step > 0 and extent.names:
        found = _cut_from_the_front(op, walk, extent, start, end, step)
        if found is not None:
            return found
    walk.decline(
        op, f"slices [{start}:{end}:{step}] of a dimension of size {extent}, so the result depends on the runtime size"
    )


def _cut_from_the_front(
    op: Operation, walk: PaddingWalk, extent: Extent, start: int, end: Size, step: int
) -> Extent | None:
    """Returns the extent of a slice from `start` on. An end that counts from the back depends on the size."""
    if end == 1 and start == 0:
        walk.count(op, extent)
        return ONE
    if walk.is_sized or not extent.counts_places:
        return None
    most = None
    if isinstance(end, Extent):
        if not end.counts_places or not _is_within(walk, end, extent):
            return None
        extent = end
    elif end < 0:
        start -= end  # the number of elements that are left out
    elif end < _least_whole(walk, extent):
        most = -(-(end - start) // step)
    walk.derived(op, extent)
    found = quotient(extent, step - 1 - start, step, most)
    walk.require(op, found, ONE, is_equal=False)
    return ONE if most == 1 else found


def _is_within(walk: PaddingWalk, size: Extent, whole: Extent) -> bool:
    """Returns True if `size <= whole` for every runtime size."""
    names = set(size.names) | set(whole.names)
    if len(names) != 1:
        return False
    (name,) = names
    return all(size.at({name: each}) <= whole.at({name: each}) for each in range(1, walk.capacities[name] + 1))


def _slice(op: movement.SliceOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    facts = walk.facts(op.input)
    starts, ends = (_integers(op, walk, name) or [] for name in ("starts", "ends"))
    steps = _integers(op, walk, "steps") or [1] * len(starts)
    named = _known(op, walk, "axes")
    axes = normalized_axes(range(len(starts)) if named is None else named, len(facts.axes))
    after = list(facts.axes)
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        after[axis] = _cut(op, walk, after[axis], *bounds)
    return [PaddedValue(tuple(after), frozenset(axis for axis in facts.zeros if after[axis] == facts.axes[axis]))]


def _concat(op: movement.ConcatOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    walk.data(op)
    values = [walk.axes(value) for value in op.inputs]
    axis = normalized_axis(op.axis.value.data, len(values[0]))
    if walk.is_sized:  # the types agree, so a part with one element along the batch is joined to each sample
        shared = broadcast(op, walk, *((*axes[:axis], Extent(), *axes[axis + 1 :]) for axes in values))
        values = [(*shared[:axis], axes[axis], *shared[axis + 1 :]) for axes in values]
    parts = [axes[axis] for axes in values]
    for place, extent in enumerate(values[0]):
        for other in (axes[place] for axes in values if place != axis and axes[place] != extent):
            walk.together(op, extent, other)
    whole = parts[0]
    if len(parts) > 1:
        if walk.is_sized and any(part.names for part in parts):
            walk.decline(op, "concatenates tensors along a dynamic dimension, which would put padding between them")
        for part in (part for part in parts if part.names):
            walk.derived(op, part)
        whole = joined(parts)
    found = PaddedValue((*values[0][:axis], whole, *values[0][axis + 1 :]))
    if any(part.names for part in parts[:-1]):
        _close_up(op, walk, axis, parts, found)
    return [found]


def _close_up(op: movement.ConcatOp, walk: PaddingWalk, axis: int, parts: Sequence[Extent], facts: PaddedValue) -> None:
    """Moves each part of a concatenation to the end of the valid elements of the parts before it."""
    sizes = [part.at(walk.capacities) for part in parts]
    places = walk.constant(np.arange(sum(sizes)))
    indices = places
    for count in range(1, len(parts)):  # elements of part `count` and later follow the padding of earlier parts
        if parts[count - 1].names:
            start = walk.size(joined(parts[:count]))
            gap = walk.begin(build(SubOp, [walk.size(Extent.of(sum(sizes[:count]))), start]))
            moved = walk.begin(build(AddOp, [places, gap]))
            is_before = walk.begin(build(LessOp, [places, start]))
            indices = walk.begin(build(WhereOp, [is_before, indices, moved]))
    last = walk.begin(build(MinOp, [indices, walk.size(Extent.of(sum(sizes) - 1))]))
    made = walk.insert(op, op.clone())  # keeps its type, which may rescale the operands
    walk.keep(made.result, facts)
    taken = walk.insert(op, build(indexing.GatherOp, [made.result, last], {"axis": axis})).result
    op.result.replace_all_uses_with(walk.keep(taken, facts))


def _split(op: movement.SplitOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    axes = walk.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    number = axes[axis].number
    if number is None:
        walk.decline(op, f"splits a dimension of size {axes[axis]} at positions that depend on the runtime size")
    split = _known(op, walk, "split")
    sizes = op.part_sizes(number, None if split is None else np.array(split))
    return [PaddedValue((*axes[:axis], Extent.of(size), *axes[axis + 1 :])) for size in sizes]


def _expand(op: shapes.ExpandOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    walk.data(op, op.input)
    target = tuple(as_extent(size) for size in _integers(op, walk, "shape") or [])
    _at_least(op, walk, 0, *target)
    after = broadcast(op, walk, walk.axes(op.input), target)
    return [PaddedValue(after, places=_moved_places(walk.facts(op.input), after))]


def _tile(op: shapes.TileOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    repeats = [as_extent(size) for size in _integers(op, walk, "repeats") or []]
    _at_least(op, walk, 0, *repeats)
    return [PaddedValue(tuple(factor * extent for factor, extent in zip(repeats, walk.axes(op.input), strict=True)))]


def _pad(op: shapes.PadOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    axes = walk.axes(op.input)
    pads, named = _known(op, walk, "pads"), _known(op, walk, "axes")
    given = [None if numbers is None else np.array(numbers) for numbers in (pads, named)]
    after: list[Extent] = []
    added = op.paddings(len(axes), *given)
    for extent, padding in zip(axes, added, strict=True):
        if extent.names and tuple(padding) != (0, 0):
            if op.mode.data != "constant" or min(padding) < 0:
                walk.decline(op, f"pads a dimension of size {extent}, so the added elements depend on the runtime size")
            walk.derived(op, extent)
        after.append(quotient(extent, sum(padding), 1) if tuple(padding) != (0, 0) else extent)
    ends = [axis for axis, extent in enumerate(axes) if extent.names and added[axis][1]]
    if ends:  # elements added at the end take the positions of padding
        value = zero_of(op.input) if op.value is None else _constant_value(op, walk)
        walk.select(op, op.input, ends, value)
    return [PaddedValue(tuple(after))]


def _constant_value(op: shapes.PadOp, walk: PaddingWalk) -> Array:
    assert op.value is not None
    if not is_constant(op.value):
        walk.decline(op, "pads after a dynamic dimension with an unknown value")
    array = constant_array(op.value)
    assert array is not None
    return array.reshape(())


def _trilu(op: shapes.TriluOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    axes = walk.axes(op.input)
    for axis in axes[-2:]:
        walk.count(op, axis)
    _known(op, walk, "k")
    return [PaddedValue(axes)]


# --- Indexing: padding in indices may be out of range, so it is replaced by 0 -----------------------------------------


def _select_indices(op: indexing.GatheringOp, walk: PaddingWalk) -> None:
    if not walk.is_fixed(op.indices):  # constant indices are checked when the module is specialized
        walk.select(op, op.indices, range(len(walk.axes(op.indices))), zero_of(op.indices))


def _take_places(op: indexing.GatherOp, walk: PaddingWalk, extent: Extent, places: Sequence[Size]) -> None:
    """Checks that constant indices count from the front, or adds the runtime size to those that count from the back."""
    numbers = [place for place in places if isinstance(place, int)]
    is_front, is_back = (bool(numbers) and all((each < 0) == sign for each in numbers) for sign in (False, True))
    if len(numbers) != len(places) or not (is_front or is_back) or (walk.is_sized and numbers != [0] * len(numbers)):
        walk.decline(op, f"slices a dimension of size {extent} at unknown positions")
    if not walk.is_sized:
        walk.require(op, extent, Extent.of(1 + max(numbers) if is_front else -min(numbers)), is_equal=False)
    if is_back:
        from_the_end = walk.constant(np.array(numbers).reshape(shape_of(op.indices)))
        op.operands[1] = walk.begin(build(AddOp, [from_the_end, walk.size(extent)]))


def _gather(op: indexing.GatherOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    walk.data(op)
    data, indices = walk.axes(op.input), walk.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(data))
    content = walk.facts(op.indices).content
    if data[axis].names and _is_every_place(data[axis], walk.facts(op.indices)):
        walk.place(op)
    elif data[axis].names:
        walk.count(op, data[axis])
        _take_places(op, walk, data[axis], [] if content is None else sizes_in(content))
    _select_indices(op, walk)
    return [PaddedValue((*data[:axis], *indices, *data[axis + 1 :]))]


def _gather_elements(op: indexing.GatherElementsOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    data, indices = walk.axes(op.input), walk.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(data))
    if data[axis].names or any(a != b for place, (a, b) in enumerate(zip(data, indices, strict=True)) if place != axis):
        walk.decline(op, "gathers elements along a dynamic dimension")
    _select_indices(op, walk)
    return [PaddedValue(indices)]


def _one_hot(op: indexing.OneHotOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    walk.data(op, op.indices)
    axes = walk.axes(op.indices)
    axis = normalized_axis(op.axis.value.data, len(axes) + 1)
    (depth,) = _integers(op, walk, "depth") or [0]
    extent = as_extent(depth)
    walk.count(op, extent)
    _at_least(op, walk, 1, extent)
    return [PaddedValue((*axes[:axis], extent, *axes[axis:]))]


RULES: dict[type[Operation], Rule] = {
    ConstantOp: _constant,
    shapes.ShapeOp: _shape,
    shapes.SizeOp: _size,
    shapes.RangeOp: _range,
    CastOp: _with_lists(elementwise),
    EqualOp: _with_lists(elementwise),
    WhereOp: _with_lists(elementwise),
    AddOp: _with_lists(elementwise),
    SubOp: _with_lists(elementwise),
    DivOp: _with_lists(dividing),
    MulOp: _with_lists(elementwise),
    movement.ReshapeOp: _with_lists(_reshape),
    movement.SqueezeOp: _with_lists(_squeeze),
    movement.UnsqueezeOp: _with_lists(_unsqueeze),
    movement.TransposeOp: _transpose,
    movement.SliceOp: _with_lists(_slice),
    movement.ConcatOp: _with_lists(_concat),
    movement.SplitOp: _split,
    shapes.ExpandOp: _with_lists(_expand),
    shapes.TileOp: _tile,
    shapes.PadOp: _pad,
    shapes.TriluOp: _trilu,
    indexing.GatherOp: _with_lists(_gather),
    indexing.GatherElementsOp: _gather_elements,
    indexing.OneHotOp: _one_hot,
}
