"""Shapes of operations that repeat elements or add some: what padding adds, which axes stay as they are."""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.infer.movement import normalized_axes


class Padding(NamedTuple):
    """The elements added before and after an axis; negative numbers take elements away."""

    before: int
    after: int


def paddings(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> tuple[Padding, ...]:
    """The padding of each of `rank` axes, of which `axes` are padded: all begins, then all ends (ONNX Pad)."""
    padded = range(rank) if axes is None else normalized_axes(axes, rank)
    count = len(padded)
    if len(pads) != 2 * count:
        raise VerifyException(f"pads must have two values for each of {count} axes, but got {list(pads)}")
    found = [Padding(0, 0)] * rank
    for place, axis in enumerate(padded):
        found[axis] = Padding(pads[place], pads[count + place])
    return tuple(found)


def padded_shape(shape: Sequence[int], pads: Sequence[Padding]) -> tuple[int, ...]:
    """`shape` with its padding."""
    sizes: list[int] = []
    for axis, (size, (before, after)) in enumerate(zip(shape, pads, strict=True)):
        if size != DYNAMIC_INDEX and size + before + after < 0:
            raise VerifyException(f"cannot remove {-before - after} of the {size} elements along axis {axis}")
        if (before, after) == (0, 0):
            sizes.append(size)
        else:
            sizes.append(DYNAMIC_INDEX if size == DYNAMIC_INDEX else size + before + after)
    return tuple(sizes)


def unchanged_axes(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """The axes whose size stays, aligned at the end; an unknown size is not a size that stays."""
    offset = len(after) - len(before)
    return {
        axis: axis + offset
        for axis, size in enumerate(before)
        if size == after[axis + offset] and size != DYNAMIC_INDEX
    }
