"""Moving casts to where they cost least: quantized types follow the operations that only move or limit values.

All of it is exact, for all values that are numbers; fusing, which comes along, is where integer arithmetic takes the
place of floats, and a float bias becomes integers. Patterns ask an operation's slots and inference, so they hold for
operations of any dialect.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.quant.canonicalize import (
    FoldExactRescale,
    FoldRequantizeOfDequantized,
    FoldRescaleChain,
    is_exact_round_trip,
)
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.interpret import dequantize, quantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization import fusion
from qmlir.quantization.casts import quantized_constant
from qmlir.quantization.float_bias import QuantizeFloatBias
from qmlir.quantization.fusion import data_places, dequantized_from, replace_with_quantized, requested_type
from qmlir.quantization.retyping import is_float, may_be_quantized
from qmlir.quantization.sums import STORAGE
from qmlir.quantization.supports import may_be_computed, retyped


def _moves_values(op: Operation) -> bool:
    return may_be_quantized(op) and isinstance(op, Quantizable) and op.quantization_slots().shares_parameters


def _is_exact_inside(type_: UniformQuantizedType) -> bool:
    """Whether each integer inside the limits of `type_` is the one that its real value is quantized to.

    Then different integers are different floats, too.
    """
    limits = (IntAttr(limit) for limit in storage_limits(type_.storage))
    return is_exact_round_trip(UniformQuantizedType.new([type_.storage, *limits, *type_.parameters[3:]]))


def _cast_like(source: Operation, cast: Operation) -> None:
    set_origins(cast, origins_of(source))


class MoveDequantizeDown(RewritePattern):
    """`op(dcast(x), …) -> dcast(op(x, …))` for an operation that moves values, on operands of one quantized type.

    Exact: each element is dequantized by itself, so it does not matter where it stands; and a larger integer never is
    a smaller float, so the largest one of a window, too, is the same. Where the operation also tells places or an
    order, different integers must be different floats. A constant beside the others joins them where its elements are
    numbers of the type. (The largest of no elements at all is the type's smallest number in place of -infinity.)
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not _moves_values(op):
            return
        operands = list(op.operands)
        places = data_places(op)
        sources = {place: source for place in places if (source := dequantized_from(operands[place])) is not None}
        elements = {element_type(source.type) for source in sources.values()}
        element = elements.pop() if len(elements) == 1 else None
        if not isinstance(element, UniformQuantizedType):
            return
        if not all(is_float(result) for result in op.results) and not _is_exact_inside(element):
            return
        constants: list[Operation] = []
        for place in places:
            source = sources.get(place) or self._stored(operands[place], element, constants)
            if source is None:
                return
            operands[place] = source
        moved = retyped(op, operands, [None] * len(op.results))
        if moved is None:
            return
        rewriter.insert([*constants, moved])
        for old, new in zip(op.results, moved.results, strict=True):
            if is_float(old):
                cast = DequantizeCastOp(new, old.type)
                _cast_like(op, cast)
                rewriter.insert(cast)
                new = cast.result
            rewriter.replace_all_uses_with(old, new)
        rewriter.erase(op)

    @staticmethod
    def _stored(value: SSAValue, element: UniformQuantizedType, made: list[Operation]) -> SSAValue | None:
        """A float constant as a constant of type `element`, where that changes none of its numbers."""
        array = constant_array(value)
        if array is None or element.granularity is not Granularity.TENSOR:
            return None
        try:
            is_same = dequantize(quantize(array, element), element).tobytes() == array.tobytes()  # so that -0.0 is not
        except InterpretationError:  # not a number
            return None
        if not is_same:
            return None
        stored = quantized_constant(value, element)
        made.append(stored)
        return stored.result


def _limits_values(op: Operation) -> bool:
    return may_be_quantized(op) and isinstance(op, Quantizable) and op.quantization_slots().limits_operand


class MoveQuantizeUp(RewritePattern):
    """`qcast(op(x, …)) -> op(qcast(x), …)` for an operation that moves or limits values, to one type for all of them.

    Exact: each element is quantized by itself, and to quantize is monotone: of two numbers, the larger one never
    becomes the smaller integer, so the largest of a window may be looked for before or after; a limit (0 of a relu, the
    ends of a clip) is quantized like any other number. An operation that also tells places or an order is left alone:
    different numbers become one integer.

    Operands that were dequantized from several types (a concatenation in which each has its own) are rescaled one by
    one: each is rounded once, as before, and those of the result's type are not touched. Where all have one type, the
    dequantize casts go down instead, and meet the other: one rescale in the place of several.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        is_limit = _limits_values(op)
        if not (is_limit or _moves_values(op)) or not all(is_float(result) for result in op.results):
            return
        places = data_places(op)
        if not places or len([value for value in op.operands if is_float(value)]) != len(places):
            return
        types = {requested_type(result) for result in op.results if result.first_use is not None}
        element = types.pop() if len(types) == 1 else None
        if element is None or element.granularity is not Granularity.TENSOR:
            return
        sources = [dequantized_from(op.operands[place]) for place in places]
        found = {None if source is None else element_type(source.type) for source in sources}
        if (len(places) == 1 and None not in found) or (len(places) > 1 and found <= {None}):
            return
        if len(places) > 1 and len(found - {None}) == 1 and self._others_are_constants(op, places):
            return
        operands, casts = list(op.operands), list[Operation]()
        for place in places:
            value = operands[place]
            cast = QuantizeCastOp(value, TensorType(element, shape_of(value)))
            _cast_like(op, cast)
            casts.append(cast)
            operands[place] = cast.result
        moved = retyped(op, operands, [element if is_limit else None] * len(op.results))
        if moved is None:
            for cast in casts:
                cast.drop_all_references()
            return
        rewriter.insert(casts)
        replace_with_quantized(op, moved, rewriter)

    @staticmethod
    def _others_are_constants(op: Operation, places: Sequence[int]) -> bool:
        """Whether what is not dequantized is constant, so that the dequantize casts may go down."""
        values = (op.operands[place] for place in places)
        return all(dequantized_from(value) is not None or isinstance(value.owner, ConstantOp) for value in values)


class RequantizeConstant(RewritePattern):
    """`qcast(dcast(constant)) -> constant`, computed now as the casts do."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        source = dequantized_from(op.input)
        array = constant_array(source)
        type_ = element_type(op.result.type)
        if source is None or array is None or not isinstance(type_, UniformQuantizedType):
            return
        before = element_type(source.type)
        assert isinstance(before, UniformQuantizedType)  # a dequantize cast takes no other
        constant = ConstantOp.of(quantize(dequantize(array, before), type_), TensorType(type_, shape_of(op.result)))
        rewriter.replace(op, constant)


def _rounds_to_its_type(value: SSAValue) -> bool:
    """Whether `value` is rounded and saturated where it is made, and not handed on from elsewhere."""
    op = value.owner
    if isinstance(op, Quantizable):
        return may_be_quantized(op) and not isinstance(op, ConstantOp) and not _moves_values(op)
    return isinstance(op, QuantizeCastOp)


class FoldRequantizeInLimits(RewritePattern):
    """`qcast(dcast(x)) -> x` where both casts have one type, `x` was saturated to it, and so lies inside its limits."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        source = dequantized_from(op.input)
        if source is None or source.type != op.result.type or not _rounds_to_its_type(source):
            return
        type_ = element_type(source.type)
        if isinstance(type_, UniformQuantizedType) and _is_exact_inside(type_):
            rewriter.replace(op, [], [source])


class NarrowLimited(RewritePattern):
    """`relu(x : P) : T -> relu(x : T) : T` for two types of one scale, where `T` holds no number that `P` does not.

    For any operation that only limits its operand, and an `x` without other users that is rounded to its type:
    what `x` loses, the result would lose. Exact: with one scale nothing is rounded twice, so that each side cuts the
    same integer off at the limits of `T` and at those of the operation, in one order or the other.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not _limits_values(op):
            return
        value, result = op.operands[0], op.results[0]
        wide, narrow = element_type(value.type), element_type(result.type)
        if not isinstance(narrow, UniformQuantizedType):
            return
        assert isinstance(wide, UniformQuantizedType)  # verified: both are quantized, or neither
        if wide == narrow or not value.has_one_use() or not _rounds_to_its_type(value) or not _contains(wide, narrow):
            return
        old = value.type
        changed = rewriter.replace_value_with_new_type(value, TensorType(narrow, shape_of(value)))
        try:
            for each in (changed.owner, op):
                assert isinstance(each, Operation)
                each.verify_()
                if not may_be_computed(op, each):
                    raise VerifyException("no target supports it")
        except VerifyException:
            Rewriter.replace_value_with_new_type(changed, old)
            rewriter.has_done_action = False


def _contains(wide: UniformQuantizedType, narrow: UniformQuantizedType) -> bool:
    """Whether every number of `narrow`, which has one scale, is one of `wide`, and no accumulator is among them."""
    if {wide.granularity, narrow.granularity} != {Granularity.TENSOR} or wide.expressed != narrow.expressed:
        return False
    if wide.scale != narrow.scale or not _is_exact_inside(wide) or narrow.bits == STORAGE.bits:
        return False
    (lowest, highest), (low, high) = (
        (type_.storage_min - type_.zero_point, type_.storage_max - type_.zero_point) for type_ in (wide, narrow)
    )
    return lowest <= low and high <= highest


PATTERNS: Sequence[RewritePattern] = (
    QuantizeFloatBias(),
    *fusion.PATTERNS,
    FoldRequantizeOfDequantized(),
    FoldExactRescale(_rounds_to_its_type),
    FoldRescaleChain(_rounds_to_its_type),
    FoldRequantizeInLimits(),
    RequantizeConstant(),
    MoveDequantizeDown(),
    MoveQuantizeUp(),
    NarrowLimited(),
)
