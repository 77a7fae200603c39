"""Slices: whether two of them meet, against their elements listed one by one; and types of views against NumPy."""

import itertools
import random

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, i8
from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.utils.test_value import create_ssa_value

from qmlir.targets.cpu.loops.emitter import memory_of
from qmlir.targets.cpu.scheduled.aliases import (
    are_disjoint,
    is_contiguous,
    reshaped_type,
    subview,
)

SHAPE = (9, 8)


def _random_slice(numbers: random.Random) -> ExtractSliceOp:
    sizes = [numbers.randint(0, 3) for _ in SHAPE]
    strides = [numbers.randint(1, 3) for _ in SHAPE]
    offsets = [
        numbers.randint(0, length - 1 - max(size - 1, 0) * stride)
        for length, size, stride in zip(SHAPE, sizes, strides, strict=True)
    ]
    source = create_ssa_value(TensorType(i8, SHAPE))
    return ExtractSliceOp(source, offsets, sizes, strides, TensorType(i8, sizes))


def _elements(op: ExtractSliceOp) -> set[tuple[int, ...]]:
    axes = zip(
        op.static_offsets.get_values(), op.static_sizes.get_values(), op.static_strides.get_values(), strict=True
    )
    return set(itertools.product(*([offset + step * i for i in range(size)] for offset, size, step in axes)))


@pytest.mark.parametrize("seed", range(200))
def test_disjoint(seed: int) -> None:
    numbers = random.Random(seed)
    first, second = _random_slice(numbers), _random_slice(numbers)
    meet = bool(_elements(first) & _elements(second))
    # It may be too careful (strides of 2 and 3 that happen to miss each other), never too bold.
    assert not (meet and are_disjoint(first, second))
    if all(step == 1 for op in (first, second) for step in op.static_strides.get_values()):
        assert are_disjoint(first, second) != meet


def test_where_a_slice_begins_is_not_known() -> None:
    source, offset = create_ssa_value(TensorType(i8, SHAPE)), create_ssa_value(IndexType())
    known = ExtractSliceOp(source, [0, 0], [2, 2], [1, 1], TensorType(i8, (2, 2)))
    unknown = ExtractSliceOp(source, [offset, 4], [2, 2], [1, 1], TensorType(i8, (2, 2)))
    assert not are_disjoint(known, unknown)
    assert not are_disjoint(unknown, known)


@pytest.mark.parametrize("seed", range(50))
def test_type_of_a_view(seed: int) -> None:
    op = _random_slice(random.Random(seed))
    sizes = [max(size, 1) for size in op.static_sizes.get_values()]
    op = ExtractSliceOp(op.source, [1, 1], sizes, op.static_strides.get_values(), TensorType(i8, sizes))
    array = np.zeros(SHAPE, np.int8)
    steps = list(op.static_strides.get_values())
    part = array[1 : 2 + (sizes[0] - 1) * steps[0] : steps[0], 1 : 2 + (sizes[1] - 1) * steps[1] : steps[1]]
    type_ = memory_of(subview(create_ssa_value(MemRefType(i8, SHAPE)), op, sizes).result)
    assert type_.get_shape() == part.shape
    assert tuple(type_.get_strides() or ()) == part.strides
    assert type_.get_offset() == SHAPE[1] + 1
    assert is_contiguous(type_) == bool(part.flags.c_contiguous)


def test_dropped_axes() -> None:
    source = create_ssa_value(TensorType(i8, (3, 1, 4)))
    op = ExtractSliceOp(source, [2, 0, 1], [1, 1, 3], [1, 1, 1], TensorType(i8, (1, 3)))
    type_ = memory_of(subview(create_ssa_value(MemRefType(i8, (3, 1, 4))), op, (1, 3)).result)
    assert type_.get_shape() == (1, 3)
    assert type_.get_offset() == 9
    assert is_contiguous(type_)
    assert str(reshaped_type(type_, (3,))) == "memref<3xi8, strided<[1], offset: 9>>"
