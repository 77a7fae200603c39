"""Quantized normalizations of rows: one operation whose body sums integers of a row, and takes one root for all of it.

The formulas are those of `qmlir.dialects.nn.interpret.quantized.normalization`, step by step.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, broadcast_map
from qmlir.dialects.kernel.lowering.row_norms import normalized
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.lower.places import axes_map
from qmlir.dialects.nn.ops import normalization as ops
from qmlir.dialects.quant.types import storage_limits
from qmlir.ir.builtin_types import shape_of


def _rows(
    op: ops.RowNormOp,
    at: Lowering,
    shape: Sequence[int],
    first: int,
    scale: Input | None,
    bias: Input | None,
) -> SSAValue:
    """The result as `shape`, whose axes from `first` on are a row."""
    everywhere = AffineMap.identity(len(shape))
    element = quantized.uniform_element(at, op.operands[0])
    assert element is not None
    zero_point = 0 if op.IS_CENTRED else element.zero_point  # the mean has it too
    largest = max(abs(limit - zero_point) for limit in storage_limits(element.storage))
    written = quantized.writing(at, 0, everywhere)
    stored = Input(at.reshape(at.value(op.operands[0]), shape), everywhere, not element.is_signed)
    parameters = [each for each in (scale, bias) if each is not None]

    def body(stored_integer: Scalar, *others: Scalar) -> Scalar:
        integer, left = stored_integer.to(i32), list(others)
        d = integer - zero_point if zero_point else integer
        x = normalized(op.integer_norm(), d, largest, range(first, len(shape)))
        if scale is not None:
            x = x * left.pop(0)
        if bias is not None:
            x = x + left.pop(0)
        return written.write(x, ())

    found = at.compute([stored, *parameters], shape, at.result_element(), body)
    return at.reshape(found, at.result_shape())


def trailing_norm(op: ops.LayerNormOp | ops.RmsNormOp, at: Lowering) -> Sequence[SSAValue]:
    """A row is the last axes; scale and bias broadcast."""
    shape, parameters = at.result_shape(), [op.scale, op.bias if isinstance(op, ops.LayerNormOp) else None]
    inputs = [
        None if each is None else Input(at.value(each), broadcast_map(shape_of(each), shape)) for each in parameters
    ]
    return (_rows(op, at, shape, op.first_axis, *inputs),)


def channel_norm(op: ops.ScaledChannelNormOp, at: Lowering) -> Sequence[SSAValue]:
    """A row is the image of a channel, or of a group of channels, which becomes an axis of its own."""
    batch, channels, *sizes = at.result_shape()
    groups = op.groups.value.data if isinstance(op, ops.GroupNormOp) else channels
    split = [] if groups == channels else [channels // groups]
    shape, along = [batch, groups, *split, *sizes], range(1, 2 + len(split))
    scale, bias = (
        Input(at.reshape(at.value(each), [groups, *split]), axes_map(len(shape), along)) for each in (op.scale, op.bias)
    )
    return (_rows(op, at, shape, 2, scale, bias),)
