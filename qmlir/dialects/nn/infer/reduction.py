"""Which axes a reduction takes, and the shape that it leaves."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX

from qmlir.dialects.nn.infer.movement import normalized_axes


def reduced_axes(axes: Sequence[int] | None, rank: int, empty_is_none: bool = False) -> tuple[int, ...]:
    """The axes that `axes` names, counted from the front: all where it names none, unless `empty_is_none`."""
    if not axes:
        return () if empty_is_none else tuple(range(rank))
    return normalized_axes(axes, rank)


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keep_dims: bool) -> tuple[int, ...]:
    """`shape` reduced along `axes`, counted from the front."""
    if keep_dims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def kept_axes(rank: int, axes: Sequence[int], keep_dims: bool) -> dict[int, int]:
    """Where the axes that are not reduced stand in the result."""
    kept = [axis for axis in range(rank) if axis not in axes]
    return {axis: axis if keep_dims else place for place, axis in enumerate(kept)}


def open_shape(rank: int, count: int, keep_dims: bool) -> tuple[int, ...]:
    """The shape that a reduction along `count` axes leaves of `rank`, where the axes are not known."""
    return (DYNAMIC_INDEX,) * (rank if keep_dims else rank - count)
