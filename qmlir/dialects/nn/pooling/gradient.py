"""Gradients of pooling. In a max pool, the first of several equal maxima gets the gradient, as in torch.

If all elements of a window are 0, the gradient of its norm is 0.
"""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.contraction.gradient import spread
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, first_only
from qmlir.dialects.nn.indexing.ops import ScatterElementsOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.pooling import ops
from qmlir.dialects.nn.result_shapes import Windows
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import shape_of


def _to_elements(at: Backward, data: SSAValue, indices: SSAValue, gradient: SSAValue) -> SSAValue:
    """Scatters each gradient to the element of `data` with the given flat index."""
    count, positions = (math.prod(at.known_shape(value)) for value in (data, indices))
    flat = at.add(ReshapeOp, indices, result_types=[TensorType(i64, [positions])]).result
    zeros = at.expanded_to(at.constant(np.zeros(1), data), [count])
    updates = at.reshaped(gradient, [positions])
    summed = at.add(ScatterElementsOp, zeros, flat, updates, axis=0, reduction="add").result
    return at.reshaped(summed, shape_of(data))


def _max_pool(at: Backward, op: ops.PoolOp, gradient: SSAValue) -> SSAValue:
    windows = op.windows
    if any(max(windows.padding(axis)) >= windows.extent(axis) for axis in range(len(windows.kernel))):
        raise at.error(f"padding must be smaller than the window, but got pads {list(windows.pads)}")
    found = at.add(
        ops.MaxPoolWithIndicesOp, op.data,
        kernel=windows.kernel, strides=windows.strides, dilations=windows.dilations, pads=windows.pads,
        ceil_mode=bool(op.ceil_mode.value.data),
    )  # fmt: skip
    return _to_elements(at, op.data, found.indices, gradient)


def _max_pool_with_indices(
    at: Backward, op: ops.MaxPoolWithIndicesOp, gradient: SSAValue | None, of_indices: SSAValue | None
) -> Gradients:
    return [None if gradient is None else _max_pool(at, op, gradient)]


def _global_max_pool(at: Backward, op: ops.GlobalMaxPoolOp, gradient: SSAValue) -> SSAValue:
    found = at.add(ops.MaxPoolWithIndicesOp, op.data, kernel=at.known_shape(op.data)[2:])
    return _to_elements(at, op.data, found.indices, gradient)


def _to_windows(at: Backward, value: SSAValue, windows: Windows, data: SSAValue) -> SSAValue:
    """Adds each element of `value` to all elements of its window of `data`."""
    batch, channels, *sizes = at.known_shape(data)
    alone = at.reshaped(value, [batch * channels, 1, *shape_of(value)[2:]])  # all channels share the weights
    ones = at.constant(np.ones((1, 1, *windows.kernel)), data)
    return at.reshaped(spread(at, alone, ones, windows, sizes), shape_of(data))


def _average_pool(at: Backward, op: ops.AveragePoolOp, gradient: SSAValue) -> SSAValue:
    sizes = at.known_shape(op.data)[2:]
    counts = op.covered_elements(sizes)
    count = Expr(at, at.constant(counts, gradient)) if counts.min() != counts.max() else float(counts.max())
    return _to_windows(at, (Expr(at, gradient) / count).value, op.windows, op.data)


def _of_norm(at: Backward, g: Expr, y: Expr, p: int) -> Expr:
    """Computes `g y^(1 - p)`, 0 if the norm is 0: the factor of each `x |x|^(p - 2)`."""
    factor = g if p == 1 else g / y if p == 2 else g / y ** (p - 1.0)
    return factor.unless(y.equals(0.0))


def _signed_power(x: Expr, p: int) -> Expr:
    """Computes `x |x|^(p - 2)`."""
    return x if p == 2 else x / abs(x).unless(x.equals(0.0), 1.0) if p == 1 else x * abs(x) ** (p - 2.0)


def _lp_pool(at: Backward, op: ops.LpPoolOp, gradient: SSAValue) -> SSAValue:
    p = op.p.value.data
    factor = _of_norm(at, Expr(at, gradient), Expr(at, op.result), p)
    return (_signed_power(Expr(at, op.data), p) * Expr(at, _to_windows(at, factor.value, op.windows, op.data))).value


def _global_lp_pool(at: Backward, op: ops.GlobalLpPoolOp, gradient: SSAValue) -> SSAValue:
    p = op.p.value.data
    return (_signed_power(Expr(at, op.data), p) * _of_norm(at, Expr(at, gradient), Expr(at, op.result), p)).value


def _global_average_pool(at: Backward, op: ops.GlobalAveragePoolOp, gradient: SSAValue) -> SSAValue:
    sizes: Sequence[int] = at.known_shape(op.data)[2:]
    return at.expanded((Expr(at, gradient) / float(math.prod(sizes))).value, op.data)


RULES: dict[type[Operation], Rule] = {
    ops.MaxPoolOp: first_only(_max_pool),
    ops.MaxPoolWithIndicesOp: _max_pool_with_indices,
    ops.AveragePoolOp: first_only(_average_pool),
    ops.LpPoolOp: first_only(_lp_pool),
    ops.GlobalAveragePoolOp: first_only(_global_average_pool),
    ops.GlobalMaxPoolOp: first_only(_global_max_pool),
    ops.GlobalLpPoolOp: first_only(_global_lp_pool),
}
