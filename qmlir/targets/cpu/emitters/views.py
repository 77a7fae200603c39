"""Emission of memory views, shared by all emitters: slices, reshapes and casts only rename a part of an array."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.symbols import kept_axes
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.writing import Index, LoopsWriter, memory_of, static_strides


def mixed_indices(write: LoopsWriter, static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[Index]:
    """Returns a mixed list of static and dynamic indices; `dynamic` provides the values that `static` leaves open."""
    indices = get_dynamic_index_list(integer_list(static), dynamic, DYNAMIC_INDEX)
    return [Index(constant=each) if isinstance(each, int) else write.index(each) for each in indices]


def _subview(write: LoopsWriter, op: memref.SubviewOp) -> None:
    source = write.memory(op.source)
    offsets = mixed_indices(write, op.static_offsets, op.offsets)
    shape = tuple(memory_of(op.result).get_shape())
    strides = [index.number for index in mixed_indices(write, op.static_strides, op.strides)]
    if None in strides or op.sizes:
        raise op_error(op, "has sizes or strides that are not known")
    position = write.kept(f"{write.hint(op.result, source.array)}_start", source.position(offsets))
    sizes, known = integer_list(op.static_sizes), cast(list[int], strides)
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, known, strict=True)):
        if stride < 1 or size < 0:
            raise op_error(op, f"strides and sizes must be positive, but got {known} and {list(sizes)}")
        if size:
            write.check_places(op, offset, (size - 1) * stride + 1, source.shape[axis], f"axis {axis}")
    steps = [step * stride for step, stride in zip(source.strides, known, strict=True)]
    kept = kept_axes(sizes, shape)
    if tuple(sizes[axis] for axis in kept) != shape:
        raise op_error(op, f"takes sizes {list(sizes)} that do not reduce to the shape {list(shape)}")
    strides = tuple(steps[axis] for axis in kept)
    write.view_memory(op, op.result, replace(source, offset=position, shape=shape, strides=strides))


def _reshaped(write: LoopsWriter, op: Operation) -> None:
    """Emits a reshape. Axes that it joins or splits must be contiguous with each other; other axes may have gaps."""
    source, result = write.memory(op.operands[0]), op.results[0]
    type_ = memory_of(result)
    found = replace(source, shape=tuple(type_.get_shape()), strides=static_strides(op, type_))
    if _runs(source.shape, source.strides) != _runs(found.shape, found.strides):
        raise op_error(op, f"reinterprets memory with gaps: strides {list(source.strides)}")
    write.view_memory(op, result, found)


def _runs(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the size and stride of each contiguous run of axes, innermost first.

    Two shapes describe the same elements in the same order if their runs are equal.
    """
    runs: list[tuple[int, int]] = []
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if runs and runs[-1][0] * runs[-1][1] == stride:
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    return runs


def _same_memory(write: LoopsWriter, op: Operation) -> None:
    write.view_memory(op, op.results[0], write.memory(op.operands[0]))


def _reinterpret_cast(write: LoopsWriter, op: memref.ReinterpretCastOp) -> None:
    source = write.memory(op.source)
    (offset,) = mixed_indices(write, op.static_offsets, op.offsets)
    strides = integer_list(op.static_strides)
    if source.offset.number != 0 or DYNAMIC_INDEX in strides or op.sizes:
        raise op_error(op, "reinterprets memory that does not begin at 0, or by strides that are not known")
    shape = tuple(memory_of(op.result).get_shape())
    write.view_memory(op, op.result, replace(source, offset=offset, shape=shape, strides=strides))


def _dim(write: LoopsWriter, op: memref.DimOp) -> None:
    axis = write.index(op.index).number
    if axis is None:
        raise op_error(op, "asks for the size of an axis that is not known")
    write.values[op.result] = Index(constant=write.memory(op.source).shape[axis])


def _rank(write: LoopsWriter, op: memref.RankOp) -> None:
    write.values[op.rank] = Index(constant=len(write.memory(op.source).shape))


def _nothing(write: LoopsWriter, op: Operation) -> None:
    """Emits nothing: memory is freed together with the program."""


VIEWS: dict[type[Operation], Any] = {
    memref.SubviewOp: _subview,
    memref.ExpandShapeOp: _reshaped,
    memref.CollapseShapeOp: _reshaped,
    ReshapeOp: _reshaped,
    memref.CastOp: _same_memory,
    memref.MemorySpaceCastOp: _same_memory,
    memref.AssumeAlignmentOp: _same_memory,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.DimOp: _dim,
    memref.RankOp: _rank,
    memref.DeallocOp: _nothing,
}
