"""Fusing dequantize, operation and quantize: the operation computes on the quantized values itself.

These are ordinary patterns: they also apply to a graph that came with casts.
"""

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control import HandedOn, together
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.statistics import count
from qmlir.quantization.casts import quantized_constant
from qmlir.quantization.retyping import TRAINABLE, is_float, may_be_fused, refusal
from qmlir.quantization.supports import retyped


def dequantized_from(value: SSAValue) -> SSAValue | None:
    """The quantized value that `value` was dequantized from."""
    return value.owner.input if isinstance(value.owner, DequantizeCastOp) else None


def requested_type(result: SSAValue) -> UniformQuantizedType | None:
    """The one type that every user of `result` quantizes it to; `None` where there is none, or another use."""
    types = {
        element_type(use.operation.result.type) if isinstance(use.operation, QuantizeCastOp) else None
        for use in result.uses
    }
    type_ = types.pop() if len(types) == 1 else None
    return type_ if isinstance(type_, UniformQuantizedType) else None


def data_places(op: Operation) -> list[int]:
    """The places of the float operands of `op` that have a slot of quantization."""
    if not isinstance(op, Quantizable):
        return []
    return [place for place, (value, slot) in enumerate(op.operands_with_slots()) if slot and is_float(value)]


def fusion_refusal(op: Operation) -> str | None:
    """Why `op`, which may, does not take the place of itself between casts; `None` where there are none around it."""
    if not may_be_fused(op):
        return None
    operands = list(op.operands)
    for place in data_places(op):
        source = dequantized_from(operands[place])
        if source is None:
            return None
        operands[place] = source
    requests = [requested_type(result) if is_float(result) else None for result in op.results]
    return None if None in requests else refusal(op, [element_of(value) for value in operands], requests)


def replace_with_quantized(op: Operation, quantized: Operation, rewriter: PatternRewriter) -> None:
    """Put `quantized` in the place of `op`, whose float results only go into quantize casts to the same types."""
    rewriter.insert(quantized)
    for old, new in zip(op.results, quantized.results, strict=True):
        if not is_float(old):
            old.replace_all_uses_with(new)
            continue
        for use in tuple(old.uses):
            rewriter.replace(use.operation, [], [new])
    rewriter.erase(op)


class FuseCasts(RewritePattern):
    """`qcast(f(dcast(x), …)) -> f(x, …)`: the operation's meaning on quantized values, rounded once.

    Where the operation has an integer arithmetic of its own, that replaces the float one; where it has none, its
    meaning is this very sequence, and nothing changes. What moves values must give the type that it takes.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not may_be_fused(op):
            return
        operands = list(op.operands)
        places = data_places(op)
        for place in places:
            source = dequantized_from(operands[place])
            if source is None:
                return
            operands[place] = source
        elements = self._requests(op.results)
        if not places or elements is None:
            return
        fused = retyped(op, operands, elements)
        if fused is not None:
            replace_with_quantized(op, fused, rewriter)

    @staticmethod
    def _requests(results: Sequence[SSAValue]) -> list[UniformQuantizedType | None] | None:
        """The type that the users of each float result ask for (`None`: it is unused); `None` where one has none."""
        elements: list[UniformQuantizedType | None] = []
        for result in results:
            element = requested_type(result) if is_float(result) else None
            if is_float(result) and result.first_use is not None and element is None:
                return None
            elements.append(element)
        return elements


class QuantizeConstant(RewritePattern):
    """`qcast(constant) -> constant` of integers: weights are quantized now, but for those that are trained."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        type_ = element_type(op.result.type)
        constant = op.input.owner
        if not isinstance(constant, ConstantOp) or TRAINABLE in constant.attributes:
            return
        if constant_array(op.input) is not None and isinstance(type_, UniformQuantizedType):
            rewriter.replace(op, quantized_constant(op.input, type_))


class HandOnQuantized(RewritePattern):
    """What a choice or a loop hands on, all of it dequantized from one type, is handed on as it is stored.

    Exact: what it becomes is dequantized in its place, to the same floats.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for given, taken in together(op):
            sources = {each: dequantized_from(each.given) for each in given if each.given not in taken}
            types = {None if source is None else element_type(source.type) for source in sources.values()}
            type_ = types.pop() if len(types) == 1 else None
            if not isinstance(type_, UniformQuantizedType) or type_.granularity is not Granularity.TENSOR:
                continue
            for each, source in sources.items():
                assert source is not None
                each.user.operands[each.place] = source
                rewriter.notify_op_modified(each.user)
            for value in taken:
                self._store(value, type_, given, rewriter)
            rewriter.notify_op_modified(op)

    @staticmethod
    def _store(
        value: SSAValue, type_: UniformQuantizedType, given: Sequence[HandedOn], rewriter: PatternRewriter
    ) -> None:
        """Let `value` be stored, and dequantized for those who do not hand it on."""
        plain = value.type
        stored = rewriter.replace_value_with_new_type(value, TensorType(type_, shape_of(value)))
        hands_on = {(each.user, each.place) for each in given}
        if all((use.operation, use.index) in hands_on for use in stored.uses):
            return
        place = (
            InsertPoint.at_start(stored.owner) if isinstance(stored.owner, Block) else InsertPoint.after(stored.owner)
        )
        cast = DequantizeCastOp(stored, plain)
        if isinstance(stored.owner, Operation):
            set_origins(cast, origins_of(stored.owner))
        rewriter.insert(cast, insertion_point=place)
        rewriter.replace_uses_with_if(
            stored,
            cast.result,
            lambda use: use.operation is not cast and (use.operation, use.index) not in hands_on,
        )


PATTERNS: tuple[RewritePattern, ...] = (QuantizeConstant(), FuseCasts(), HandOnQuantized())


def rewrite(module: ModuleOp, patterns: Sequence[RewritePattern], ctx: Context) -> None:
    """Apply `patterns` until nothing changes, and tell the pass's statistics how often each of them did something."""
    for name, number in apply_patterns_greedily(module, patterns, ctx).counts.items():
        count(name, number)
