"""Contractions as matrix products: each row of the data is multiplied by a row of weights for every channel.

The rows of a convolution are what its windows see. A row has the terms of one sum, in the order in which the weights
have them; groups of channels are apart.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.infer.windows import output_sizes
from qmlir.dialects.nn.interpret.windows import columns, places
from qmlir.dialects.nn.ops import contraction as ops
from qmlir.ir.builtin_types import shape_of


@dataclass(frozen=True)
class ContractionRows:
    """How a contraction with constant weights is a matrix product for each of `groups` groups of channels."""

    weight: SSAValue
    data: SSAValue
    groups: int
    of_data: Callable[[Array], Array]
    """The data as `[groups, rows, terms]`; 0 where a window reaches beyond it."""

    of_weights: Callable[[Array], Array]
    """What has the shape of the weights as `[groups, channels, terms]`."""

    to_weights: Callable[[Array], Array]
    """The inverse of `of_weights`."""


def _by_channel(
    op: ops.ConvOp | ops.FullyConnectedOp, groups: int, of_data: Callable[[Array], Array]
) -> ContractionRows:
    """Weights whose first axis are the channels, group by group."""
    shape = shape_of(op.weight)
    return ContractionRows(
        op.weight,
        op.data,
        groups,
        of_data,
        lambda given: given.reshape(groups, shape[0] // groups, math.prod(shape[1:])),
        lambda rows: rows.reshape(shape),
    )


def _conv(op: ops.ConvOp) -> ContractionRows:
    groups, terms = op.group_count, math.prod(shape_of(op.weight)[1:])

    def of_data(data: Array) -> Array:
        laid_out = columns(data, op.windows, output_sizes(data.shape[2:], op.windows))
        by_group = laid_out.reshape(len(data), groups, terms, -1)
        return by_group.transpose(1, 0, 3, 2).reshape(groups, -1, terms)

    return _by_channel(op, groups, of_data)


def _conv_transpose(op: ops.ConvTransposeOp) -> ContractionRows:
    groups, shape = op.group_count, shape_of(op.weight)
    taken, given, kernel = shape[0] // groups, shape[1], shape[2:]
    terms = taken * math.prod(kernel)

    def of_data(data: Array) -> Array:
        counts, sizes = data.shape[2:], op.output_sizes(data.shape[2:], op.windows)
        laid_out = np.zeros((*data.shape[:2], *kernel, *sizes), data.dtype)
        for place in places(op.windows, sizes, counts):
            laid_out[(slice(None), slice(None), *place.tap, *place.elements)] = data[(..., *place.windows)]
        by_group = laid_out.reshape(len(data), groups, terms, -1)
        return by_group.transpose(1, 0, 3, 2).reshape(groups, -1, terms)

    def of_weights(weights: Array) -> Array:
        return weights.reshape(groups, taken, given, -1).swapaxes(1, 2).reshape(groups, given, terms)

    def to_weights(rows: Array) -> Array:
        return rows.reshape(groups, given, taken, -1).swapaxes(1, 2).reshape(shape)

    return ContractionRows(op.weight, op.data, groups, of_data, of_weights, to_weights)


def _fully_connected(op: ops.FullyConnectedOp) -> ContractionRows:
    return _by_channel(op, 1, lambda data: data.reshape(1, -1, data.shape[-1]))


def _matmul(op: ops.MatMulOp) -> ContractionRows | None:
    shape = shape_of(op.rhs)
    if len(shape) != 2:
        return None

    def turned(given: Array) -> Array:
        return given if op.is_rhs_transposed else given.swapaxes(-1, -2)

    return ContractionRows(
        op.rhs,
        op.lhs,
        1,
        lambda data: data.reshape(1, -1, data.shape[-1]),
        lambda given: turned(given)[None],
        lambda rows: turned(rows[0]),
    )


_ROWS: Mapping[type[Operation], Callable[..., ContractionRows | None]] = {
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    ops.FullyConnectedOp: _fully_connected,
    ops.MatMulOp: _matmul,
}


def rows_of(op: Operation) -> ContractionRows | None:
    """How `op` multiplies rows by weights; `None` where it does not, or by stacks of matrices."""
    made = _ROWS.get(type(op))
    return None if made is None else made(op)
