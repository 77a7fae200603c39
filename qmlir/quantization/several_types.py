"""Values that are quantized in several ways: computed once, and rescaled.

Fusing leaves an operation in float whose users quantize its result to types that differ: each of them rounds the float,
and no one integer result is all of theirs. Who lets a value be rounded twice gets integers and rescales instead.
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization.fusion import data_places, dequantized_from
from qmlir.quantization.retyping import is_float, may_be_quantized, on_types
from qmlir.quantization.supports import may_be_computed


def _limits(type_: UniformQuantizedType) -> tuple[float, float]:
    """The smallest and the largest number of a type with one scale."""
    low, high = type_.storage_min - type_.zero_point, type_.storage_max - type_.zero_point
    return type_.scale * low, type_.scale * high


def _holds(type_: UniformQuantizedType, other: UniformQuantizedType) -> bool:
    """Whether `type_` reaches as far as `other`, in steps that are no larger."""
    (low, high), (lowest, highest) = _limits(other), _limits(type_)
    return type_.expressed == other.expressed and type_.scale <= other.scale and lowest <= low and high <= highest


def widest(types: Iterable[UniformQuantizedType]) -> UniformQuantizedType | None:
    """The one of `types` that holds all others; `None` where there is none, and where one has several scales."""
    found = list(types)
    if any(type_.granularity is not Granularity.TENSOR for type_ in found):
        return None
    return next((type_ for type_ in found if all(_holds(type_, other) for other in found)), None)


class ComputeOnce(RewritePattern):
    """`qcast_T(f(…)), qcast_U(f(…)) -> qcast_T(f(…)), qcast_U(dcast(qcast_T(f(…))))`, so that `f` is computed in `T`.

    `T` is the type among those that are asked for which holds the others: what it loses, they lose. A value of `U` is
    rounded twice, which moves it by one step at most.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not may_be_quantized(op) or len(op.results) != 1 or not is_float(op.results[0]):
            return
        (result,) = op.results
        casts: dict[UniformQuantizedType, list[QuantizeCastOp]] = {}
        for use in result.uses:
            type_ = element_type(use.operation.results[0].type) if isinstance(use.operation, QuantizeCastOp) else None
            if not isinstance(type_, UniformQuantizedType):
                return
            assert isinstance(use.operation, QuantizeCastOp)
            casts.setdefault(type_, []).append(use.operation)
        chosen = widest(casts) if len(casts) > 1 else None
        if chosen is None or not _is_computed(op, chosen):
            return
        (first, *_) = casts.pop(chosen)
        first.detach()
        rewriter.insert(first, InsertPoint.after(op))
        real = DequantizeCastOp(first.result, TensorType(chosen.expressed_type, shape_of(first.result)))
        set_origins(real, origins_of(op))
        rewriter.insert(real, InsertPoint.after(first))
        for cast in (each for others in casts.values() for each in others):
            cast.operands[0] = real.result
            rewriter.handle_operation_modification(cast)


def _is_computed(op: Operation, element: UniformQuantizedType) -> bool:
    """Whether `op` between casts, the last one to `element`, would be fused."""
    operands: list[SSAValue] = list(op.operands)
    places = data_places(op)
    for place in places:
        source = dequantized_from(operands[place])
        if source is None:
            return False
        operands[place] = source
    if not places:
        return False
    try:
        made = on_types(op, operands, [element])
    except VerifyException:
        return False
    is_accepted = may_be_computed(op, made)
    made.drop_all_references()
    return is_accepted
