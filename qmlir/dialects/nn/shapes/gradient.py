"""Gradients of operations that repeat, pad or mask elements: the gradients of copies are summed."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, first_only
from qmlir.dialects.nn.movement.gradient import along, check_known
from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import shape_of


def _expand(at: Backward, op: ops.ExpandOp, gradient: SSAValue) -> SSAValue:
    target = op.integers("shape")
    others = [(DYNAMIC_INDEX,) * len(shape_of(op.result)) if target is None else target]
    return at.reduced(gradient, op.input, others)


def _tile(at: Backward, op: ops.TileOp, gradient: SSAValue) -> SSAValue:
    check_known(at, op, "repeats")
    shape = at.known_shape(op.input)
    split = [size for pair in zip(op.factors(len(shape)), shape, strict=True) for size in pair]
    return at.sum(at.reshaped(gradient, split), range(0, len(split), 2))


def _pad(at: Backward, op: ops.PadOp, gradient: SSAValue) -> Gradients:
    """Slices the padding off, and adds its gradient to the elements that it copies, or to the padding value."""
    check_known(at, op, "pads", "axes")
    shape = at.known_shape(op.input)
    pads = op.paddings(len(shape))
    mode = op.mode.data
    value: SSAValue | None = None
    if op.value is not None:
        inside = at.filled(0.0, op.input)
        one = at.constant(1.0, op.input)
        lists = [each.before for each in pads], [each.after for each in pads]
        added = at.add(ops.PadOp, inside, one, pads=[*lists[0], *lists[1]]).result
        total = at.sum((Expr(at, gradient) * Expr(at, added)).value, range(len(shape)))
        value = at.reshaped(total, shape_of(op.value))
    for axis, (before, after) in enumerate(pads):
        if mode == "constant" or min(before, after) < 0:
            gradient = at.padded(gradient, axis, -before, -after)
        elif before or after:
            numpy_mode: Any = mode
            sources = np.pad(np.arange(shape[axis]), (before, after), mode=numpy_mode)
            gradient = along(at, gradient, axis, np.eye(shape[axis])[sources])
    return [gradient, value, *[None] * (len(op.operands) - 2)][: len(op.operands)]


def _trilu(at: Backward, op: ops.TriluOp, gradient: SSAValue) -> SSAValue:
    k = op.k if op.k_value is None else op.k_value
    return at.add(ops.TriluOp, gradient, k=k, upper=bool(op.upper.value.data)).result


RULES: dict[type[Operation], Rule] = {
    ops.ExpandOp: first_only(_expand),
    ops.TileOp: first_only(_tile),
    ops.PadOp: _pad,
    ops.TriluOp: first_only(_trilu),
}
