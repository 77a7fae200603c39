"""Padding rules of resizing along dynamic dimensions."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.symbolic_sizes import Extent, as_extent, quotient
from qmlir.dialects.nn.elementwise.ops import MinOp
from qmlir.dialects.nn.padding_rules import ONE, Axes, PaddedValue, PaddingSite, Rule, each_sample
from qmlir.dialects.nn.resizing import evaluate as resized
from qmlir.dialects.nn.resizing.ops import STRETCH, Resized, ResizeOp, scaled_size

MOST_DENOMINATOR = 64
"""The largest denominator of a scale that is recognized as a fraction."""


def _resize(op: ResizeOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    axes = at.axes(op.input)
    chosen = op.resized_axes(len(axes))
    is_open = [axis for axis in chosen if axes[axis].names]
    scales = op.floats("scales")
    if at.is_sized or not is_open:
        is_moved = 0 in chosen and (scales is None or scales[0] != 1)
        return None if is_moved else each_sample(op, at)
    if op.is_crop or op.scales_value is not None or op.keep_aspect_ratio_policy.data != STRETCH:
        at.decline(
            f"resizes a dimension of size {axes[is_open[0]]} by a crop, by runtime scales or by one scale for all axes"
        )
    after = list(axes)
    for axis, (grown, ratio, scale) in zip(chosen, _grown(op, at, axes, chosen), strict=True):
        extent, after[axis] = axes[axis], grown
        if extent.names and ratio != 1:
            at.derived(extent)
            at.at_least(1, grown)
            _repeat_the_last(op, at, axis, ratio, scale)
    return [PaddedValue(tuple(after))]


def _grown(op: ResizeOp, at: PaddingSite, axes: Axes, chosen: Sequence[int]) -> list[tuple[Extent, Fraction, float]]:
    """Returns, for each of the `chosen` axes, its new extent, its scale as a fraction, and its scale."""
    scales = op.floats("scales")
    if scales is not None:
        return [_scaled(at, axes[axis], scale) for axis, scale in zip(chosen, scales, strict=True)]
    found: list[tuple[Extent, Fraction, float]] = []
    for axis, size in zip(chosen, at.sizes("sizes") or (), strict=True):
        before, after = axes[axis], as_extent(size)
        if before.opened != after.opened:
            at.decline(f"resizes a dimension from {before} to {after}, a scale that depends on the runtime size")
        if before.names and not before.scale:
            at.decline(f"resizes a dimension of size {before}, which has no elements")
        ratio = Fraction(after.scale, before.scale) if before.names else Fraction(1)
        found.append((after, ratio, float(ratio)))
    return found


def _scaled(at: PaddingSite, extent: Extent, scale: float) -> tuple[Extent, Fraction, float]:
    """Returns these for one axis. For a dynamic axis, the fraction must give the right size at every runtime size."""
    if extent.number is not None:
        return Extent.of(scaled_size(extent.number, scale)), Fraction(scale), scale
    ratio = Fraction(scale).limit_denominator(MOST_DENOMINATOR)
    capacity = extent.at(at.capacities)
    if np.float32(float(ratio)) != np.float32(scale) or any(
        scaled_size(size, scale) != size * ratio.numerator // ratio.denominator for size in range(1, capacity + 1)
    ):
        at.decline(f"resizes a dimension of size {extent} by {scale}, which is not a simple fraction")
    return quotient(extent * ratio.numerator, 0, ratio.denominator), ratio, scale


def _sampled(op: ResizeOp, axis: int, length: int, ratio: Fraction, scale: float) -> tuple[Array, Array]:
    """Returns the input indices and weights of each result element along an axis of `length`."""
    size = length * ratio.numerator // ratio.denominator
    to = resized.Axis(length, Resized(axis, scale, size), *map(np.float32, (scale, 0, 1)))
    x = resized.coordinates(op, to)
    if op.is_nearest:
        elements = resized.nearest_elements(op, x, to)[:, None]
        return elements, np.ones(elements.shape)
    return resized.weights_of(op, x, to)


def _repeat_the_last(op: ResizeOp, at: PaddingSite, axis: int, ratio: Fraction, scale: float) -> None:
    """Replaces padding along `axis` by the last valid element if valid result elements read it.

    For every runtime size, this checks that each valid element then reads the same elements with the same weights as it
    would at that size.
    """
    extent = at.axes(op.input)[axis]
    capacity = extent.at(at.capacities)
    elements, weights = _sampled(op, axis, capacity, ratio, scale)
    is_reached = False
    for length in range(1, capacity):
        own, own_weights = _sampled(op, axis, length, ratio, scale)
        count, taps = own.shape
        reads = elements[:count]
        if taps != reads.shape[1] or not (
            np.array_equal(own, np.minimum(reads, length - 1)) and np.array_equal(own_weights, weights[:count])
        ):
            mode = op.coordinate_transformation_mode.data
            at.decline(f"samples a dimension of size {extent} at coordinates ({mode}) that depend on the runtime size")
        is_reached = is_reached or bool((reads[own_weights != 0] >= length).any())
    if is_reached:
        last = at.size(extent) - at.size(ONE)
        at.take(op.input, axis, at.constant(np.arange(capacity)).apply(MinOp, last))


RULES: Mapping[type[Operation], Rule] = {ResizeOp: _resize}
