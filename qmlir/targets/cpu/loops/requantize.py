"""Expands `kernel.requantize` to `arith`, on scalars or vectors depending on the emitter.

Results are bit-identical to `qmlir.arithmetic.requantization` for accumulators of up to 32 bits, and of up to 64 bits
in the modes `f32` and `shift`. Values are clamped before rounding or before adding the zero point; the result is the
same as clamping afterwards, since the limits are integers.
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
    """Emits the requantization `op` of `accumulator` with `parameters`: scalars or vectors, as `emit` creates.

    Raises `DiagnosticError` if the result has more than 32 bits and the mode uses floats, or limits exceed 2^61 in
    magnitude. Also raises `DiagnosticError` if the mode uses an integer multiplier and the accumulator has more than 32
    bits.
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
    # f32 can't represent every 32-bit bound, but f64 can.
    rounded = emit.convert(arith.ExtFOp, emit.round_even(scaled), f64)
    whole = emit.convert(arith.FPToSIOp, emit.clamp(rounded, *bounds), i64)
    return emit.binary(arith.AddiOp, whole, emit.constant(zero_point, i64))


def _by_multiplier(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, shift: SSAValue, *, is_double: bool
) -> SSAValue:
    """`(acc * multiplier + nudge) >> shift` in i64, which holds 32 bits by 31 and the nudge."""
    value, factor, amount = (Scalar(emit.resize(each, i64), emit) for each in (accumulator, multiplier, shift))
    # The lanes that a partial vector lacks are 0: for these, shifting the half out of 2^amount must also be defined.
    nudge = STEPS.shift_in_zeros(value.constant(1) << amount, 1)
    if is_double:
        second = 1 << (FRACTION_BITS - 1)
        towards = (value >= 0).select(value.constant(second), -second)
        nudge = nudge + (amount > FRACTION_BITS).select(towards, 0)
    return ((value * factor + nudge) >> amount).value


def _by_shift(emit: Emitter, accumulator: SSAValue, shift: SSAValue, ties: Ties, bounds: tuple[int, int]) -> SSAValue:
    value, amount = (Scalar(emit.resize(each, i64), emit) for each in (accumulator, shift))
    goes_right = amount > 0
    right = _shifted_right(value, amount, ties, bits_of(accumulator.type))
    return goes_right.select(right, _shifted_left(value, amount, bounds)).value


def _shifted_left(value: Scalar, amount: Scalar, bounds: tuple[int, int]) -> Scalar:
    """`value << -amount`, or something beyond the bounds where that is beyond them: it never leaves 64 bits."""
    low, high = bounds
    # A shift by the number of bits of the bounds moves every integer except 0 beyond them.
    left = (-amount).clamp(0, max(abs(low), abs(high)).bit_length())
    above = (value.constant(high) >> left) + 1
    below = -1 - (value.constant(-low) >> left)  # -(-low >> left) rounds up; the bound is one below
    return value.maximum(below).minimum(above) << left


def _shifted_right(value: Scalar, amount: Scalar, ties: Ties, bits: int) -> Scalar:
    """`round(value / 2^amount)` for `amount` of 1 or more, `value` of so many bits; the sum cannot overflow."""
    # If the shift exceeds the number of bits of the value, the result is less than a half in magnitude.
    right = amount.clamp(1, min(bits + 1, 63))
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
    # The sum of the rest and the bias is below 2^64, as an unsigned integer.
    rounded = quotient + STEPS.shift_in_zeros(rest + bias, right)
    if bits < 64:
        return rounded
    # For shifts by more than 63 bits, only the smallest integer reaches a half, with a shift by 64.
    vanished = value.constant(0)
    if ties is Ties.AWAY:
        is_tie = (value == integer_limits(64)[0]) & (amount == 64)
        vanished = is_tie.select(value.constant(-1), 0)
    return (amount > 63).select(vanished, rounded)


class ExpandRequantize(RewritePattern):
    """Expands a scalar `kernel.requantize` outside of any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RequantizeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.result.type, IntegerType):
            emit = Emitter(rewriter, rewriter)
            rewriter.replace(op, [], [expand_requantize(emit, op, op.accumulator, list(op.parameters))])
