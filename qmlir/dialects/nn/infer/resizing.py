"""Sizes that a resize gives, from target sizes or from scales, with ONNX's policies for the aspect ratio."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

STRETCH, NOT_LARGER, NOT_SMALLER = POLICIES = ("stretch", "not_larger", "not_smaller")


class Resized(NamedTuple):
    """How one axis is resized: the scale that coordinates are divided by, and its new size."""

    axis: int
    scale: float
    size: int


def scaled_size(size: int, scale: float) -> int:
    """`floor(size * scale)`, the product rounded to f32 as ONNX's shape inference and ONNX Runtime do."""
    return size if size == DYNAMIC_INDEX else math.floor(np.float32(size) * np.float32(scale))


def _check(axes: Sequence[int], numbers: Sequence[float], name: str, above: float) -> None:
    if len(numbers) != len(axes):
        raise VerifyException(f"{name} must have one value for each of the axes {list(axes)}, but got {list(numbers)}")
    if any(not (number > above and math.isfinite(number)) for number in numbers):
        raise VerifyException(f"{name} must be finite and greater than {above}, but got {list(numbers)}")


def resized_by_scales(shape: Sequence[int], axes: Sequence[int], scales: Sequence[float]) -> list[Resized]:
    """Each of `axes` scaled."""
    _check(axes, scales, "scales", 0)
    return [Resized(axis, scale, scaled_size(shape[axis], scale)) for axis, scale in zip(axes, scales, strict=True)]


def resized_to_sizes(
    shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int], policy: str = STRETCH
) -> list[Resized]:
    """Each of `axes` brought to its size; where the policy keeps the aspect ratio, all by one scale."""
    _check(axes, sizes, "sizes", -1)
    before = [shape[axis] for axis in axes]
    if DYNAMIC_INDEX in before:
        known = sizes if policy == STRETCH else [DYNAMIC_INDEX] * len(axes)
        return [Resized(axis, math.nan, size) for axis, size in zip(axes, known, strict=True)]
    for axis, old, new in zip(axes, before, sizes, strict=True):
        if old == 0 and new != 0:
            raise VerifyException(f"cannot resize empty axis {axis} to {new} elements")
    ratios = [Fraction(new, old) if old else Fraction(1) for old, new in zip(before, sizes, strict=True)]
    if policy == STRETCH:
        return [Resized(axis, float(ratio), size) for axis, ratio, size in zip(axes, ratios, sizes, strict=True)]
    common = (min if policy == NOT_LARGER else max)(ratios, default=Fraction(1))
    return [
        Resized(axis, float(common), math.floor(common * old + Fraction(1, 2)))
        for axis, old in zip(axes, before, strict=True)
    ]
