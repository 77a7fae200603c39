"""The short floats f16 and bf16, held as their bits: to f32 and back, exactly, in instructions that every CPU has.

Conversions to shorter floats round once, ties to even, and keep denormals; every NaN becomes the quiet one.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from llvmlite import ir

from .registers import splat_constant

HALVES = ("f16", "bf16")


def like(type_: Any, element: Any) -> Any:
    """An element, or as many of them as a vector has lanes."""
    return ir.VectorType(element, type_.count) if isinstance(type_, ir.VectorType) else element


def widened(builder: Any, element: str, value: Any) -> Any:
    """Bits of `element` as f32."""
    int32, float32 = like(value.type, ir.IntType(32)), like(value.type, ir.FloatType())

    def constant(number: int) -> Any:
        return splat_constant(int32, number)

    bits = builder.zext(value, int32)
    if element == "bf16":
        return builder.bitcast(builder.shl(bits, constant(16)), float32)
    magnitude = builder.shl(builder.and_(bits, constant(0x7FFF)), constant(13))
    # The exponents differ by 112: a product makes up for it, and normalizes denormals.
    scaled = builder.fmul(builder.bitcast(magnitude, float32), splat_constant(float32, 2.0**112))
    is_special = builder.icmp_unsigned(">=", magnitude, constant(0x7C00 << 13))
    found = builder.select(is_special, builder.or_(magnitude, constant(0x7F800000)), builder.bitcast(scaled, int32))
    sign = builder.shl(builder.and_(bits, constant(0x8000)), constant(16))
    return builder.bitcast(builder.or_(found, sign), float32)


def narrowed(builder: Any, element: str, value: Any) -> Any:
    """f32 as bits of `element`."""
    int32, int16 = like(value.type, ir.IntType(32)), like(value.type, ir.IntType(16))

    def constant(number: int) -> Any:
        return splat_constant(int32, number)

    bits = builder.bitcast(value, int32)
    sign = builder.and_(bits, constant(0x80000000))
    magnitude = builder.xor(bits, sign)
    sign = builder.lshr(sign, constant(16))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(0x7F800000))

    def rounded(places: int, rest: Any) -> Any:
        odd = builder.and_(builder.lshr(rest, constant(places)), constant(1))
        return builder.lshr(builder.add(rest, builder.add(odd, constant((1 << (places - 1)) - 1))), constant(places))

    if element == "bf16":
        found = builder.select(is_nan, constant(0x7FC0), rounded(16, magnitude))
    else:
        normal = rounded(13, builder.sub(magnitude, constant(112 << 23)))
        # Added to 0.5, a denormal's last bit is that of the sum: the addition rounds.
        float32 = like(value.type, ir.FloatType())
        half = constant(126 << 23)
        total = builder.fadd(builder.bitcast(magnitude, float32), builder.bitcast(half, float32))
        denormal = builder.sub(builder.bitcast(total, int32), half)
        found = builder.select(builder.icmp_unsigned("<", magnitude, constant(113 << 23)), denormal, normal)
        is_large = builder.icmp_unsigned(">=", magnitude, constant(143 << 23))
        found = builder.select(is_large, constant(0x7C00), found)
        found = builder.select(is_nan, constant(0x7E00), found)
    return builder.trunc(builder.or_(found, sign), int16)


def rounded_to_odd(builder: Any, value: Any) -> Any:
    """f64 as f32, truncated and the last bit set where that was not exact: rounding it further rounds once."""
    float32, int32 = like(value.type, ir.FloatType()), like(value.type, ir.IntType(32))
    near = builder.fptrunc(value, float32)
    back = builder.fpext(near, value.type)
    bits = builder.bitcast(near, int32)
    inexact = builder.fcmp_ordered("!=", back, value)
    # The bits of a float count up with its magnitude.
    sign = splat_constant(like(value.type, ir.IntType(64)), 0x7FFFFFFFFFFFFFFF)
    int64 = like(value.type, ir.IntType(64))
    grown = builder.icmp_unsigned(
        ">", builder.and_(builder.bitcast(back, int64), sign), builder.and_(builder.bitcast(value, int64), sign)
    )
    grown = builder.and_(grown, inexact)
    truncated = builder.sub(bits, builder.zext(grown, int32))
    return builder.bitcast(builder.or_(truncated, builder.zext(inexact, int32)), float32)
