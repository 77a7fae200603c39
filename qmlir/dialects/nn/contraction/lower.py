"""Lowering of matrix products and convolutions: channels last, padded, with bias and rounding in the kernel's region.

A remark reports the bound on the sums that determined the accumulator type.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale, f32_multiplier
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn import accumulators
from qmlir.dialects.nn.contraction import lower_products, ops
from qmlir.dialects.nn.contraction.lower_products import (
    LARGEST,
    Contraction,
    Convolution,
    Factor,
    MatrixProduct,
    arranged,
    factor,
    finish_plain,
)
from qmlir.dialects.nn.lowering.indexing import channels_first, channels_last
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.text.elements import stored_integers


def _has_blocks(at: Lowering, weight: SSAValue) -> bool:
    element = quantized.uniform_element(at, weight)
    return element is not None and element.granularity is Granularity.BLOCK


def _largest_of(at: Lowering, bias: SSAValue | None) -> int:
    """Returns a bound of the absolute value of a bias."""
    if bias is None:
        return 0
    known = at.known(bias)
    element, is_unsigned = element_of(at.value(bias)), at.signedness(bias)
    if known is None or not known.size:
        return (1 << element.bitwidth - (not is_unsigned)) if isinstance(element, IntegerType) else 0
    stored = stored_integers(known, element, is_unsigned=is_unsigned)
    return max(abs(int(stored.min())), abs(int(stored.max())))


def _refuse_overflow(at: Lowering, scale: npt.ArrayLike, bias: SSAValue | None) -> None:
    """Rejects a result that is the accumulator itself, if constants prove that 32 bits don't hold every sum.

    All results saturate, but one with the scale of the accumulator promises to hold the sums exactly.
    """
    element = quantized.uniform_element(at, at.op.results[0])
    if element is None or element.bits != accumulators.BITS or not element.is_signed or element.zero_points.any():
        return
    scales, _ = broadcast_parameters(element, at.result_shape())
    if not (f32_multiplier(scale, scales) == 1).all():
        return
    limits = accumulators.refuted_limits(at.op, bias, at.known)
    if limits is not None:
        low, high = accumulators.LIMITS
        raise at.error(
            f"has sums in [{limits[0]}, {limits[1]}], which overflow its result type '{element}'; sums must be "
            f"in [{low}, {high}], or the result needs a larger scale"
        )


def finish(
    at: Lowering,
    found: Contraction,
    axes: Sequence[int],
    bias: SSAValue | None,
    scales: Array | None = None,
    copies: int = 1,
) -> SSAValue:
    """Builds a contraction, with bias and rounding in its epilogue; the result has the layout of the sums.

    `axes` maps each axis of the operation's result to a dimension of the sums. `scales` holds the weight scale of each
    channel of the result, and each of these channels corresponds to `copies` adjacent channels of the sums.
    """
    biases = () if bias is None else (Input(_copied(at, bias, copies), found.channel_map, at.signedness(bias)),)
    if found.x.element is None:
        return finish_plain(at, found, at.result_element(), biases)
    assert found.w.element is not None
    largest, total = found.largest(), found.largest() + _largest_of(at, bias)
    emit_remark(
        at.op, f"sums are within ±{largest}, and within ±{total} with the bias: accumulating in {found.accumulator()}"
    )
    rank = len(found.shape)
    scales = found.w.element.scales.reshape(-1) if scales is None else scales
    scale = accumulator_scale(found.x.element.scales.reshape(()), scales if scales.size > 1 else scales[0])
    if scale.ndim:
        scale = scale.reshape([-1 if axis == rank - 1 else 1 for axis in axes])
    _refuse_overflow(at, scale, bias)

    def spread(parameters: Array) -> Array:
        if copies == 1 or parameters.size == 1:
            return parameters
        return np.repeat(parameters, copies, int(np.argmax(parameters.shape)))  # they only differ along channels

    to_result = AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in axes))
    writing = quantized.requantizing(at, 0, scale, total, to_result, spread=spread)

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        own, parameters = quantized.split(scalars, biases, writing.inputs)
        wide = accumulator.to(i64) if total > LARGEST else accumulator
        integer = wide + own[0].to(wide.type) if own else wide
        return writing.write(integer, parameters)

    return found.build(at, at.result_element(), [*biases, *writing.inputs], body)


def _copied(at: Lowering, bias: SSAValue, copies: int) -> SSAValue:
    """Repeats each element of the bias `copies` times."""
    own = at.value(bias)
    (channels,) = shape_of(own)
    if copies == 1:
        return own
    return at.reshape(at.expand(at.reshape(own, (channels, 1)), (channels, copies)), (channels * copies,))


# --- Convolutions -----------------------------------------------------------------------------------------------------


def _padded(at: Lowering, op: ops.ConvOp) -> Factor:
    """Returns the data, channels last, padded by zero points."""
    rank, windows, data = len(shape_of(op.data)), op.windows, factor(at, op.data)
    last = at.transpose(data.value, channels_last(rank))
    low, high = zip(*(windows.padding(axis) for axis in range(rank - 2)), strict=True)
    return data.at_value(at.pad(last, (0, *low, 0), (0, *high, 0), int(data.zero_points[0])))


def _conv(op: ops.ConvOp, at: Lowering) -> Sequence[SSAValue]:
    rank, windows, result = len(shape_of(op.data)), op.windows, at.result_shape()
    data = _padded(at, op)
    if _has_blocks(at, op.weight):
        return (lower_products.conv(op, at, data),)
    weight = arranged(at, factor(at, op.weight), channels_last(rank))
    found = Convolution(data, weight, result[2:], windows.strides, windows.dilations, op.group_count)
    return (at.transpose(finish(at, found, channels_first(rank), op.bias), channels_first(rank)),)


# --- Matrix products --------------------------------------------------------------------------------------------------


def _fully_connected(op: ops.FullyConnectedOp, at: Lowering) -> Sequence[SSAValue]:
    x = factor(at, op.data)
    if _has_blocks(at, op.weight):
        return (lower_products.matrix_product(at, x, op.weight, (0, 1), op.bias),)
    return (finish(at, MatrixProduct(x, factor(at, op.weight)), range(len(shape_of(op.data))), op.bias),)


def _matmul(op: ops.MatMulOp, at: Lowering) -> Sequence[SSAValue]:
    """Vectors become matrices with one row or column; trailing batch axes that the weights lack share a matrix."""
    left, right = shape_of(op.lhs), shape_of(op.rhs)
    x = factor(at, op.lhs)
    rows = (1, *left) if len(left) == 1 else left
    columns = (1, *right) if len(right) == 1 else right
    is_transposed = op.is_rhs_transposed or len(right) == 1
    rank = len(columns)
    order = tuple(range(rank)) if is_transposed else (*range(rank - 2), rank - 1, rank - 2)
    batches = np.broadcast_shapes(rows[:-2], columns[:-2])
    axes = list(range(len(batches) + 2))
    for position, operand in ((len(batches) + 1, right), (len(batches), left)):
        if len(operand) == 1:
            axes.remove(position)
    x = x.at_value(at.expand(at.reshape(x.value, rows), (*batches, *rows[-2:])))
    if _has_blocks(at, op.rhs):
        return (lower_products.matrix_product(at, x, op.rhs, order),)
    own = factor(at, op.rhs)
    own = own.at_value(at.reshape(own.value, columns), None if own.known is None else own.known.reshape(columns))
    w = arranged(at, own, order)
    *own_batches, channels, terms = shape_of(w.value)
    own_batches = [1] * (len(batches) - len(own_batches)) + own_batches
    while own_batches and own_batches[-1] == 1:
        own_batches.pop()
    size = (*own_batches, channels, terms)
    w = w.at_value(at.reshape(w.value, size), None if w.known is None else w.known.reshape(size))
    w = w.at_value(at.expand(w.value, (*batches[: len(own_batches)], channels, terms)), w.known)
    return (at.reshape(finish(at, MatrixProduct(x, w), axes, None), at.result_shape()),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.ConvOp: _conv,
    ops.FullyConnectedOp: _fully_connected,
    ops.MatMulOp: _matmul,
}
