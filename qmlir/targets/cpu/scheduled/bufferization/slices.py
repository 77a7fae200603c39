"""Slices of tensors as memory: strided types, and whether two slices have an element in common."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue

from qmlir.ir.builtin_types import integer_list

AnyMemRef: TypeAlias = MemRefType[Attribute]
SliceOp: TypeAlias = tensor.ExtractSliceOp | tensor.InsertSliceOp


def as_memory(type_: Attribute) -> AnyMemRef | None:
    """`type_` where it is that of memory."""
    return cast(AnyMemRef, type_) if isinstance(type_, MemRefType) else None


def memory_type(type_: Attribute) -> AnyMemRef:
    """`type_`, which is that of memory."""
    assert isinstance(type_, MemRefType)
    return cast(AnyMemRef, type_)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of memory without gaps."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def strides_of(type_: AnyMemRef) -> tuple[int | None, ...]:
    """The strides of memory in elements, `None` where they are not known."""
    return tuple(type_.get_strides() or ())


def is_contiguous(type_: AnyMemRef) -> bool:
    """Whether the elements lie in row-major order without gaps, from wherever they begin."""
    shape = type_.get_shape()
    if not math.prod(shape):
        return True
    axes = zip(shape, strides_of(type_), row_major(shape), strict=True)
    return all(size == 1 or found == wanted for size, found, wanted in axes)


def reshaped_type(type_: AnyMemRef, shape: Sequence[int]) -> AnyMemRef:
    """The type of contiguous memory of `type_` under another shape."""
    offset = type_.get_offset()
    layout = NoneAttr() if offset == 0 else StridedLayoutAttr(row_major(shape), offset)
    return MemRefType(type_.get_element_type(), shape, layout)


def _mixed(static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[SSAValue | int]:
    given = iter(dynamic)
    return [next(given) if value == DYNAMIC_INDEX else value for value in integer_list(static)]


def _kept_axes(sizes: Sequence[int], reduced: Sequence[int]) -> list[int]:
    """The axes that are left where a slice drops some of size 1: the last of them that fit."""
    kept: list[int] = []
    wanted = list(reduced)
    for axis, size in enumerate(sizes):
        if size != 1 or wanted[:1] == [1]:
            kept.append(axis)
            wanted = wanted[1:]
    return kept


def subview(source: SSAValue, op: SliceOp, shape: Sequence[int]) -> memref.SubviewOp:
    """The view into the memory `source` that the slice `op` takes out of it, or writes, as memory of `shape`."""
    offsets, sizes = _mixed(op.static_offsets, op.offsets), _mixed(op.static_sizes, op.sizes)
    strides = _mixed(op.static_strides, op.strides)
    whole = memref.SubviewOp.infer_result_type(memory_type(source.type), offsets, sizes, strides)
    known = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    kept = _kept_axes(known, shape)
    steps = strides_of(whole)
    layout = StridedLayoutAttr([steps[axis] for axis in kept], whole.get_offset())
    type_ = MemRefType(whole.get_element_type(), [known[axis] for axis in kept], layout)
    return memref.SubviewOp.get(source, offsets, sizes, strides, type_)


def are_disjoint(first: SliceOp, second: SliceOp) -> bool:
    """Whether two slices of one tensor certainly have no element in common."""
    mine, other = _ranges(first), _ranges(second)
    return mine is not None and other is not None and any(map(_apart, mine, other))


def is_same_slice(first: SliceOp, second: SliceOp) -> bool:
    """Whether two slices certainly are the same elements of tensors of one shape, in the same order."""
    mine = _ranges(first)
    return mine is not None and mine == _ranges(second)


def is_static(op: SliceOp) -> bool:
    """Whether offsets, sizes and strides are numbers."""
    return _ranges(op) is not None


def bounds(op: SliceOp) -> tuple[list[float], list[float]]:
    """The first and the last index along each axis; infinite ones where they are not known."""
    ranges = _ranges(op)
    if ranges is None:
        rank = len(integer_list(op.static_sizes))
        return [-math.inf] * rank, [math.inf] * rank
    return [each[0] if each else math.inf for each in ranges], [each[-1] if each else -math.inf for each in ranges]


def _ranges(op: SliceOp) -> list[range] | None:
    lists = [integer_list(each) for each in (op.static_offsets, op.static_sizes, op.static_strides)]
    if any(DYNAMIC_INDEX in each for each in lists):
        return None
    return [range(offset, offset + size * stride, stride) for offset, size, stride in zip(*lists, strict=True)]


def _apart(first: range, second: range) -> bool:
    if not first or not second or first[-1] < second[0] or second[-1] < first[0]:
        return True
    step = math.gcd(first.step, second.step)
    return bool((first.start - second.start) % step)
