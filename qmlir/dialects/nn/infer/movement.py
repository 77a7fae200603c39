"""Shapes of operations that move data, and where they move the axis of per-axis parameters."""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.types import Granularity, UniformType


def normalized_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises where it is out of rank."""
    if not -rank <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Each of `axes` counted from the front. Raises where one is out of rank or named twice."""
    found = tuple(normalized_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise VerifyException(f"axes must be unique, but got {list(axes)}")
    return found


def has_axis_parameters(element: Attribute) -> bool:
    """Whether the parameters of an element type depend on where the element stands."""
    return isinstance(element, UniformType) and element.granularity is not Granularity.TENSOR


def moved_element(element: Attribute, axis_map: dict[int, int] | None) -> Attribute:
    """The element type after a movement that takes axis `a` to `axis_map[a]` (`None`: no axis survives)."""
    if not isinstance(element, UniformType) or element.granularity is Granularity.TENSOR:
        return element
    if element.granularity is Granularity.BLOCK:
        raise VerifyException(f"cannot move values quantized block-wise ('{element}')")
    if axis_map is None or element.axis not in axis_map:
        raise VerifyException(f"axis {element.axis}, which has per-axis parameters, must be kept ('{element}')")
    return element.along(axis_map[element.axis])


def transposed_shape(shape: Sequence[int], permutation: Sequence[int]) -> tuple[int, ...]:
    """`shape` with its axes in the order of `permutation`."""
    if sorted(permutation) != list(range(len(shape))):
        raise VerifyException(f"{list(permutation)} is not a permutation of {len(shape)} axes")
    return tuple(shape[axis] for axis in permutation)


def transposed_element(element: Attribute, permutation: Sequence[int]) -> Attribute:
    """The element type after a transpose, which leaves every axis whole, those of blocks too."""
    if isinstance(element, UniformType) and element.granularity is Granularity.BLOCK:
        return element.permuted(permutation)
    return moved_element(element, {axis: place for place, axis in enumerate(permutation)})


def surviving_axes(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """The axes that a reshape leaves whole: same size, and as many elements in front of them."""
    if DYNAMIC_INDEX in before or DYNAMIC_INDEX in after:
        return {}
    found: dict[int, int] = {}
    for axis, size in enumerate(before):
        for other, other_size in enumerate(after):
            if size == other_size and math.prod(before[:axis]) == math.prod(after[:other]):
                found.setdefault(axis, other)
    return found


def reshaped_shape(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """`after`, with the one size that it leaves open where the others and the elements of `before` tell it."""
    open_axes = [axis for axis, size in enumerate(after) if size == DYNAMIC_INDEX]
    known = math.prod(size for size in after if size != DYNAMIC_INDEX)
    if len(open_axes) != 1 or DYNAMIC_INDEX in before or known == 0:
        return tuple(after)
    count = math.prod(before)
    if count % known:
        raise VerifyException(
            f"cannot reshape {list(before)} ({count} elements): {count} is not divisible by the product of "
            f"the known output sizes, {known}"
        )
    return tuple(count // known if size == DYNAMIC_INDEX else size for size in after)


def check_reshape(before: Sequence[int], after: Sequence[int]) -> None:
    """Check that two shapes have the same number of elements, as far as it is known."""
    if DYNAMIC_INDEX not in before and DYNAMIC_INDEX not in after and math.prod(before) != math.prod(after):
        raise VerifyException(
            f"cannot reshape {list(before)} ({math.prod(before)} elements) "
            f"to {list(after)} ({math.prod(after)} elements)"
        )


def concatenated_shape(shapes: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """The shape of tensors joined along `axis`; all other sizes must agree."""
    first = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise VerifyException(f"operands must have the same rank, but got shapes {[list(each) for each in shapes]}")
        for index, size in enumerate(shape):
            if index == axis:
                first[index] = DYNAMIC_INDEX if DYNAMIC_INDEX in (first[index], size) else first[index] + size
            elif first[index] == DYNAMIC_INDEX:
                first[index] = size
            elif size not in (DYNAMIC_INDEX, first[index]):
                raise VerifyException(
                    f"operands must agree along axis {index}, but got shapes {[list(each) for each in shapes]}"
                )
    return tuple(first)


def slice_indices(size: int, start: int, end: int, step: int) -> range:
    """The indices that ONNX's Slice takes along an axis of `size` elements."""
    if step == 0:
        raise VerifyException("step must not be 0")
    return range(*slice(start, None if step < 0 and end < -size else end, step).indices(size))


def sliced_shape(
    shape: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> tuple[int, ...]:
    """The shape that is left of `shape`."""
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise VerifyException("starts, ends, axes and steps must have the same length")
    sizes = list(shape)
    for axis, start, end, step in zip(normalized_axes(axes, len(shape)), starts, ends, steps, strict=True):
        if sizes[axis] != DYNAMIC_INDEX:
            sizes[axis] = len(slice_indices(sizes[axis], start, end, step))
    return tuple(sizes)


def cut_axes(
    shape: Sequence[int], starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> tuple[int, ...]:
    """The axes along which a slice leaves elements out, or puts them in another order."""
    bounds = zip(normalized_axes(axes, len(shape)), starts, ends, steps, strict=True)
    return tuple(
        axis
        for axis, start, end, step in bounds
        if shape[axis] == DYNAMIC_INDEX or slice_indices(shape[axis], start, end, step) != range(shape[axis])
    )


def split_sizes(size: int, sizes: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """The sizes of the `count` parts of an axis: those given, or equal ones of which the last may be smaller."""
    if sizes is None:
        if size == DYNAMIC_INDEX:
            return (DYNAMIC_INDEX,) * count
        part = -(-size // count)
        sizes = (part,) * (count - 1) + (size - part * (count - 1),)
    if len(sizes) != count:
        raise VerifyException(f"expected one size for each of {count} results, but got {len(sizes)} sizes")
    if any(part < 0 for part in sizes) or size not in (DYNAMIC_INDEX, sum(sizes)):
        raise VerifyException(f"sizes {list(sizes)} must add up to {size}, the size of the split axis")
    return tuple(sizes)


def regrouped_size(size: int, factor: int) -> int:
    """A size that is divided by `factor`, which must divide it."""
    if size == DYNAMIC_INDEX:
        return size
    if size % factor:
        raise VerifyException(f"block size {factor} must divide {size}")
    return size // factor


def multiplied_size(size: int, factor: int) -> int:
    """A size that is multiplied by `factor`."""
    return size if size == DYNAMIC_INDEX else size * factor
