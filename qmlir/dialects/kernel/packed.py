"""The sums of contractions on packed operands: `x` as the loops read it, by weights as their layout holds them."""

import math
from functools import partial

import numpy as np
from xdsl.dialects.builtin import AnyFloat

from qmlir.arithmetic.exact_sums import exact_matmul, sum_dtype
from qmlir.arithmetic.requantization import magnitude
from qmlir.dialects.kernel.ops import ContractionOp, ConvOp, shaped
from qmlir.dialects.kernel.variants import Array, Variant, WeightLayout, variant_named
from qmlir.dialects.kernel.winograd import WinogradOp, winograd_sums
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.text.elements import integers_of


def _read(op: ContractionOp, variant: Variant, x: Array) -> Array:
    """The elements of `x` as a variant reads them: the bias has what it adds taken off."""
    integer = as_integer(shaped(op.x)[1])
    if integer is None:
        assert isinstance(op.accumulator_type, AnyFloat)
        return x.astype(f"f{op.accumulator_type.bitwidth // 8}", order="C")
    is_unsigned = op.input_unsigned is not None
    return integers_of(x, integer, is_unsigned=is_unsigned) + variant.offset(is_unsigned=is_unsigned)


def _layout(op: ContractionOp, packed: Array, variant: Variant) -> WeightLayout:
    """The layout of packed weights; what was filled up counts as weights."""
    schedule = op.schedule
    assert schedule is not None
    groups, _, *sizes, steps, _ = packed.shape
    channels = op.channels() // (groups if isinstance(op, ConvOp) else 1)
    of_block = partial(variant.layout, variant, schedule.vectors, schedule.lanes)
    if isinstance(op, WinogradOp):
        return of_block(1, channels, (op.form.weight_size,) * 2, shaped(op.x)[0][-1])
    if not variant.is_interleaved or not isinstance(op, ConvOp):
        return of_block(groups, channels, tuple(sizes), steps * variant.group * variant.parts)
    rows, positions = shaped(op.x)[0][1], shaped(op.target)[0][1]
    there = (rows - 1 - (positions - 1) * integer_list(op.strides)[0]) // integer_list(op.dilations)[0] + 1
    return of_block(1, channels, (min(there, sizes[0] * variant.group), sizes[1]), 1)


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
    variant = variant_named(schedule.variant)
    weights = _layout(op, w, variant).unpack(w)
    read = _read(op, variant, x)
    if not isinstance(op.accumulator_type, AnyFloat):
        weights = weights.astype(np.int64)
    if isinstance(op, WinogradOp):
        return winograd_sums(read, weights[0], op.form, op.part_count)
    if not isinstance(op, ConvOp):
        sums = _matmul(op, read, weights)
    else:
        sums = _conv(op, read, weights, is_lanewise=variant.is_lanewise)
    integer = as_integer(op.accumulator_type)
    return sums if integer is None else sums.astype(f"i{integer.width.data // 8}")
