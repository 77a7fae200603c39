"""Indices of elements and positions of windows in the bodies of structured operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Number, Scalar, extracted, position
from qmlir.dialects.nn.indexing.evaluate import checked_indices
from qmlir.dialects.nn.result_shapes import Windows
from qmlir.ir.builtin_types import element_of, shape_of

# Computed and tabulated indices: indices that may count from the end, and index tables for axes.


def one_element(at: Lowering, value: SSAValue, dims: int) -> Input:
    """Returns the only element of an operand, as an input of a structured operation with `dims` iterators."""
    zeros = (AffineExpr.constant(0),) * len(shape_of(value))
    return Input(at.value(value), AffineMap(dims, 0, zeros), at.signedness(value))


def place_of(index: Scalar, size: int) -> Scalar:
    """Converts an index that may count from the end to an index from the start of an axis of `size` elements.

    Negative indices count from the end. The interpreter raises an error if an index is out of range; loops clamp it, so
    that accesses stay in bounds.
    """
    wide = index.to(i64)
    if not index.unsigned:
        wide = wide.compare("lt", 0).select(wide + size, wide)
    return wide.clamp(0, size - 1).to(IndexType())


def checked(at: Lowering, indices: Array, size: int) -> Array:
    """Returns constant indices counted from the start. Raises `DiagnosticError` if one is out of range."""
    try:
        return checked_indices(indices, size)
    except InterpretationError as error:
        raise at.error(str(error)) from error


@dataclass(frozen=True)
class IndexTable:
    """Indices into an axis of `size` elements, read from an input of a structured operation."""

    input: Input
    size: int
    is_checked: bool
    """Whether the indices are constants that were checked and are counted from the start."""

    def of(self, index: Scalar) -> Scalar:
        """Returns the index from the start of the axis, for an index read from `input`."""
        return index.to(IndexType()) if self.is_checked else place_of(index, self.size)


def positions(at: Lowering, indices: SSAValue, map_: AffineMap, size: int, component: int | None = None) -> IndexTable:
    """Reads indices into an axis of `size` elements from an operand with the indexing map `map_`.

    With `component`, the last axis of the operand holds index tuples, of which the component with that number is read;
    `map_` covers the other axes.
    """
    if not size:
        raise at.error("cannot index an empty axis")
    known = at.known(indices)
    if known is not None:
        chosen = known if component is None else known[..., component]
        table = at.constant(checked(at, chosen, size).astype(np.int32), i32)
        return IndexTable(Input(table, map_), size, is_checked=True)
    last = () if component is None else (AffineExpr.constant(component),)
    whole = AffineMap(map_.num_dims, 0, (*map_.results, *last))
    return IndexTable(Input(at.value(indices), whole, at.signedness(indices)), size, is_checked=False)


def run_of(indices: Array) -> range | None:
    """Returns indices with a constant positive step as a range; `None` for any other indices."""
    first = int(indices[0])
    step = int(indices[1]) - first if len(indices) > 1 else 1
    found = range(first, first + step * len(indices), step) if step > 0 else range(0)
    return found if len(found) == len(indices) and (indices == np.asarray(found)).all() else None


def axes_map(dims: int, axes: Sequence[int]) -> AffineMap:
    """Returns the map from `dims` iterators to the iterators listed in `axes`."""
    return AffineMap(dims, 0, tuple(AffineExpr.dimension(axis) for axis in axes))


def along_axes(at: Lowering, value: SSAValue, tables: Mapping[int, Array]) -> SSAValue:
    """Selects elements of a tensor along several axes in one operation; `tables` holds the indices for each axis."""
    if not tables:
        return value
    shape = [len(tables[axis]) if axis in tables else size for axis, size in enumerate(shape_of(value))]
    inputs = [
        Input(at.constant(table.astype(np.int32), i32), axes_map(len(shape), [axis])) for axis, table in tables.items()
    ]

    def body(*found: Scalar) -> Scalar:
        builder = found[0].builder
        named = dict(zip(tables, found, strict=True))
        point = [
            named[axis].to(IndexType()) if axis in named else position(builder, axis) for axis in range(len(shape))
        ]
        return extracted(builder, value, point)

    return at.compute(inputs, shape, element_of(value), body)


# Windows over spatial axes as structured operations: channels last, padded as far as the windows extend.


def channels_last(rank: int) -> tuple[int, ...]:
    """Returns the permutation of axes from `[N, C, …]` to `[N, …, C]`."""
    return (0, *range(2, rank), 1)


def channels_first(rank: int) -> tuple[int, ...]:
    """Returns the permutation of axes from `[N, …, C]` to `[N, C, …]`."""
    return (0, rank - 1, *range(1, rank - 1))


@dataclass(frozen=True)
class SlidingWindows:
    """The iteration space `[N, windows…, C, taps…]` of windows over channels-last data."""

    windows: Windows
    counts: tuple[int, ...]
    """The number of windows along each spatial axis."""
    batch: int
    channels: int

    @property
    def spatial(self) -> int:
        """The number of spatial axes."""
        return len(self.counts)

    @property
    def dims(self) -> int:
        """The number of iterators."""
        return 2 + 2 * self.spatial

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a result with one element per window and channel, `[N, windows…, C]`."""
        return (self.batch, *self.counts, self.channels)

    @property
    def taps(self) -> tuple[int, ...]:
        """The iterators over the kernel taps, along which the windows are reduced."""
        return tuple(range(2 + self.spatial, self.dims))

    @property
    def result_map(self) -> AffineMap:
        """The map from the iterators to the result element of the window."""
        return AffineMap(self.dims, 0, tuple(AffineExpr.dimension(axis) for axis in range(2 + self.spatial)))

    def data_map(self) -> AffineMap:
        """Returns the map from the iterators to an element of the padded data."""
        positions = [AffineExpr.dimension(0)]
        for axis in range(self.spatial):
            window, tap = AffineExpr.dimension(1 + axis), AffineExpr.dimension(2 + self.spatial + axis)
            positions.append(window * self.windows.strides[axis] + tap * self.windows.dilations[axis])
        return AffineMap(self.dims, 0, (*positions, AffineExpr.dimension(1 + self.spatial)))

    def padded(self, at: Lowering, last: SSAValue, number: Number) -> SSAValue:
        """Pads channels-last data with `number` as far as the windows extend."""
        low, high = [0], [0]
        for axis, (count, size) in enumerate(zip(self.counts, shape_of(last)[1:-1], strict=True)):
            begin, end = self.windows.padding(axis)
            reach = (count - 1) * self.windows.strides[axis] + self.windows.extent(axis)
            low.append(begin)
            high.append(max(end, reach - begin - size))
        return at.pad(last, (*low, 0), (*high, 0), number)

    def inputs(self, at: Lowering, padded: SSAValue, unsigned: bool = False) -> list[Input]:
        """Returns the padded data, and an unread operand whose shape defines the bounds of the kernel taps."""
        taps = at.empty(self.windows.kernel, element_of(padded))
        map_ = AffineMap(self.dims, 0, tuple(AffineExpr.dimension(axis) for axis in self.taps))
        return [Input(padded, self.data_map(), unsigned), Input(taps, map_)]


def sliding(windows: Windows, counts: Sequence[int], shape: Sequence[int]) -> SlidingWindows:
    """Returns the iteration space of windows over `[N, C, …]` data of the given `shape`."""
    return SlidingWindows(windows, tuple(counts), shape[0], shape[1])
