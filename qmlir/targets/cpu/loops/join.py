"""`kernel.join` in `arith`, or by interleaving registers: the one expansion, by the emitter that it is given."""

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, f32, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.simd.base import element_of, lanes_of
from qmlir.dialects.simd.base import vector as vector_type
from qmlir.dialects.simd.lanes import Conversion, ConvertOp, InterleaveHighOp, InterleaveLowOp, InterleaveOp
from qmlir.targets.cpu.loops.emitter import Emitter, VectorEmitter

_FEWEST_LANES = 16
"""Bytes from which on interleaving is worth it: they fill the smallest register."""


_HALVES = (InterleaveLowOp, InterleaveHighOp)


def _turned(emit: VectorEmitter, kind: type[InterleaveOp], a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.insert(kind(a, b))


def expand_join(emit: Emitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    """Write the number whose bytes are `parts`, which are values of the kind of `emit`."""
    if isinstance(emit, VectorEmitter) and emit.lanes >= _FEWEST_LANES:
        return _interleaved(emit, op, parts)
    whole = emit.convert(arith.ExtUIOp, parts[0], i32)
    for place, part in enumerate(parts[1:], 1):
        moved = emit.binary(arith.ShLIOp, emit.convert(arith.ExtUIOp, part, i32), emit.constant(8 * place, i32))
        whole = emit.binary(arith.OrIOp, whole, moved)
    return emit.convert(arith.BitcastOp, whole, f32) if op.result.type == f32 else whole


def _interleaved(emit: VectorEmitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    numbers = [_as(emit, each, op.result.type, emit.lanes // 4) for each in interleave_bytes(emit, parts)]
    while len(numbers) > 1:
        numbers = [_behind(emit, *pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return numbers[0]


def interleave_bytes(emit: VectorEmitter, parts: Sequence[SSAValue]) -> list[SSAValue]:
    """Four vectors of bytes in turn, as four behind each other: bytes in pairs first, then pairs of these."""
    lanes = emit.lanes
    pairs = [
        [_as(emit, _turned(emit, kind, parts[first], parts[first + 1]), i16, lanes // 2) for first in (0, 2)]
        for kind in _HALVES
    ]
    return [_as(emit, _turned(emit, kind, low, high), i8, lanes) for low, high in pairs for kind in _HALVES]


def _as(emit: VectorEmitter, value: SSAValue, element: Attribute, lanes: int) -> SSAValue:
    """The same bits as lanes of another width."""
    return emit.insert(ConvertOp(value, Conversion.BITCAST, vector_type(lanes, element)))


def _behind(emit: VectorEmitter, first: SSAValue, second: SSAValue) -> SSAValue:
    """The lanes of two registers as one vector."""
    lanes = 2 * lanes_of(first)
    mask = DenseArrayBase.from_list(i64, list(range(lanes)))
    return emit.insert(vector.ShuffleOp(first, second, mask, result_type=vector_type(lanes, element_of(first))))


class ExpandJoin(RewritePattern):
    """Expand one of scalars that stands by itself, outside any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, [], [expand_join(Emitter(rewriter, rewriter), op, list(op.parts))])
