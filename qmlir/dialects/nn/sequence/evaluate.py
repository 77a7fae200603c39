"""Evaluation of operations on sequences, which are tuples of arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.sequence import ops

Tensors = tuple[Array, ...]


def _position(position: Array, count: int, end: int) -> int:
    """Returns an index below `end` in a sequence of `count` tensors, counted from the front."""
    index = int(position.reshape(()))
    if not -count <= index < end:
        raise InterpretationError(f"position {index} is out of range for a sequence of length {count}")
    return index + count if index < 0 else index


def _construct(op: ops.SequenceConstructOp, tensors: Sequence[Array]) -> tuple[Tensors]:
    return (tuple(tensors),)


def _empty(op: ops.SequenceEmptyOp) -> tuple[Tensors]:
    return ((),)


def _insert(op: ops.SequenceInsertOp, tensors: Tensors, tensor: Array, position: Array | None) -> tuple[Tensors]:
    # In ONNX, negative positions refer to the sequence before the insertion: -1 inserts before the last tensor.
    count = len(tensors)
    index = count if position is None else _position(position, count, count + 1)
    return ((*tensors[:index], tensor, *tensors[index:]),)


def _erase(op: ops.SequenceEraseOp, tensors: Tensors, position: Array | None) -> tuple[Tensors]:
    index = _position(np.array(-1) if position is None else position, len(tensors), len(tensors))
    return (tensors[:index] + tensors[index + 1 :],)


def _at(op: ops.SequenceAtOp, tensors: Tensors, position: Array) -> tuple[Array]:
    return (tensors[_position(position, len(tensors), len(tensors))],)


def _length(op: ops.SequenceLengthOp, tensors: Tensors) -> tuple[Array]:
    return (np.array(len(tensors), dtype=np.int64),)


def _split(op: ops.SplitToSequenceOp, x: Array, split: Array | None) -> tuple[Tensors]:
    axis = op.axis.value.data
    sizes = _part_sizes(x.shape[axis], np.array(1) if split is None else split)
    if not sizes:
        return ((),)
    parts = np.split(x, np.cumsum(sizes)[:-1], axis=axis)
    keeps_axis = split is not None or op.keep_dims.value.data
    return (tuple(parts if keeps_axis else (part.squeeze(axis) for part in parts)),)


def _part_sizes(size: int, split: Array) -> list[int]:
    if not split.ndim:
        part = int(split)
        if part < 1:
            raise InterpretationError(f"split size must be >= 1, but got {part}")
        return [min(part, size - start) for start in range(0, size, part)]
    sizes = [int(part) for part in split]
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise InterpretationError(f"sizes {sizes} must add up to {size}, the size of the split axis")
    return sizes


def _concat(op: ops.ConcatFromSequenceOp, tensors: Tensors) -> tuple[Array]:
    if not tensors:
        raise InterpretationError("cannot concatenate an empty sequence")
    join = np.stack if op.new_axis.value.data else np.concatenate
    return (join(tensors, axis=op.axis.value.data),)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Any]]] = {
    ops.SequenceConstructOp: _construct,
    ops.SequenceEmptyOp: _empty,
    ops.SequenceInsertOp: _insert,
    ops.SequenceEraseOp: _erase,
    ops.SequenceAtOp: _at,
    ops.SequenceLengthOp: _length,
    ops.SplitToSequenceOp: _split,
    ops.ConcatFromSequenceOp: _concat,
}
