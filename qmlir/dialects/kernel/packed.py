"""The sums of contractions on packed operands: `x` as the loops read it, by weights as their layout holds them."""

import math

import numpy as np
from xdsl.dialects.builtin import AnyFloat

from qmlir.arithmetic.exact_sums import exact_matmul, sum_dtype
from qmlir.arithmetic.requantization import magnitude
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedConvOp, PackedMatMulOp, PackedOp, PackedWinogradOp
from qmlir.dialects.kernel.variants import Array
from qmlir.dialects.kernel.winograd import winograd_sums
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.text.elements import integers_of


def _read(op: PackedOp, x: Array) -> Array:
    """The elements of `x` as the variant reads them: the bias has what it adds taken off."""
    integer = as_integer(shaped(op.x)[1])
    if integer is None:
        assert isinstance(op.accumulator_type, AnyFloat)
        return x.astype(f"f{op.accumulator_type.bitwidth // 8}", order="C")
    is_unsigned = op.input_unsigned is not None
    return integers_of(x, integer, is_unsigned=is_unsigned) + op.layout.variant.offset(is_unsigned=is_unsigned)


def _by(left: Array, right: Array, terms: int) -> Array:
    """Rows of `left` by rows of `right`, in the last two axes: exact integers, or floats."""
    if left.dtype.kind == "f":
        return np.asarray(left @ right.swapaxes(-1, -2))
    dtype = sum_dtype(magnitude(left), magnitude(right), terms)
    return exact_matmul(left.astype(dtype), right.swapaxes(-1, -2).astype(dtype)).astype(np.int64)


def _matmul(op: PackedMatMulOp, x: Array, weights: Array) -> Array:
    shape, terms = shaped(op.target)[0], weights.shape[-1]
    filled = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, terms - x.shape[-1])])
    if weights.shape[0] == 1:
        return _by(filled, weights[0], terms).reshape(shape)
    return _by(filled.reshape(-1, *filled.shape[-2:]), weights, terms).reshape(shape)


def _conv(op: PackedConvOp, x: Array, weights: Array, *, is_lanewise: bool) -> Array:
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


def packed_sums(op: PackedOp, x: Array, w: Array) -> Array:
    """The sums of an operation on packed operands.

    Integers wrap in the width of the accumulator, as in the loops: only with what the epilogue takes off do they fit.
    """
    weights, read = op.weights().unpack(w), _read(op, x)
    if not isinstance(op.accumulator_type, AnyFloat):
        weights = weights.astype(np.int64)
    match op:
        case PackedWinogradOp():
            return winograd_sums(read, weights[0], op.form, op.part_count)
        case PackedConvOp():
            sums = _conv(op, read, weights, is_lanewise=op.layout.variant.is_lanewise)
        case _:
            assert isinstance(op, PackedMatMulOp)
            sums = _matmul(op, read, weights)
    integer = as_integer(op.accumulator_type)
    return sums if integer is None else sums.astype(f"i{integer.width.data // 8}")
