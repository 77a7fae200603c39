"""The sums of contractions whose operands are packed: `x` as the loops read it, by weights in the layout of a schedule.

Packed weights are `[groups, blocks, taps…, steps, channels of a block * terms of a step]`. Zeros fill blocks and steps
up, so what a step reads of `x` beyond its own terms counts for nothing.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat

from qmlir.arithmetic.exact_sums import exact_matmul, sum_dtype
from qmlir.arithmetic.requantization import magnitude
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.interleaved import QUAD, rows_there
from qmlir.dialects.kernel.ops import ContractionOp, ConvOp, shaped
from qmlir.dialects.kernel.variants import (
    DEPTHWISE,
    DEPTHWISE_DOT,
    INTERLEAVED,
    S8S8_DOT,
    SHORT_STEPS,
    U8S2_DOT,
    U8S4_DOT,
    U8S8_DOT,
    WEIGHT_BITS,
)
from qmlir.dialects.kernel.winograd import WinogradOp, winograd_sums
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.text.elements import integers_of

Array = npt.NDArray[Any]

_READ_AS_UNSIGNED = (U8S8_DOT, U8S4_DOT, U8S2_DOT, *SHORT_STEPS, DEPTHWISE_DOT)
"""These add 128 to signed bytes; the one that reads signed ones takes 128 off unsigned ones."""


def _read(op: ContractionOp, variant: str, x: Array) -> Array:
    """The elements of `x` as a variant reads them: the bias has what it adds taken off."""
    integer = as_integer(shaped(op.x)[1])
    if integer is None:
        assert isinstance(op.accumulator_type, AnyFloat)
        return x.astype(f"f{op.accumulator_type.bitwidth // 8}", order="C")
    is_unsigned = op.input_unsigned is not None
    wide = integers_of(x, integer, is_unsigned=is_unsigned)
    if variant in _READ_AS_UNSIGNED:
        return wide if is_unsigned else wide + 128
    return wide - 128 if variant == S8S8_DOT and is_unsigned else wide


def unpacked_weights(weights: Array, schedule: ScheduleAttr, channels: int) -> Array:
    """Packed weights as `[groups, channels, taps…, terms]`, the terms filled up; those that share bytes apart."""
    bits, width, group = WEIGHT_BITS.get(schedule.variant, 8), schedule.vectors * schedule.lanes, schedule.k_unroll
    groups, blocks, *taps, steps, _ = weights.shape
    if bits < 8:
        above = (8 - bits - np.arange(8 // bits) * bits)[:, None]
        own = (weights.view(np.uint8)[..., None, :] << above).astype(np.uint8).view(np.int8) >> (8 - bits)
        weights = own.astype(np.int64).reshape(groups, blocks, *taps, -1, width * group)
        steps = weights.shape[-2]
    split = weights.reshape(groups, blocks, *taps, steps, width, group)
    rank = len(taps)
    ordered = split.transpose(0, 1, 3 + rank, *range(2, 3 + rank), 4 + rank)
    return ordered.reshape(groups, blocks * width, *taps, steps * group)[:, :channels]


def _windows(op: ConvOp, weights: Array, schedule: ScheduleAttr) -> Array:
    """Interleaved weights as `[1, channels, rows, columns, 1]`, without rows that lie outside of `x`."""
    _, blocks, groups, columns, *_ = weights.shape
    split = weights.reshape(blocks, groups, columns, schedule.vectors, -1, QUAD, schedule.k_unroll)
    ordered = split.transpose(0, 4, 3, 5, 1, 6, 2)
    whole = ordered.reshape(1, blocks * schedule.vectors * schedule.lanes, -1, columns, 1)
    sizes = shaped(op.x)[0][1], shaped(op.target)[0][1]
    there = rows_there(*sizes, integer_list(op.strides)[0], integer_list(op.dilations)[0])
    return whole[:, : op.channels(), :there]


def _by(left: Array, right: Array, terms: int) -> Array:
    """Rows of `left` by rows of `right`, in the last two axes: exact integers, or floats."""
    if left.dtype.kind == "f":
        return np.asarray(left @ right.swapaxes(-1, -2))
    dtype = sum_dtype(magnitude(left), magnitude(right), terms)
    return exact_matmul(left.astype(dtype), right.swapaxes(-1, -2).astype(dtype)).astype(np.int64)


def _matmul(op: ContractionOp, x: Array, weights: Array) -> Array:
    shape, terms = shaped(op.target)[0], weights.shape[-1]
    filled = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, terms - x.shape[-1])])
    if weights.shape[0] == 1:
        return _by(filled, weights[0], terms).reshape(shape)
    return _by(filled.reshape(-1, *filled.shape[-2:]), weights, terms).reshape(shape)


def _conv(op: ConvOp, x: Array, weights: Array, *, is_lanewise: bool) -> Array:
    """Each tap by itself: rows of the image are one axis, along which a step reads on into the next positions."""
    strides, dilations = integer_list(op.strides), integer_list(op.dilations)
    batch, *out, channels = shaped(op.target)[0]
    groups, own, *taps, terms = weights.shape
    depth = x.shape[-1]
    rows = x.reshape(*x.shape[:-2], -1)
    rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, depth if is_lanewise else terms)])
    sums = np.zeros((groups, batch * math.prod(out), own), x.dtype)
    if not sums.size:
        return sums.reshape(batch, *out, channels)
    for tap in np.ndindex(*taps):
        first = [place * dilation for place, dilation in zip(tap, dilations, strict=True)]
        leading = [
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(first[:-1], out[:-1], strides[:-1], strict=True)
        ]
        count = depth if is_lanewise else terms
        begin = [(place * strides[-1] + first[-1]) * depth for place in range(out[-1])]
        places = np.array(begin)[:, None] + np.array(range(count))
        for group in range(groups):
            factors = weights[(group, slice(None), *tap)]
            seen = rows[(slice(None), *leading)][..., places + group * (depth // groups)].reshape(-1, count)
            sums[group] += seen * factors[:, 0] if is_lanewise else _by(seen, factors, terms)
    return np.moveaxis(sums, 0, 1).reshape(batch, *out, channels)


def packed_sums(op: ContractionOp, x: Array, w: Array) -> Array:
    """The sums of an operation whose schedule says that its operands are packed.

    Integers wrap in the width of the accumulator, as in the loops: only with what the epilogue takes off do they fit.
    """
    schedule = op.schedule
    assert schedule is not None
    groups = w.shape[0]
    is_conv = isinstance(op, ConvOp)
    if isinstance(op, ConvOp) and schedule.variant in INTERLEAVED:
        weights = _windows(op, w, schedule)
    elif isinstance(op, WinogradOp) and op.form.takes_taps:
        weights = unpacked_weights(np.moveaxis(w, 2, -2), schedule, op.channels())
    else:
        weights = unpacked_weights(w, schedule, op.channels() // (groups if is_conv else 1))
    read = _read(op, schedule.variant, x)
    if not isinstance(op.accumulator_type, AnyFloat):
        weights = weights.astype(np.int64)
    if isinstance(op, WinogradOp):
        return winograd_sums(read, weights[0, ..., : x.shape[-1]], op.form, op.part_count)
    if not is_conv:
        sums = _matmul(op, read, weights)
    else:
        sums = _conv(op, read, weights, is_lanewise=schedule.variant in (DEPTHWISE, *INTERLEAVED))
    integer = as_integer(op.accumulator_type)
    return sums if integer is None else sums.astype(f"i{integer.width.data // 8}")
