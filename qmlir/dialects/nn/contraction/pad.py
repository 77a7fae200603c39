"""Padding rules of contractions.

Beyond the valid part of an operand, a valid window must read 0, which is the value that the operation itself pads with.
A mask inserts these zeros, unless no valid window reaches that far.
"""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.symbolic_sizes import Extent, quotient
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.padding_rules import Fill, PaddedValue, PaddingSite, Rule, on_images, zero_of
from qmlir.dialects.nn.result_shapes import Windows, output_size, transposed_size
from qmlir.ir.builtin_types import element_of


def _fully_connected(op: ops.FullyConnectedOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    data, weight = at.axes(op.data), at.axes(op.weight)
    if any(axis.names for axis in (data[-1], *weight)):
        return None
    return [PaddedValue((*data[:-1], weight[0]))]


def _matmul(op: ops.MatMulOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    left, right = at.axes(op.lhs), at.axes(op.rhs)
    if len(left) < 2 or len(right) < 2:
        return None
    terms, columns = (-1, -2) if op.is_rhs_transposed else (-2, -1)
    if left[-1] != right[terms]:
        at.together(left[-1], right[terms])
    if left[-1].names:
        at.mix(left[-1])
        if kind_of(element_of(op.lhs)) is Kind.FLOAT:
            at.decline(f"sums floats along a dynamic dimension, {left[-1]}, which may change the order of the sum")
        operands = [(op.lhs, len(left) - 1), (op.rhs, len(right) + terms)]
        if not any(axis in at.facts(value).zeros for value, axis in operands):  # one of them must be 0
            value, axis = operands[zero_of(op.lhs) is None]
            at.select(value, [axis], zero_of)
    return [PaddedValue((*at.broadcast(left[:-2], right[:-2]), left[-2], right[columns]))]


# --- Windows ----------------------------------------------------------------------------------------------------------


def _windows_along(at: PaddingSite, extent: Extent, windows: Windows, axis: int, is_ceil: bool) -> tuple[Extent, bool]:
    """Returns the number of windows along a spatial axis, and True if the last ones reach beyond its valid part."""
    if extent.number is not None:
        return Extent.of(output_size(extent.number, windows, axis, is_ceil)), False
    stride, length, (begin, end) = windows.strides[axis], windows.extent(axis), windows.padding(axis)
    if (stride, length, begin, end) == (1, 1, 0, 0):
        return extent, False
    at.derived(extent)
    if is_ceil and end >= length:
        at.decline(f"pads by a whole window in ceil_mode, so the number of windows along {extent} is unknown")
    room = begin + end - length
    at.at_least(1, quotient(extent, room + 1, 1))
    # With ceil_mode, the remainder gets one more window, which must start in the data or the padding before it:
    # min(ceil(room / s), floor((n + begin - 1) / s)) + 1.
    last = min(room + stride - 1, begin - 1) if is_ceil else room
    return quotient(extent, last + stride, stride), end > 0 or is_ceil


def slide(
    at: PaddingSite, data: SSAValue, windows: Windows, fill: Fill, *, is_ceil: bool = False
) -> tuple[tuple[Extent, ...], bool]:
    """Returns the number of windows along each spatial axis, and True if the last windows reach padding.

    The padding that they reach is replaced with `fill`."""
    found = [_windows_along(at, each, windows, axis, is_ceil) for axis, each in enumerate(at.axes(data)[2:])]
    reached = [axis for axis, (_, is_reached) in enumerate(found, 2) if is_reached]
    at.select(data, reached, fill)
    return tuple(count for count, _ in found), bool(reached)


def _kernel(op: ops.WindowedContractionOp, at: PaddingSite) -> Windows:
    return op.windows_of([axis.at({}) for axis in at.axes(op.weight)[2:]])


def _conv(op: ops.ConvOp, at: PaddingSite) -> Sequence[PaddedValue]:
    spatial, _ = slide(at, op.data, _kernel(op, at), zero_of)
    return [PaddedValue((at.axes(op.data)[0], at.axes(op.weight)[0], *spatial))]


def _conv_transpose(op: ops.ConvTransposeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    data, weight, windows = at.axes(op.data), at.axes(op.weight), _kernel(op, at)
    added = op.integers("output_padding") or (0,) * len(windows.kernel)
    spatial: list[Extent] = []
    reached: list[int] = []
    for axis, extent in enumerate(data[2:]):
        if extent.number is not None:
            spatial.append(Extent.of(transposed_size(extent.number, windows, axis, added[axis])))
            continue
        begin, end = windows.padding(axis)
        stride = windows.strides[axis]
        more = windows.extent(axis) - stride + added[axis] - begin - end
        # The first padding element adds its kernel from n * stride - begin on; the result has n * stride + more.
        if more + begin > 0:
            reached.append(axis + 2)
        is_same = (more, stride) == (0, 1)
        if not is_same:
            at.derived(extent)
        spatial.append(extent if is_same else quotient(extent * stride, more, 1))
        at.at_least(1, spatial[-1])
    at.mix(*data[2:])
    at.select(op.data, reached, zero_of)
    return [PaddedValue((data[0], Extent.of(weight[1].at({}) * op.group_count), *spatial))]


RULES: Mapping[type[Operation], Rule] = {
    ops.FullyConnectedOp: _fully_connected,
    ops.MatMulOp: _matmul,
    ops.ConvOp: on_images(_conv),
    ops.ConvTransposeOp: on_images(_conv_transpose),
}
