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

from qmlir.arithmetic.requantization import FRACTION_BITS, Mode, Ties
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
        accepted = f"accepted are up to 32 bits, and i64 with limits of up to {_WIDEST} in a mode without floats"
        raise op_error(op, f"makes results of {result} from {op.limits[0]} to {op.limits[1]}: {accepted}")
    zero_point, (low, high) = op.zero_point.value.data, op.limits
    bounds = low - zero_point, high - zero_point
    match op.mode.mode:
        case Mode.F32:
            return emit.resize(_by_float(emit, accumulator, parameters[0], zero_point, bounds), result)
        case Mode.QLINEAR:
            return emit.resize(_by_float_moved(emit, accumulator, parameters[0], zero_point, op.limits), result)
        case Mode.SHIFT:
            moved = _by_shift(emit, accumulator, parameters[0], op.mode.ties, bounds)
        case Mode.SINGLE_ROUND | Mode.DOUBLE_ROUND:
            if bits_of(accumulator.type) > 32:
                raise op_error(
                    op, f"rescales {accumulator.type} by an integer multiplier: accepted are 32 bits or fewer"
                )
            moved = _by_multiplier(emit, accumulator, *parameters, is_double=op.mode.mode is Mode.DOUBLE_ROUND)
    kept = emit.clamp(moved, *bounds)
    if zero_point:
        kept = emit.binary(arith.AddiOp, kept, emit.constant(zero_point, i64))
    return emit.resize(kept, result)


def _scaled(emit: Emitter, accumulator: SSAValue, multiplier: SSAValue) -> SSAValue:
    wide = emit.convert(arith.SIToFPOp, accumulator, scalar_of(multiplier.type))
    return emit.binary(arith.MulfOp, wide, multiplier)


def _by_float(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, zero_point: int, bounds: tuple[int, int]
) -> SSAValue:
    return _rounded(emit, _scaled(emit, accumulator, multiplier), zero_point, bounds)


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
    value, factor, places = (emit.resize(each, i64) for each in (accumulator, multiplier, shift))
    one = emit.constant(1, i64)
    # The lanes that a partial vector lacks are 0: shifting the half out of 2^places is defined for them too.
    nudge = emit.binary(arith.ShRUIOp, emit.binary(arith.ShLIOp, one, places), one)
    if is_double:
        second = emit.constant(1 << (FRACTION_BITS - 1), i64), emit.constant(-(1 << (FRACTION_BITS - 1)), i64)
        zero = emit.constant(0, i64)
        towards = emit.select(emit.compare("sge", value, zero), *second)
        is_large = emit.compare("sgt", places, emit.constant(FRACTION_BITS, i64))
        nudge = emit.binary(arith.AddiOp, nudge, emit.select(is_large, towards, zero))
    total = emit.binary(arith.AddiOp, emit.binary(arith.MuliOp, value, factor), nudge)
    return emit.binary(arith.ShRSIOp, total, places)


def _by_shift(emit: Emitter, accumulator: SSAValue, shift: SSAValue, ties: Ties, bounds: tuple[int, int]) -> SSAValue:
    value, places = emit.resize(accumulator, i64), emit.resize(shift, i64)
    goes_right = emit.compare("sgt", places, emit.constant(0, i64))
    right = _shifted_right(emit, value, places, ties, bits_of(accumulator.type))
    return emit.select(goes_right, right, _shifted_left(emit, value, places, bounds))


def _shifted_left(emit: Emitter, value: SSAValue, places: SSAValue, bounds: tuple[int, int]) -> SSAValue:
    """`value << -places`, or something beyond the bounds where that is beyond them: it never leaves 64 bits."""
    low, high = bounds
    # As many places as the bounds have bits take every integer but 0 beyond them.
    most = max(abs(low), abs(high)).bit_length()
    left = emit.binary(arith.SubiOp, emit.constant(0, i64), places)
    left = emit.binary(arith.MinSIOp, emit.binary(arith.MaxSIOp, left, emit.constant(0, i64)), emit.constant(most, i64))
    one = emit.constant(1, i64)
    above = emit.binary(arith.AddiOp, emit.binary(arith.ShRSIOp, emit.constant(high, i64), left), one)
    # -(-low >> left) rounds up; the bound is one below.
    below = emit.binary(arith.ShRSIOp, emit.constant(-low, i64), left)
    below = emit.binary(arith.SubiOp, emit.constant(-1, i64), below)
    inside = emit.binary(arith.MinSIOp, emit.binary(arith.MaxSIOp, value, below), above)
    return emit.binary(arith.ShLIOp, inside, left)


def _shifted_right(emit: Emitter, value: SSAValue, places: SSAValue, ties: Ties, bits: int) -> SSAValue:
    """`round(value / 2^places)` for `places` of 1 or more, `value` of so many bits; the sum cannot overflow."""
    zero, one = emit.constant(0, i64), emit.constant(1, i64)
    # Two places more than the value has bits leave less than a half of anything.
    most = min(bits + 1, 63)
    right = emit.binary(arith.MinSIOp, emit.binary(arith.MaxSIOp, places, one), emit.constant(most, i64))
    quotient = emit.binary(arith.ShRSIOp, value, right)
    rest = emit.binary(arith.SubiOp, value, emit.binary(arith.ShLIOp, quotient, right))
    half = emit.binary(arith.ShLIOp, one, emit.binary(arith.SubiOp, right, one))
    match ties:
        case Ties.UP:
            bias = half
        case Ties.EVEN:
            is_odd = emit.binary(arith.AndIOp, quotient, one)
            bias = emit.binary(arith.AddiOp, emit.binary(arith.SubiOp, half, one), is_odd)
        case Ties.AWAY:
            bias = emit.binary(arith.AddiOp, half, emit.binary(arith.ShRSIOp, value, emit.constant(63, i64)))
    # The rest and the bias are below 2^64 together, read as unsigned.
    carry = emit.binary(arith.ShRUIOp, emit.binary(arith.AddiOp, rest, bias), right)
    rounded = emit.binary(arith.AddiOp, quotient, carry)
    if bits < 64:
        return rounded
    # Shifts by more than 63: only the smallest integer reaches a half, at 64.
    vanished = zero
    if ties is Ties.AWAY:
        is_smallest = emit.compare("eq", value, emit.constant(-(1 << 63), i64))
        is_tie = emit.binary(arith.AndIOp, is_smallest, emit.compare("eq", places, emit.constant(64, i64)))
        vanished = emit.select(is_tie, emit.constant(-1, i64), zero)
    return emit.select(emit.compare("sgt", places, emit.constant(63, i64)), vanished, rounded)


class ExpandRequantize(RewritePattern):
    """Expand a requantization of scalars that stands by itself, outside any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RequantizeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.result.type, IntegerType):
            emit = Emitter(rewriter, rewriter)
            rewriter.replace(op, [], [expand_requantize(emit, op, op.accumulator, list(op.parameters))])
