"""Gradients of contractions: matrix products, convolutions, and Einstein sums.

The gradient with respect to the data of a convolution is a transposed convolution, and vice versa. The gradient with
respect to the weights is a convolution of the data with the gradient of the result, in which batch and channels are
exchanged, and so are strides and dilations.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.contraction.ops import EinsumOp, Equation
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule
from qmlir.dialects.nn.result_shapes import Windows
from qmlir.ir.builtin_types import shape_of


def _product(at: Backward, a: SSAValue, b: SSAValue, transpose_b: bool = False) -> SSAValue:
    return at.add(ops.MatMulOp, a, b, transpose_b=transpose_b).result


def _turned(at: Backward, value: SSAValue) -> SSAValue:
    """Transposes the last two axes of `value`."""
    *outer, row, column = range(len(shape_of(value)))
    return at.transposed(value, [*outer, column, row])


def _matmul(at: Backward, op: ops.MatMulOp, gradient: SSAValue) -> Gradients:
    """For `C = A B`: `dA = dC B'`, `dB = A' dC`; a vector is a matrix with one row or column."""
    a, b = op.lhs, op.rhs
    row, column = len(shape_of(a)) == 1, len(shape_of(b)) == 1
    if column:
        b, gradient = at.unsqueezed(b, [1]), at.unsqueezed(gradient, [-1])
    if row:
        a, gradient = at.unsqueezed(a, [0]), at.unsqueezed(gradient, [-2])
    if op.is_rhs_transposed:
        da, db = _product(at, gradient, b), _product(at, _turned(at, gradient), a)
    else:
        da, db = _product(at, gradient, b, transpose_b=True), _product(at, _turned(at, a), gradient)
    # The last two axes are not broadcast.
    da = at.reduced(da, a, [(*shape_of(b)[:-2], 1, 1)])
    db = at.reduced(db, b, [(*shape_of(a)[:-2], 1, 1)])
    return at.squeezed(da, [0] if row else []), at.squeezed(db, [1] if column else [])


def _fully_connected(at: Backward, op: ops.FullyConnectedOp, gradient: SSAValue) -> Gradients:
    outer = range(len(shape_of(op.data)) - 2)
    weight = at.sum(_product(at, _turned(at, gradient), op.data), list(outer))
    parts = [_product(at, gradient, op.weight), weight]
    if op.bias is not None:
        parts.append(at.sum(gradient, range(len(shape_of(gradient)) - 1)))
    return parts


# --- Convolutions -----------------------------------------------------------------------------------------------------


def spread(
    at: Backward, value: SSAValue, weight: SSAValue, windows: Windows, sizes: Sequence[int], groups: int = 1
) -> SSAValue:
    """Adds each element of `value`, times the kernel, to the data in its window; the data has spatial `sizes`."""
    begins: list[int] = []
    ends: list[int] = []
    missing: list[int] = []
    for axis, (count, size) in enumerate(zip(shape_of(value)[2:], sizes, strict=True)):
        begin, _ = windows.padding(axis)
        beyond = (count - 1) * windows.strides[axis] + windows.extent(axis) - begin - size
        begins.append(begin)
        ends.append(max(beyond, 0))
        missing.append(max(-beyond, 0))  # elements at the end that no window reads
    properties: dict[str, Any] = {"output_padding": missing} if any(missing) else {}
    return at.add(
        ops.ConvTransposeOp, value, weight,
        strides=windows.strides, dilations=windows.dilations, pads=[*begins, *ends], groups=groups, **properties,
    ).result  # fmt: skip


def _of_weights(at: Backward, op: ops.WindowedContractionOp, data: SSAValue, result: SSAValue) -> SSAValue:
    """Returns the gradient of weights `[M, C / groups, …]` that map `data` `[N, C, …]` to `result` `[N, M, …]`."""
    windows, groups = op.windows, op.group_count
    batch, channels, *sizes = at.known_shape(data)
    inner, spatial = channels // groups, range(2, 2 + len(sizes))
    grouped = at.reshaped(data, [batch, groups, inner, *sizes]) if groups > 1 else at.unsqueezed(data, [1])
    order = [2, 1, 0, *(axis + 1 for axis in spatial)]
    by_channel = at.reshaped(at.transposed(grouped, order), [inner, groups * batch, *sizes])
    kernel = at.add(
        ops.ConvOp, by_channel, at.transposed(result, [1, 0, *spatial]),
        strides=windows.dilations, dilations=windows.strides, pads=windows.pads, groups=groups,
    ).result  # fmt: skip
    for axis, size in zip(spatial, windows.kernel, strict=True):
        if shape_of(kernel)[axis] != size:  # the end of the data that no window covers
            kernel = at.sliced(kernel, axis, 0, size)
    return at.transposed(kernel, [1, 0, *spatial])


def _with_bias(at: Backward, op: ops.BiasedContractionOp, gradient: SSAValue, *parts: SSAValue) -> Gradients:
    if op.bias is None:
        return parts
    return [*parts, at.sum(gradient, [0, *range(2, len(shape_of(gradient)))])]


def _conv(at: Backward, op: ops.ConvOp, gradient: SSAValue) -> Gradients:
    at.known_shape(op.result)
    data = spread(at, gradient, op.weight, op.windows, at.known_shape(op.data)[2:], op.group_count)
    return _with_bias(at, op, gradient, data, _of_weights(at, op, op.data, gradient))


def _conv_transpose(at: Backward, op: ops.ConvTransposeOp, gradient: SSAValue) -> Gradients:
    windows, sizes = op.windows, at.known_shape(op.data)
    at.known_shape(op.result)
    data = at.add(
        ops.ConvOp, gradient, op.weight,
        strides=windows.strides, dilations=windows.dilations, pads=windows.pads, groups=op.group_count,
    ).result  # fmt: skip
    for axis, size in enumerate(sizes[2:], 2):
        if shape_of(data)[axis] != size:  # windows that lie in the output padding
            data = at.sliced(data, axis, 0, size)
    return _with_bias(at, op, gradient, data, _of_weights(at, op, gradient, op.data))


# --- Sums of products by labels ---------------------------------------------------------------------------------------


def _einsum(at: Backward, op: EinsumOp, gradient: SSAValue) -> Gradients:
    """Computes, for each operand, the Einstein sum of the gradient and the other operands, with the same labels."""
    for value in op.inputs:
        at.known_shape(value)
    lettered, sizes = op.lettered()
    terms, result = lettered.operands, lettered.result
    if any(len(set(term)) != len(term) for term in terms):
        raise at.error(f"equation '{op.equation.data}' repeats a label within one term")
    parts: list[SSAValue] = []
    for position, (term, value) in enumerate(zip(terms, op.inputs, strict=True)):
        others = [*terms[:position], *terms[position + 1 :]]
        known = [letter for letter in term if any(letter in each for each in (result, *others))]
        values = [gradient, *op.inputs[:position], *op.inputs[position + 1 :]]
        equation = str(Equation((result, *others), "".join(known)))
        part: SSAValue = at.add(EinsumOp, values, equation=equation).result
        part = at.unsqueezed(part, [axis for axis, letter in enumerate(term) if letter not in known])
        # A label of this operand alone was summed; one of size 1 was broadcast to the size of the others.
        parts.append(at.reduced(at.expanded_to(part, [sizes[letter] for letter in term]), value))
    return parts


RULES: dict[type[Operation], Rule] = {
    ops.MatMulOp: _matmul,
    ops.FullyConnectedOp: _fully_connected,
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    EinsumOp: _einsum,
}
