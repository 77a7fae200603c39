"""Propagation of quantized types: moves casts to the positions where they cost least, and adapts types to a target."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np
from xdsl.dialects.builtin import IntAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.schemes import Scheme, Storage, symmetric_zero_point
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.canonicalize import (
    FoldExactRescale,
    FoldRequantizeOfDequantized,
    FoldRescaleChain,
    is_exact_round_trip,
)
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits
from qmlir.dialects.target.description import Accepted, Support
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import with_origins_of
from qmlir.quantization import casts as fusion
from qmlir.quantization.casts import (
    data_places,
    dequantized_from,
    dequantized_operands,
    quantized_constant,
    replace_with_quantized,
    requested_type,
)
from qmlir.quantization.choice import Choice
from qmlir.quantization.retyping import is_float, may_be_quantized, moves_values, slots_of
from qmlir.quantization.supports import accepts, first_target, may_be_computed, retyped, targets_around
from qmlir.quantization.types import STORAGE, addend_type, product_type, storage_type, type_from_range

# Quantization of a float bias to integers at the scale of the sums, so that the contraction can be fused.
#
# Some quantizers insert casts only for data and weights, and leave the bias in float.


class QuantizeFloatBias(RewritePattern):
    """`qcast(f(dcast(x), dcast(w), bias)) -> qcast(f(dcast(x), dcast(w), dcast(integers)))` for a constant bias.

    The integers have the scale `s_x * s_w` of the sums, like any quantized bias. The rounding error of each is at most
    half this scale, usually a thousandth of a quantization step of the result. If the error exceeded half a step of the
    result, the result could change by several steps: `|rint(a + d) - rint(a)| <= 1` holds for `|d| <= 1/2` plus the
    float rounding. A bias with such an error, or one that does not fit in 32 bits at this scale, stays in float
    together with its operation; a remark states the reason.
    """

    def __init__(self) -> None:
        self._remarked = WeakSet[Operation]()  # a pattern visits an operation again after any change

    def _stays(self, op: Operation, reason: str) -> None:
        if op not in self._remarked:
            self._remarked.add(op)
            emit_remark(op, f"is not quantized, because its bias is not: {reason}")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not may_be_quantized(op) or not isinstance(op, Quantizable):
            return
        positions = {slot: position for position, slot in slots_of(op).items()}
        if not {Slot.INPUT, Slot.WEIGHT, Slot.BIAS} <= positions.keys() or not op.results[0].uses:
            return
        bias = op.operands[positions[Slot.BIAS]]
        array = constant_array(bias)
        if array is None or not is_float(bias):
            return
        sources = (dequantized_from(op.operands[positions[slot]]) for slot in (Slot.INPUT, Slot.WEIGHT))
        data, weight = map(_uniform, sources)
        result = requested_type(op.results[0])
        if data is None or weight is None or result is None:
            return
        product = product_type(data, weight, 0, op.quantization_slots().channel_repeats)
        if product is None:
            return
        if (type_ := addend_type(array, product, array.ndim)) is None:
            self._stays(op, "the bias does not fit i32 with the scale of the accumulator")
            return
        stored = quantized_constant(bias, type_)
        error, step = np.abs(stored.array * type_.scales - array.astype(np.float64)).max(initial=0), result.scales.min()
        if error > step / 2:
            off = f"with the accumulator's scale {type_.scales.max():g} the bias would be off by {error:g}"
            self._stays(op, f"{off}, more than half a quantization step of the result ({step:g})")
            return
        real = with_origins_of(stored, DequantizeCastOp(stored.result, bias.type))
        rewriter.insert([stored, real])
        op.operands[positions[Slot.BIAS]] = real.result
        rewriter.notify_op_modified(op)


# Values that are quantized to several types: computed once, then rescaled.
#
# If users quantize the result of an operation to different types, fusion leaves the operation in float: each user
# rounds the float result, and no single integer result equals all the rounded ones. If double rounding is permitted,
# the operation computes integers in one of the types, and these are rescaled to the other types.


def _limits(type_: UniformQuantizedType) -> tuple[float, float]:
    """Returns the smallest and the largest number of a type with one scale."""
    low, high = type_.storage_min - type_.zero_point, type_.storage_max - type_.zero_point
    return type_.scale * low, type_.scale * high


def _holds(type_: UniformQuantizedType, other: UniformQuantizedType) -> bool:
    """Returns True if `type_` covers the range of `other` with steps that are no larger."""
    (low, high), (lowest, highest) = _limits(other), _limits(type_)
    return type_.expressed == other.expressed and type_.scale <= other.scale and lowest <= low and high <= highest


def widest(types: Iterable[UniformQuantizedType]) -> UniformQuantizedType | None:
    """Returns the type among `types` that covers all others.

    Returns `None` if there is no such type, or if a type has several scales.
    """
    found = list(types)
    if any(type_.granularity is not Granularity.TENSOR for type_ in found):
        return None
    return next((type_ for type_ in found if all(_holds(type_, other) for other in found)), None)


class ShareRequantize(RewritePattern):
    """`qcast_T(f(…)), qcast_U(f(…)) -> qcast_T(f(…)), qcast_U(dcast(qcast_T(f(…))))`, so that `f` is computed in `T`.

    `T` is the requested type that covers all others, so it preserves everything that they represent. A value of type
    `U` is rounded twice, which changes it by at most one step.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not may_be_quantized(op) or len(op.results) != 1 or not is_float(op.results[0]):
            return
        (result,) = op.results
        casts: dict[UniformQuantizedType, list[QuantizeCastOp]] = {}
        for use in result.uses:
            cast = use.operation
            type_ = _uniform(cast.result) if isinstance(cast, QuantizeCastOp) else None
            if not isinstance(cast, QuantizeCastOp) or type_ is None:
                return
            casts.setdefault(type_, []).append(cast)
        chosen = widest(casts) if len(casts) > 1 else None
        if chosen is None or not _is_computed(op, chosen):
            return
        (first, *_) = casts.pop(chosen)
        first.detach()
        rewriter.insert(first, InsertPoint.after(op))
        real = DequantizeCastOp(first.result, TensorType(chosen.expressed_type, shape_of(first.result)))
        rewriter.insert(with_origins_of(op, real), InsertPoint.after(first))
        for cast in (each for others in casts.values() for each in others):
            cast.operands[0] = real.result
            rewriter.handle_operation_modification(cast)


def _is_computed(op: Operation, element: UniformQuantizedType) -> bool:
    """Returns True if `op` between casts, with a result of type `element`, can be fused."""
    operands = dequantized_operands(op) if data_places(op) else None
    made = None if operands is None else retyped(op, operands, [element])
    if made is not None:
        made.drop_all_references()
    return made is not None


# Replacement of a model's types with types that the target supports, with rescales in between.
#
# An operation between casts stays in float if no target supports its types. Often only the storage differs: the model
# has `u8` with zero point 128, and the target supports `i8` with zero point 0. With equal scales, both represent the
# same numbers, so the replacement is exact.


def _moved(type_: UniformQuantizedType, storage: Storage, shift: int) -> UniformQuantizedType | None:
    """Returns the type with the numbers of `type_`, stored larger by `shift`; `None` if one does not fit."""
    low, high = type_.storage_min + shift, type_.storage_max + shift
    if low < storage.minimum or high > storage.maximum or type_.granularity is Granularity.BLOCK:
        return None
    zero_points = type_.zero_points + shift
    return UniformQuantizedType.like(type_, storage_type(storage), type_.scales, zero_points, (low, high))


def same_numbers(type_: UniformQuantizedType, accepted: Accepted) -> UniformQuantizedType | None:
    """Returns a type in `accepted` that represents the same numbers as `type_`; `None` if there is none."""
    for storage in accepted.integers:
        shifts = [storage.minimum - type_.storage_min]
        if len(zero_points := set(type_.zero_points.reshape(-1).tolist())) == 1:
            shifts.append(symmetric_zero_point(storage) - zero_points.pop())
        for shift in shifts:
            found = _moved(type_, storage, shift)
            if found is not None and accepts(accepted, found):
                return found
    return None


def nearest_grid(type_: UniformQuantizedType, accepted: Accepted) -> UniformQuantizedType | None:
    """Returns a type in `accepted` for the range of `type_`, which has one scale. Values are rounded to it again."""
    if type_.granularity is not Granularity.TENSOR or not accepted.integers:
        return None
    scheme = next(iter(accepted.named_schemes), Scheme.ASYMMETRIC)
    return type_from_range(*_limits(type_), Choice(storage=accepted.integers[0], scheme=scheme))


@dataclass(frozen=True)
class Refit(RewritePattern):
    """`qcast(f(dcast(x), …)) -> qcast(dcast(f(qcast(dcast(x)), …)))`, so that a target computes `f` on integers.

    Each value whose type changes is rescaled. Between two consecutive operations that are both refitted, the rescales
    have the same type and fold. Constants are rescaled at compile time. Unless `is_exact` is set, a value may also be
    rounded to another grid.
    """

    is_exact: bool = True

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Quantizable) or not may_be_quantized(op) or not (targets := targets_around(op)):
            return
        positions, results = data_places(op), [result for result in op.results if is_float(result)]
        sources = {position: dequantized_from(op.operands[position]) for position in positions}
        wanted = [requested_type(result) for result in results]
        types = [*map(_uniform, sources.values()), *wanted]
        if not positions or len(results) != len(op.results) or None in types:
            return
        for target in targets:
            for support in target.supports_of(op):
                made = self._made(op, support, sources, wanted)
                if made is None:
                    continue
                *casts, fused = made
                if first_target([target], fused, with_mode=False) is not None:
                    self._replace(op, casts, fused, rewriter)
                    return
                for each in reversed(made):
                    each.drop_all_references()

    def _made(
        self,
        op: Quantizable,
        support: Support,
        sources: dict[int, SSAValue | None],
        wanted: Sequence[UniformQuantizedType | None],
    ) -> list[Operation] | None:
        """Returns the rescales of operands, then the operation on types of `support`; `None` if no types fit."""
        slots, operands = slots_of(op), list(op.operands)
        casts: dict[tuple[SSAValue, UniformQuantizedType], QuantizeCastOp] = {}
        results = [self._fitted(type_, support.slot(Slot.OUTPUT)) for type_ in wanted]
        for position, source in sources.items():
            type_ = _uniform(source)
            fitted = self._fitted(type_, support.slot(slots[position]))
            if fitted is None or source is None:
                results.append(None)
            elif fitted == type_:
                operands[position] = source
            else:
                if (source, fitted) not in casts:
                    cast = QuantizeCastOp(op.operands[position], TensorType(fitted, shape_of(source)))
                    maker = source.owner if isinstance(source.owner, Operation) else op
                    casts[source, fitted] = with_origins_of(maker, cast)
                operands[position] = casts[source, fitted].result
        fused = None if None in results else retyped(op, operands, results)
        if fused is not None:
            return [*casts.values(), fused]
        for cast in casts.values():
            cast.drop_all_references()
        return None

    def _fitted(self, type_: UniformQuantizedType | None, accepted: Accepted | None) -> UniformQuantizedType | None:
        if type_ is None or accepted is None or accepts(accepted, type_):
            return type_
        found = same_numbers(type_, accepted)
        return nearest_grid(type_, accepted) if found is None and not self.is_exact else found

    @staticmethod
    def _replace(op: Operation, casts: Sequence[Operation], fused: Operation, rewriter: PatternRewriter) -> None:
        pairs = zip(op.results, fused.results, strict=True)
        behind = [with_origins_of(op, DequantizeCastOp(new, old.type)) for old, new in pairs]
        rewriter.insert([*casts, fused, *behind])
        rewriter.replace(op, [], [cast.result for cast in behind])


def _uniform(value: SSAValue | None) -> UniformQuantizedType | None:
    element = None if value is None else element_type(value.type)
    return element if isinstance(element, UniformQuantizedType) else None


# Moving casts to the positions where they cost least: types propagate through operations that only move or clamp
# values.
#
# Each rewrite is exact for all values except NaN. The exceptions are fusion, which replaces float arithmetic with
# integer arithmetic, and the quantization of a float bias. The patterns use only the slots and the type inference of an
# operation, so they apply to operations of any dialect.


def _moves_values(op: Operation) -> bool:
    return may_be_quantized(op) and moves_values(op)


def _is_exact_inside(type_: UniformQuantizedType) -> bool:
    """Returns True if each integer inside the limits of `type_` is the one to which its real value is quantized.

    Different integers then also have different real values.
    """
    limits = (IntAttr(limit) for limit in storage_limits(type_.storage))
    return is_exact_round_trip(UniformQuantizedType.new([type_.storage, *limits, *type_.parameters[3:]]))


class MoveDequantizeDown(RewritePattern):
    """`op(dcast(x), …) -> dcast(op(x, …))` for an operation that moves values, on operands of one quantized type.

    Exact: each element is dequantized independently of its position, and dequantization is monotone, so the largest
    element of a window is the same. If the operation also returns indices or an order, different integers must map to
    different floats. A constant operand is stored in the same type if the type represents its elements exactly. (The
    maximum of an empty window becomes the type's smallest number instead of -infinity.)
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not _moves_values(op):
            return
        operands, positions = list(op.operands), data_places(op)
        dequantized = {position: dequantized_from(operands[position]) for position in positions}
        elements = {element_type(source.type) for source in dequantized.values() if source is not None}
        element = elements.pop() if len(elements) == 1 else None
        if not isinstance(element, UniformQuantizedType):
            return
        if not all(is_float(result) for result in op.results) and not _is_exact_inside(element):
            return
        constants: list[Operation] = []
        for position in positions:
            source = dequantized[position] or self._stored(operands[position], element, constants)
            if source is None:
                return
            operands[position] = source
        moved = retyped(op, operands, [None] * len(op.results))
        if moved is None:
            return
        rewriter.insert([*constants, moved])
        for old, new in zip(op.results, moved.results, strict=True):
            if is_float(old):
                cast = with_origins_of(op, DequantizeCastOp(new, old.type))
                rewriter.insert(cast)
                new = cast.result
            rewriter.replace_all_uses_with(old, new)
        rewriter.erase(op)

    @staticmethod
    def _stored(value: SSAValue, element: UniformQuantizedType, made: list[Operation]) -> SSAValue | None:
        """Returns a float constant as a constant of type `element`, or `None` if that would change an element."""
        array = constant_array(value)
        if array is None or element.granularity is not Granularity.TENSOR:
            return None
        try:
            if dequantize(quantize(array, element), element).tobytes() != array.tobytes():  # -0.0 is not 0.0
                return None
        except InterpretationError:  # NaN
            return None
        stored = quantized_constant(value, element)
        made.append(stored)
        return stored.result


def _limits_values(op: Operation) -> bool:
    return may_be_quantized(op) and isinstance(op, Quantizable) and op.quantization_slots().limits_operand


class MoveQuantizeUp(RewritePattern):
    """`qcast(op(x, …)) -> op(qcast(x), …)` for an operation that moves or clamps values, all of one type.

    Exact: each element is quantized independently, and quantization is monotone, so the largest element of a window is
    the same before and after. A limit (the 0 of a relu, the bounds of a clip) is quantized like any other number. An
    operation that also returns indices or an order is not rewritten, because different floats may become equal
    integers.

    If operands were dequantized from several types (a concatenation of separately quantized values), each operand is
    rescaled separately: it is still rounded only once, and is unchanged if it already has the result's type. If all
    operands have one type, the dequantize casts are moved down instead, so that a single rescale suffices.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        is_limit = _limits_values(op)
        if not (is_limit or _moves_values(op)) or not all(is_float(result) for result in op.results):
            return
        positions = data_places(op)
        if not positions or len([value for value in op.operands if is_float(value)]) != len(positions):
            return
        types = {requested_type(result) for result in op.results if result.first_use is not None}
        element = types.pop() if len(types) == 1 else None
        if element is None or element.granularity is not Granularity.TENSOR:
            return
        sources = [dequantized_from(op.operands[position]) for position in positions]
        found = {None if source is None else element_type(source.type) for source in sources}
        if (len(positions) == 1 and None not in found) or (len(positions) > 1 and found <= {None}):
            return
        if len(positions) > 1 and len(found - {None}) == 1 and self._others_are_constants(op, positions):
            return
        operands, casts = list(op.operands), list[QuantizeCastOp]()
        for position in positions:
            type_ = TensorType(element, shape_of(operands[position]))
            casts.append(with_origins_of(op, QuantizeCastOp(operands[position], type_)))
            operands[position] = casts[-1].result
        moved = retyped(op, operands, [element if is_limit else None] * len(op.results))
        if moved is None:
            for cast in casts:
                cast.drop_all_references()
            return
        rewriter.insert(casts)
        replace_with_quantized(op, moved, rewriter)

    @staticmethod
    def _others_are_constants(op: Operation, positions: Sequence[int]) -> bool:
        """Returns True if every operand is dequantized or constant, so that the dequantize casts can move down."""
        values = (op.operands[position] for position in positions)
        return all(dequantized_from(value) is not None or isinstance(value.owner, ConstantOp) for value in values)


class RequantizeConstant(RewritePattern):
    """`qcast(dcast(constant)) -> constant`, evaluated at compile time."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        source, type_ = dequantized_from(op.input), _uniform(op.result)
        array, before = constant_array(source), _uniform(source)
        if array is None or type_ is None or before is None:
            return
        constant = ConstantOp.of(quantize(dequantize(array, before), type_), TensorType(type_, shape_of(op.result)))
        rewriter.replace(op, constant)


def _rounds_to_its_type(value: SSAValue) -> bool:
    """Returns True if the producer of `value` rounds and saturates it, rather than moving a value from elsewhere."""
    op = value.owner
    if isinstance(op, Quantizable):
        return may_be_quantized(op) and not isinstance(op, ConstantOp) and not _moves_values(op)
    return isinstance(op, QuantizeCastOp)


class FoldRequantizeInLimits(RewritePattern):
    """`qcast(dcast(x)) -> x` if both casts have the same type, and `x` was saturated to the limits of this type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeCastOp, rewriter: PatternRewriter, /) -> None:
        source = dequantized_from(op.input)
        if source is None or source.type != op.result.type or not _rounds_to_its_type(source):
            return
        type_ = _uniform(source)
        if type_ is not None and _is_exact_inside(type_):
            rewriter.replace(op, [], [source])


class NarrowLimited(RewritePattern):
    """`relu(x : P) : T -> relu(x : T) : T` for two types with equal scales, if `P` represents every number of `T`.

    This applies to any operation that only clamps its operand, if `x` has no other users and is rounded to its type.
    Exact: with equal scales, no value is rounded twice. Both sides clamp the same integer to the limits of `T` and of
    the operation, and the order of the two clamps does not matter.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not _limits_values(op):
            return
        value, result = op.operands[0], op.results[0]
        wide, narrow = _uniform(value), _uniform(result)
        if wide is None or narrow is None or wide == narrow or not _contains(wide, narrow):
            return
        if not value.has_one_use() or not _rounds_to_its_type(value):
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
    """Returns True if `wide` represents every number of `narrow`, and both are one-scale types but no accumulators."""
    if {wide.granularity, narrow.granularity} != {Granularity.TENSOR} or wide.scale != narrow.scale:
        return False
    return _is_exact_inside(wide) and narrow.bits != STORAGE.bits and _holds(wide, narrow)


PATTERNS: Sequence[RewritePattern] = (
    QuantizeFloatBias(),
    *fusion.FUSION_PATTERNS,
    FoldRequantizeOfDequantized(),
    FoldExactRescale(_rounds_to_its_type),
    FoldRescaleChain(_rounds_to_its_type),
    FoldRequantizeInLimits(),
    RequantizeConstant(),
    MoveDequantizeDown(),
    MoveQuantizeUp(),
    NarrowLimited(),
)
