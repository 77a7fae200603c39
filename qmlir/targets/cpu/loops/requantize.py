"""`kernel.requantize` in `arith`: the one expansion, on scalars or on vectors by the emitter that it is given.

The result is that of `qmlir.arithmetic.requantization` in every bit, for accumulators of up to 32 bits, and up to 64 in
the modes `f32` and `shift`. What is clamped before it is rounded or moved gives the same as after, because the limits
are whole numbers.
"""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f64, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.requantization import FRACTION_BITS, Mode, Ties
from qmlir.dialects.kernel.lowering.scalars import STEPS, Scalar
from qmlir.dialects.kernel.ops import RequantizeOp, scalar_of
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.emitter import Emitter, bits_of

_EXACT_ROUNDING = 1 << 22
"""Up to this magnitude `Emitter.round_to_integer` is exact."""

_WIDEST = 1 << 61
"""What is shifted left beyond this magnitude, by one place more, still fits 64 bits."""


def expand_requantize(
    emit: Emitter, op: RequantizeOp, accumulator: SSAValue, parameters: Sequence[SSAValue]
) -> SSAValue:
    """Write what `op` computes of `accumulator` and `parameters`, which are values of the kind of `emit`.

    Raises `DiagnosticError` for results of more than 32 bits in the modes of floats, or with limits of more than 61
    bits in the others, and in the modes with an integer multiplier for accumulators of more than 32.
    """
    result = scalar_of(op.result.type)
    if bits_of(result) > 32 and (op.mode.mode.uses_floats or max(map(abs, op.limits)) > _WIDEST):
        accepted = f"a result must have at most 32 bits, or limits up to {_WIDEST} and an integer requantization mode"
        raise op_error(op, f"{result} results in [{op.limits[0]}, {op.limits[1]}] cannot be compiled: {accepted}")
    zero_point, (low, high) = op.zero_point.value.data, op.limits
    bounds = low - zero_point, high - zero_point
    match op.mode.mode:
        case Mode.F32:
            return emit.resize(_rounded(emit, _scaled(emit, accumulator, parameters[0]), zero_point, bounds), result)
        case Mode.QLINEAR:
            return emit.resize(_by_float_moved(emit, accumulator, parameters[0], zero_point, op.limits), result)
        case Mode.SHIFT:
            moved = _by_shift(emit, accumulator, parameters[0], op.mode.ties, bounds)
        case Mode.SINGLE_ROUND | Mode.DOUBLE_ROUND:
            if bits_of(accumulator.type) > 32:
                raise op_error(
                    op, f"an integer multiplier requires accumulators of at most 32 bits, but got {accumulator.type}"
                )
            moved = _by_multiplier(emit, accumulator, *parameters, is_double=op.mode.mode is Mode.DOUBLE_ROUND)
    kept = emit.clamp(moved, *bounds)
    if zero_point:
        kept = emit.binary(arith.AddiOp, kept, emit.constant(zero_point, i64))
    return emit.resize(kept, result)


def _scaled(emit: Emitter, accumulator: SSAValue, multiplier: SSAValue) -> SSAValue:
    wide = emit.convert(arith.SIToFPOp, accumulator, scalar_of(multiplier.type))
    return emit.binary(arith.MulfOp, wide, multiplier)


def _by_float_moved(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, zero_point: int, limits: tuple[int, int]
) -> SSAValue:
    """The zero point is added before rounding."""
    scaled = _scaled(emit, accumulator, multiplier)
    if zero_point:
        scaled = emit.binary(arith.AddfOp, scaled, emit.constant(zero_point, scalar_of(multiplier.type)))
    return _rounded(emit, scaled, 0, limits)


def _rounded(emit: Emitter, scaled: SSAValue, zero_point: int, bounds: tuple[int, int]) -> SSAValue:
    """`saturate(rne(scaled)) + zero_point`."""
    if max(map(abs, bounds)) <= _EXACT_ROUNDING:
        return emit.round_to_integer(emit.clamp(scaled, *bounds), zero_point)
    # f32 does not hold every bound of 32 bits, f64 does.
    rounded = emit.convert(arith.ExtFOp, emit.round_even(scaled), f64)
    whole = emit.convert(arith.FPToSIOp, emit.clamp(rounded, *bounds), i64)
    return emit.binary(arith.AddiOp, whole, emit.constant(zero_point, i64))


def _by_multiplier(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, shift: SSAValue, *, is_double: bool
) -> SSAValue:
    """`(acc * multiplier + nudge) >> shift` in i64, which holds 32 bits by 31 and the nudge."""
    value, factor, places = (Scalar(emit.resize(each, i64), emit) for each in (accumulator, multiplier, shift))
    # The lanes that a partial vector lacks are 0: shifting the half out of 2^places is defined for them too.
    nudge = STEPS.shift_in_zeros(value.constant(1) << places, 1)
    if is_double:
        second = 1 << (FRACTION_BITS - 1)
        towards = (value >= 0).select(value.constant(second), -second)
        nudge = nudge + (places > FRACTION_BITS).select(towards, 0)
    return ((value * factor + nudge) >> places).value


def _by_shift(emit: Emitter, accumulator: SSAValue, shift: SSAValue, ties: Ties, bounds: tuple[int, int]) -> SSAValue:
    value, places = (Scalar(emit.resize(each, i64), emit) for each in (accumulator, shift))
    goes_right = places > 0
    right = _shifted_right(value, places, ties, bits_of(accumulator.type))
    return goes_right.select(right, _shifted_left(value, places, bounds)).value


def _shifted_left(value: Scalar, places: Scalar, bounds: tuple[int, int]) -> Scalar:
    """`value << -places`, or something beyond the bounds where that is beyond them: it never leaves 64 bits."""
    low, high = bounds
    # As many places as the bounds have bits take every integer but 0 beyond them.
    left = (-places).clamp(0, max(abs(low), abs(high)).bit_length())
    above = (value.constant(high) >> left) + 1
    below = -1 - (value.constant(-low) >> left)  # -(-low >> left) rounds up; the bound is one below
    return value.maximum(below).minimum(above) << left


def _shifted_right(value: Scalar, places: Scalar, ties: Ties, bits: int) -> Scalar:
    """`round(value / 2^places)` for `places` of 1 or more, `value` of so many bits; the sum cannot overflow."""
    # Two places more than the value has bits leave less than a half of anything.
    right = places.clamp(1, min(bits + 1, 63))
    quotient = value >> right
    rest = value - (quotient << right)
    half = value.constant(1) << (right - 1)
    match ties:
        case Ties.UP:
            bias = half
        case Ties.EVEN:
            is_odd = quotient & 1
            bias = half - 1 + is_odd
        case Ties.AWAY:
            bias = half + (value >> 63)
    # The rest and the bias are below 2^64 together, read as unsigned.
    rounded = quotient + STEPS.shift_in_zeros(rest + bias, right)
    if bits < 64:
        return rounded
    # Shifts by more than 63: only the smallest integer reaches a half, at 64.
    vanished = value.constant(0)
    if ties is Ties.AWAY:
        is_tie = (value == integer_limits(64)[0]) & (places == 64)
        vanished = is_tie.select(value.constant(-1), 0)
    return (places > 63).select(vanished, rounded)


class ExpandRequantize(RewritePattern):
    """Expand a requantization of scalars that stands by itself, outside any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RequantizeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.result.type, IntegerType):
            emit = Emitter(rewriter, rewriter)
            rewriter.replace(op, [], [expand_requantize(emit, op, op.accumulator, list(op.parameters))])
