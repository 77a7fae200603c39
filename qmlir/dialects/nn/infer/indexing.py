"""Shapes of operations that take or write elements by index, and where the axes of the data go."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import UnsupportedFormError, shapes_agree
from qmlir.dialects.nn.infer.operands import shape_text


def gathered_axes(rank: int, axis: int, indices_rank: int) -> dict[int, int]:
    """Where the axes of the data stand after a gather along `axis`; `axis` itself is gone."""
    return {place: place if place < axis else place + indices_rank - 1 for place in range(rank) if place != axis}


def check_element_indices(data: Sequence[int], indices: Sequence[int], axis: int) -> None:
    """Check that `indices` of a gather or scatter of single elements fit into the data beside `axis`."""
    if len(indices) != len(data):
        raise VerifyException(
            f"indices must have the rank of the data ({len(data)}), but got shape {shape_text(indices)}"
        )
    for place, (size, limit) in enumerate(zip(indices, data, strict=True)):
        if place != axis and DYNAMIC_INDEX not in (size, limit) and size > limit:
            raise VerifyException(
                f"indices of shape {shape_text(indices)} are larger than the data {shape_text(data)} along axis {place}"
            )


def tuple_length(data: Sequence[int], indices: Sequence[int], batch_dims: int) -> int:
    """How many numbers make one index into data whose first `batch_dims` axes the indices share."""
    if not indices or not data:
        raise VerifyException(
            f"data and indices must have rank >= 1, but got shapes {shape_text(data)} and {shape_text(indices)}"
        )
    length = indices[-1]
    if length == DYNAMIC_INDEX:
        raise UnsupportedFormError("the last dimension of indices must be static")
    if not 0 <= batch_dims < min(len(data), len(indices)):
        raise VerifyException(
            f"batch_dims must be smaller than the ranks of data ({len(data)}) and indices ({len(indices)}), but got "
            f"{batch_dims}"
        )
    if not shapes_agree(data[:batch_dims], indices[:batch_dims]):
        raise VerifyException(
            f"data {shape_text(data)} and indices {shape_text(indices)} must agree in the first {batch_dims} dimensions"
        )
    if not 1 <= length <= len(data) - batch_dims:
        raise VerifyException(
            f"the last dimension of indices must be between 1 and the number of indexed axes, but got {length} for "
            f"data of rank {len(data)}"
        )
    return length


def slices_by_tuple(data: Sequence[int], indices: Sequence[int], batch_dims: int = 0) -> tuple[int, ...]:
    """The shape of the slices that tuples of indices name, one after the other."""
    length = tuple_length(data, indices, batch_dims)
    return (*indices[:-1], *data[batch_dims + length :])


def axes_by_tuple(data: Sequence[int], indices: Sequence[int], batch_dims: int = 0) -> dict[int, int]:
    """Where the axes of the data stand in those slices."""
    first = batch_dims + tuple_length(data, indices, batch_dims)
    batch = {axis: axis for axis in range(batch_dims)}
    return batch | {axis: axis - first + len(indices) - 1 for axis in range(first, len(data))}
