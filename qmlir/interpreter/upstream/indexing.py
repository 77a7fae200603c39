"""Bounds-checked indices and slices, from the offsets, sizes and strides of operations.

`memref`, `tensor` and `vector` address their operands in the same way. NumPy's indexing can't be used directly, because
it counts negative indices from the end and truncates slices.
"""

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.upstream.scalars import is_array, scalar_of
from qmlir.ir.builtin_types import integer_list

Place = tuple[int, ...]


def check_place(array: Array, position: Sequence[Any], type_: Attribute) -> tuple[Any, ...]:
    """Returns `position` as a checked index into `array`, a value of type `type_`; it may contain arrays of indices."""
    indices = tuple(position)
    for index, size in zip(indices, array.shape, strict=True):
        if is_array(index):
            outside = index[(index < 0) | (index >= size)]
            if outside.size:
                raise InterpretationError(f"index {outside.flat[0]} is out of bounds of {type_} with size {size}")
        elif not 0 <= index < size:
            raise InterpretationError(
                f"index {list(indices)} is out of bounds of {type_} with the shape {list(array.shape)}"
            )
    return indices


def element(op: Operation, array: Array, position: Place) -> tuple[Any]:
    """Evaluates an operation that reads the element of its first operand at `position`."""
    found: Any = array[check_place(array, position, op.operands[0].type)]
    return (found if is_array(found) else scalar_of(found, op.results[0].type),)


def dimension(op: Operation, array: Array, axis: int) -> tuple[int]:
    """Evaluates an operation that returns the size of its first operand along `axis`."""
    if not 0 <= axis < array.ndim:
        type_ = op.operands[0].type
        raise InterpretationError(f"dimension {axis} is out of bounds of {type_} with rank {array.ndim}")
    return (array.shape[axis],)


def mixed(static: DenseArrayBase[Any], dynamic: Sequence[int]) -> Place:
    """Returns the entries of `static`, in which `dynamic` replaces the dynamic entries in order."""
    given = iter(dynamic)
    return tuple(next(given) if value == DYNAMIC_INDEX else value for value in integer_list(static))


def dynamic_shape(shape: Sequence[int], sizes: Sequence[int]) -> Place:
    """Returns `shape`, in which `sizes` replaces the dynamic sizes in order."""
    if shape.count(DYNAMIC_INDEX) != len(sizes):
        raise InterpretationError(
            f"expected one size per dynamic dimension ({shape.count(DYNAMIC_INDEX)}), but got {len(sizes)}"
        )
    given = iter(sizes)
    found = tuple(next(given) if size == DYNAMIC_INDEX else size for size in shape)
    if any(size < 0 for size in found):
        raise InterpretationError(f"sizes must be >= 0, but got {list(found)}")
    return found


def slices(array: Array, offsets: Place, sizes: Place, strides: Place, type_: Attribute) -> tuple[slice, ...]:
    """Returns the slices of `array` with these offsets, sizes and strides, checked against its shape."""
    for offset, size, stride, length in zip(offsets, sizes, strides, array.shape, strict=True):
        if stride <= 0 or size < 0:
            raise InterpretationError(
                f"strides and sizes must be positive, but got strides {list(strides)} and sizes {list(sizes)}"
            )
        if offset < 0 or (size and offset + (size - 1) * stride >= length):
            raise InterpretationError(
                f"the slice at {list(offsets)} of sizes {list(sizes)} and strides {list(strides)} is out of bounds "
                f"of {type_} with the shape {list(array.shape)}"
            )
    return tuple(
        slice(offset, offset + max(size - 1, 0) * stride + bool(size), stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    )


def index_of_reduced(sizes: Place, reduced: Sequence[int]) -> tuple[Any, ...]:
    """Returns the NumPy index that drops the unit axes of a slice that are missing in the shape `reduced`."""
    wanted = list(reduced)
    excess = len(sizes) - len(wanted)
    index: list[Any] = []
    for size in sizes:
        matches = bool(wanted) and wanted[0] in (size, DYNAMIC_INDEX)
        if excess and size == 1 and not (matches and wanted[0] == 1):
            index.append(0)
            excess -= 1
        elif matches:
            index.append(slice(None))
            wanted.pop(0)
        else:
            raise InterpretationError(f"sizes {list(sizes)} do not reduce to the shape {list(reduced)}")
    if wanted:
        raise InterpretationError(f"sizes {list(sizes)} do not reduce to the shape {list(reduced)}")
    return (*index, ...)  # the ellipsis makes it a view, even for one element


def collapsed_shape(shape: Sequence[int], reassociation: ArrayAttr[ArrayAttr[IntegerAttr]]) -> Place:
    """Returns the shape with the axes of each group collapsed."""
    return tuple(math.prod(shape[axis.value.data] for axis in group) for group in reassociation)


def check_shape(array: Array, shape: Sequence[int], type_: Attribute) -> Array:
    """Returns `array`. Raises `InterpretationError` if its shape doesn't match the static sizes in `shape`."""
    if len(shape) != array.ndim or any(a not in (b, DYNAMIC_INDEX) for a, b in zip(shape, array.shape, strict=True)):
        raise InterpretationError(f"shape {list(array.shape)} is incompatible with {type_}")
    return array
