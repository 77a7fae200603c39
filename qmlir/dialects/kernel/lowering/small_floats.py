"""Floats of 8 bits and fewer as integer code: the integer level holds their bits, and computes with f32.

Both directions are shifts, one exact product or sum of f32, and selections, for every format from its description
(`FloatSemantics`): nothing is looked up, so that loops work on whole registers.
"""

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float8E8M0FNUType, IntegerType, f32, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.small_floats import PlainFloat, PowerRounding
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar
from qmlir.ir.small_floats import Codes, SmallFloat

_MANTISSA, _BIAS, _INFINITY, _NAN = 23, 127, 0x7F800000, 0x7FC00000
_MAGNITUDE = 0x7FFFFFFF


def decoded(code: Scalar, format_: SmallFloat) -> Scalar:
    """The f32 that the bits `code`, an integer of any width without a sign, stand for: exact.

    Exponent and mantissa become those of an f32, whose bias is another: a product by a power of two corrects that, for
    subnormal values too.
    """
    semantics, codes = format_.SEMANTICS, Codes.of(format_.SEMANTICS)
    bits = code.to(i32)
    magnitude = bits & (codes.sign - 1) if codes.sign else bits
    shifted = magnitude << (_MANTISSA - semantics.mantissa_bits)
    if semantics.has_zero:
        real = shifted.bitcast(f32) * 2.0 ** (_BIAS - semantics.exponent_bias)
        found = real.bitcast(i32)
    else:  # the bias is that of f32, and the code 0 its largest subnormal power of two
        found = magnitude.compare("eq", 0).select(bits.constant(1 << _MANTISSA - 1), shifted)
    if codes.infinity is not None:
        found = magnitude.compare("ge", codes.infinity).select(bits.constant(_INFINITY), found)
        found = magnitude.compare("gt", codes.infinity).select(bits.constant(_NAN), found)
    elif codes.nan is not None:
        same = bits if not codes.has_negative_zero else magnitude
        found = same.compare("eq", codes.nan).select(bits.constant(_NAN), found)
    if codes.sign:
        found = found | ((bits & codes.sign) << (31 - semantics.sign_shift))
    return found.bitcast(f32)


_FEW_SUBNORMAL = 4
"""Bits of exponents from which on few weights are subnormal: numbers of less than `2^-14` of the largest one."""


def plain_place(format_: PlainFloat) -> int:
    """The bit of an f32 where the lowest bit of a code lies, whose exponent and mantissa are those of the f32."""
    return _MANTISSA - format_.mantissa_bits


def plain_decoded(emit: ArithBuilder, moved: SSAValue, format_: PlainFloat) -> SSAValue:
    """The f32, on scalars or lanes, that codes stand for: exact. They lie at their place in i32, with their sign above.

    As an f32 they are `2^n` times too small, as that has a larger bias: a product makes up for it, for subnormal values
    too. They are subnormal in f32 before, and many processors take a hundred cycles for a product of such. Codes are
    chosen with the largest number at the top (`PlainFloat.scaled_codes`), so that 4 bits of exponent leave one weight
    in thousands to that. With fewer they are many: the exponents are made up for by a sum of integers, and what has
    the exponent 0, which then stands for a power of two more than it should, loses that by a difference.
    """
    magnitude = ((1 << format_.bits - 1) - 1) << plain_place(format_)
    bits = emit.binary(arith.AndIOp, moved, emit.constant(magnitude | ~_MAGNITUDE, i32))
    if format_.exponent_bits >= _FEW_SUBNORMAL:
        factor = emit.constant(2.0 ** (_BIAS - format_.bias), f32)
        return emit.binary(arith.MulfOp, emit.convert(arith.BitcastOp, bits, f32), factor)
    more = _BIAS - format_.bias
    normal, above = (
        emit.binary(arith.AddiOp, bits, emit.constant(each << _MANTISSA, i32)) for each in (more, more + 1)
    )
    sign = emit.binary(arith.AndIOp, bits, emit.constant(~_MAGNITUDE, i32))
    one = emit.binary(arith.OrIOp, sign, emit.constant((more + 1) << _MANTISSA, i32))
    less = emit.binary(arith.SubfOp, *(emit.convert(arith.BitcastOp, each, f32) for each in (above, one)))
    exponent = emit.constant(magnitude >> _MANTISSA << _MANTISSA, i32)
    is_subnormal = emit.compare("eq", emit.binary(arith.AndIOp, bits, exponent), emit.constant(0, i32))
    return emit.select(is_subnormal, less, emit.convert(arith.BitcastOp, normal, f32))


def encoded(
    real: Scalar,
    format_: SmallFloat,
    *,
    saturates: bool = True,
    rounding: PowerRounding = PowerRounding.UP,
) -> Scalar:
    """The bits of an f32 rounded to a format, as `qmlir.arithmetic.small_floats` has it."""
    bits = real.bitcast(i32)
    if isinstance(format_, Float8E8M0FNUType):
        code = _power(bits, saturates, rounding)
    else:
        code = _rounded(bits, format_, saturates)
    return code.to(IntegerType(format_.bitwidth), unsigned=True)


def _rounded(bits: Scalar, format_: SmallFloat, saturates: bool) -> Scalar:
    """Half-way cases go to even: normal values by integers, subnormal ones by a sum whose last place is theirs."""
    semantics, codes = format_.SEMANTICS, Codes.of(format_.SEMANTICS)
    mantissa, bias = semantics.mantissa_bits, semantics.exponent_bias
    magnitude = bits & _MAGNITUDE
    shift = _MANTISSA - mantissa
    last = (magnitude >> shift) & 1
    normal = ((magnitude + last + ((1 << shift - 1) - 1)) >> shift) - ((_BIAS - bias) << mantissa)
    first = (_BIAS + 1 - bias) << _MANTISSA
    anchor = (_BIAS + _MANTISSA + 1 - bias - mantissa) << _MANTISSA  # an f32 whose last place is the smallest value
    subnormal = (magnitude.bitcast(f32) + bits.constant(anchor).bitcast(f32)).bitcast(i32) - anchor
    code = magnitude.compare("lt", first).select(subnormal, normal)
    beyond = codes.largest
    if not saturates and codes.nan is not None:
        beyond = codes.nan if codes.infinity is None else codes.infinity
    code = code.compare("gt", codes.largest).select(bits.constant(beyond), code)
    is_nan = magnitude.compare("gt", _INFINITY)
    sign = (bits & ~_MAGNITUDE).to(i32, unsigned=True) >> (31 - semantics.sign_shift)
    if codes.nan is None:
        return is_nan.select(sign ^ codes.sign, code | sign)
    code = is_nan.select(bits.constant(codes.nan), code)
    return code | sign if codes.has_negative_zero else code.compare("eq", 0).select(code, code | sign)


_STEPS = {
    PowerRounding.UP: (0x7FFFFF, 0x400001, 0x200001),
    PowerRounding.DOWN: (0, 0x800000, 0x400000),
    PowerRounding.NEAREST: (0x400000, 0x600000, 0x300000),
}
"""What is added in front of cutting the mantissa off; from which subnormal f32 on the code is 1, and from which 0."""


def _power(bits: Scalar, saturates: bool, rounding: PowerRounding) -> Scalar:
    """The biased exponent of a power of two: 0 and 1 stand for what f32 has as subnormal."""
    added, one, zero = _STEPS[rounding]
    magnitude = bits & _MAGNITUDE
    code = (magnitude + added) >> _MANTISSA
    code = magnitude.compare("lt", 1 << _MANTISSA).select(magnitude.compare("ge", one).to(i32), code)
    lowest, highest = (0, 0xFE) if saturates else (0xFF, 0xFF)
    code = code.compare("gt", 0xFE).select(bits.constant(highest), code)
    code = magnitude.compare("lt", zero).select(bits.constant(lowest), code)
    is_none = bits.compare("lt", 0).select(magnitude.compare("ne", 0), magnitude.compare("gt", _INFINITY))
    return is_none.select(bits.constant(0xFF), code)
