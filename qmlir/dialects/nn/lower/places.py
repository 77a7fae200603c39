"""Places inside tensors that are computed or looked up: indices counted from either end, and tables for axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, extracted, position
from qmlir.dialects.nn.interpret.indexing import checked_indices
from qmlir.ir.builtin_types import element_of, shape_of


def one_element(at: Lowering, value: SSAValue, dims: int) -> Input:
    """The only element of an operand, as an input of an operation with `dims` iterators."""
    zeros = (AffineExpr.constant(0),) * len(shape_of(value))
    return Input(at.value(value), AffineMap(dims, 0, zeros), at.signedness(value))


def place_of(index: Scalar, size: int) -> Scalar:
    """An index, of which a negative one counts from the end, as a place in an axis of `size` elements.

    An index out of range is an error in the interpreter; loops clamp it, so that they stay in memory.
    """
    wide = index.to(i64)
    if not index.unsigned:
        wide = wide.compare("lt", 0).select(wide + size, wide)
    return wide.clamp(0, size - 1).to(IndexType())


def checked(at: Lowering, indices: Array, size: int) -> Array:
    """Known indices counted from the front."""
    try:
        return checked_indices(indices, size)
    except InterpretationError as error:
        raise at.error(str(error)) from error


@dataclass(frozen=True)
class Places:
    """Indices into an axis of `size` elements, as an input of a structured operation."""

    input: Input
    size: int
    is_checked: bool
    """Whether the indices are known, and places already."""

    def of(self, index: Scalar) -> Scalar:
        """The place that an index of `input` names."""
        return index.to(IndexType()) if self.is_checked else place_of(index, self.size)


def places(at: Lowering, indices: SSAValue, map_: AffineMap, size: int, component: int | None = None) -> Places:
    """The places in an axis of `size` elements that an operand names; `map_` says where the points find theirs.

    With `component`, the operand holds tuples along its last axis, of which one number is read: `map_` has the others.
    """
    if not size:
        raise at.error("cannot index an empty axis")
    known = at.known(indices)
    if known is not None:
        chosen = known if component is None else known[..., component]
        table = at.constant(checked(at, chosen, size).astype(np.int32), i32)
        return Places(Input(table, map_), size, is_checked=True)
    last = () if component is None else (AffineExpr.constant(component),)
    whole = AffineMap(map_.num_dims, 0, (*map_.results, *last))
    return Places(Input(at.value(indices), whole, at.signedness(indices)), size, is_checked=False)


def run_of(indices: Array) -> range | None:
    """Places that follow each other by one positive step, as a range."""
    first = int(indices[0])
    step = int(indices[1]) - first if len(indices) > 1 else 1
    found = range(first, first + step * len(indices), step) if step > 0 else range(0)
    return found if len(found) == len(indices) and (indices == np.asarray(found)).all() else None


def axes_map(dims: int, axes: Sequence[int]) -> AffineMap:
    """From `dims` iterators to some of them."""
    return AffineMap(dims, 0, tuple(AffineExpr.dimension(axis) for axis in axes))


def along_axes(at: Lowering, value: SSAValue, tables: Mapping[int, Array]) -> SSAValue:
    """The elements of a tensor at the places that a table names for each of some axes, in one operation."""
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
