"""Lowering of rotary embedding to `nn` operations on plain values, which are then lowered themselves."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp, SubOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.lowering import otherwise
from qmlir.ir.builtin_types import shape_of


def _attention(op: ops.AttentionOp, at: Lowering) -> Sequence[SSAValue] | None:
    """Leaves attention to its decomposition, which requires static shapes."""
    for operand in op.operands:
        at.value(operand)  # raises if the shape is dynamic
    return otherwise(op, at)


def _rotary_embedding(op: ops.RotaryEmbeddingOp, at: Lowering) -> Sequence[SSAValue]:
    """Slices both halves of the pairs, rotates them, and inserts the results at their positions."""
    value = at.value(op.input)
    batch, heads, sequence, head_size = shape_of(value)
    size = op.turned(head_size)
    half = size // 2
    step, second = (2, 1) if op.interleaved.value.data else (1, half)

    def table(operand: SSAValue) -> SSAValue:
        own = at.value(operand)
        if op.positions is not None:
            own = at.insert(build(GatherOp, [own, at.value(op.positions)]))
        return at.reshape(own, (batch, 1, sequence, half))

    def part(start: int) -> SSAValue:
        return at.slice(value, (0, 0, 0, start), (batch, heads, sequence, half), (1, 1, 1, step))

    def product(a: SSAValue, b: SSAValue) -> SSAValue:
        return at.insert(MulOp(a, b))

    cosines, sines = table(op.cosines), table(op.sines)
    a, b = part(0), part(second)
    real = at.insert(SubOp(product(cosines, a), product(sines, b)))
    imaginary = at.insert(AddOp(product(sines, a), product(cosines, b)))
    whole = value
    for start, turned in ((0, real), (second, imaginary)):
        whole = at.put(turned, whole, (0, 0, 0, start), (1, 1, 1, step))
    return (whole,)


LOWERINGS: dict[type[Operation], Lower] = {ops.AttentionOp: _attention, ops.RotaryEmbeddingOp: _rotary_embedding}
