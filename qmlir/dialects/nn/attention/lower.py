"""Lowering of attention and rotary embedding to `nn` operations on plain values, which are then lowered themselves.

Query heads that share a key head become rows of one matrix product: `[B, Hk, Hq / Hk * S, D]` by `[B, Hk, T, D]`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AnyFloat, TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, constant, position
from qmlir.dialects.nn.activations.ops import TanhOp
from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.base import build, dtype_of
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp, DivOp, EqualOp, MulOp, SubOp, WhereOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp
from qmlir.ir.builtin_types import element_of, shape_of


@dataclass(frozen=True)
class _Attention:
    """An attention that is being lowered: the insertion point, and the plain float type of its steps."""

    op: ops.AttentionOp
    at: Lowering
    element: AnyFloat

    def number(self, value: float) -> SSAValue:
        """Returns a scalar of the type of the steps."""
        return self.at.constant(np.asarray(value, dtype_of(self.element)), self.element)

    def converted(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Casts `value` to another element type."""
        if element_of(value) == element:
            return value
        return self.at.insert(build(CastOp, [value], result_types=[TensorType(element, shape_of(value))]))

    def behind(self, past: SSAValue | None, new: SSAValue) -> SSAValue:
        """Concatenates `past` and `new` along the sequence."""
        own = self.at.value(new)
        return own if past is None else self.at.concat([self.at.value(past), own], 2)

    def by_keys(self, value: SSAValue, heads: int) -> SSAValue:
        """Reshapes `[B, Hq, S, …]` so that the queries of all heads that share keys are rows of one matrix."""
        batch, own, rows, columns = shape_of(value)
        return self.at.reshape(value, (batch, heads, own * rows // max(heads, 1), columns))

    def capped(self, scores: SSAValue) -> SSAValue:
        """Computes `cap * tanh(x / cap)`."""
        at, cap = self.at, self.op.softcap.value.data
        if not cap:
            return scores
        limit = self.number(cap)
        return at.insert(MulOp(at.insert(TanhOp(at.insert(DivOp(scores, limit)))), limit))

    def bias(self, scores: Sequence[int]) -> SSAValue | None:
        """Returns the bias of the scores, minus infinity for masked keys; `None` if there is none."""
        op, at = self.op, self.at
        selects_by_place = any(op.distances) or op.lengths is not None
        position_bias = self._position_bias(scores) if selects_by_place else None
        if op.mask is None:
            return position_bias
        mask = at.value(op.mask)
        if element_of(mask) == i1:
            mask = at.insert(build(WhereOp, [mask, self.number(0.0), self.number(-math.inf)]))
        *outer, last = shape_of(mask)
        rest = [0] * len(outer)
        mask = at.pad(mask, (*rest, 0), (*rest, scores[-1] - last), -math.inf)
        return mask if position_bias is None else at.insert(AddOp(position_bias, mask))

    def _position_bias(self, scores: Sequence[int]) -> SSAValue:
        """Returns the bias from causality, windows and lengths, `[B or 1, 1, S, T]`: 0 and minus infinity."""
        op, at = self.op, self.at
        batch, _, queries, keys = scores
        before, after = op.distances
        past = 0 if op.past_key is None else shape_of(op.past_key)[2]
        shape = (1 if op.lengths is None else batch, 1, queries, keys)
        batches = AffineMap(4, 0, (AffineExpr.dimension(0),))
        inputs = [] if op.lengths is None else [Input(at.value(op.lengths), batches)]

        def body(*scalars: Scalar) -> Scalar:
            builder = scalars[0].builder
            query, key = (position(builder, axis).to(i64) for axis in (2, 3))
            offset = scalars[0] - queries if op.lengths is not None else constant(builder, past, i64)
            distance = key - query - offset
            outside = constant(builder, 0, i1, unsigned=True)
            for bound in after:
                outside = outside | distance.compare("gt", bound)
            for bound in before:
                outside = outside | distance.compare("lt", -bound)
            if op.lengths is not None:
                outside = outside | key.compare("ge", scalars[0])
            masked, free = (constant(builder, number, self.element) for number in (-math.inf, 0.0))
            return outside.select(masked, free)

        if inputs:
            return at.compute(inputs, shape, self.element, body)
        output = at.empty(shape, self.element), AffineMap.identity(4)
        return at.generic([], [output], body)[0]

    def weights(self, biased: SSAValue, bias: SSAValue | None) -> SSAValue:
        """Computes the softmax of the scores; 0 for a query whose keys are all masked."""
        at, precision = self.at, self.op.softmax_precision
        staged = self.converted(biased, self.element if precision is None else precision)
        probabilities = self.converted(at.insert(build(SoftmaxOp, [staged])), self.element)
        if bias is None:
            return probabilities
        largest = at.insert(ReduceMaxOp(bias, [len(shape_of(bias)) - 1]))
        blind = at.insert(EqualOp(largest, self.number(-math.inf)))
        return at.insert(build(WhereOp, [blind, self.number(0.0), probabilities]))


def _attention(op: ops.AttentionOp, at: Lowering) -> Sequence[SSAValue]:
    query = at.value(op.query)
    element = element_of(query)
    assert isinstance(element, AnyFloat)
    own = _Attention(op, at, element)
    keys, values = own.behind(op.past_key, op.key), own.behind(op.past_value, op.value)
    heads, scores = shape_of(keys)[1], at.result_shape(3)
    scale = op.score_scale(shape_of(query)[3])
    factor = own.number(math.sqrt(scale) if scale >= 0 else math.nan)
    left, right = (at.insert(MulOp(each, factor)) for each in (query, keys))
    raw = at.reshape(at.value(at.insert(MatMulOp(own.by_keys(left, heads), right, True))), scores)
    capped, bias = own.capped(raw), own.bias(scores)
    biased = capped if bias is None else at.insert(AddOp(capped, bias))
    weights = own.weights(biased, bias)
    result = at.insert(MatMulOp(own.by_keys(weights, heads), values))
    found = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [at.reshape(result, at.result_shape()), keys, values, found]


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


LOWERINGS: dict[type[Operation], Lower] = {
    ops.AttentionOp: _attention,
    ops.RotaryEmbeddingOp: _rotary_embedding,
}
