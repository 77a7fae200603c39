"""The gradient of rotary embedding, which rotates in the other direction. Attention uses the gradients of its parts."""

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.gradient_rules import Backward, Rule, first_only
from qmlir.dialects.nn.terms import Expr


def _rotary_embedding(at: Backward, op: ops.RotaryEmbeddingOp, gradient: SSAValue) -> SSAValue:
    """Rotates the same pairs by the negative angle."""
    if op.cosines in at.wanted or op.sines in at.wanted:
        raise at.error("cosines and sines must not depend on the inputs that gradients are computed for")
    back = -Expr(at, op.sines)
    return at.add(
        ops.RotaryEmbeddingOp, gradient, op.cosines, back.value, op.positions,
        size=op.size, interleaved=op.interleaved,
    ).result  # fmt: skip


RULES: dict[type[Operation], Rule] = {ops.RotaryEmbeddingOp: first_only(_rotary_embedding)}
