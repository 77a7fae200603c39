"""Conversions between f32 and the 16-bit floats f16 and bf16, in instructions that every CPU has.

f16 and bf16 are represented by their bits. Narrowing rounds once, ties to even. Denormals are preserved; every NaN
becomes the canonical quiet NaN with the sign of the operand.
"""

from collections.abc import Callable

from .builder import Builder
from .values import IRValue, integer, number


def widened(build: Builder, value: IRValue) -> IRValue:
    """Widens f16 or bf16 to f32, exactly."""
    int32, float32 = value.type.of("i32"), value.type.of("f32")
    bits = build.cast("zext", value, int32)
    if value.type.element == "bf16":
        return build.cast("bitcast", build.binary("shl", bits, integer(int32, 16)), float32)
    magnitude = build.binary("shl", build.binary("and", bits, integer(int32, 0x7FFF)), integer(int32, 13))
    # The exponents differ by 112: a product makes up for it, and normalizes denormals.
    scaled = build.binary("fmul", build.cast("bitcast", magnitude, float32), number(float32, 2.0**112))
    is_special = build.compare("icmp uge", magnitude, integer(int32, 0x7C00 << 13))
    special = build.binary("or", magnitude, integer(int32, 0x7F800000))
    found = build.select(is_special, special, build.cast("bitcast", scaled, int32))
    sign = build.binary("shl", build.binary("and", bits, integer(int32, 0x8000)), integer(int32, 16))
    return build.cast("bitcast", build.binary("or", found, sign), float32)


def _rounded(build: Builder, rest: IRValue, positions: int) -> IRValue:
    """Shifts an integer right by `positions` bits, rounding to nearest, ties to even."""
    odd = build.binary("and", build.binary("lshr", rest, integer(rest.type, positions)), integer(rest.type, 1))
    bias = build.binary("add", odd, integer(rest.type, (1 << (positions - 1)) - 1))
    return build.binary("lshr", build.binary("add", rest, bias), integer(rest.type, positions))


def narrowed(build: Builder, element: str, value: IRValue) -> IRValue:
    """Narrows f32 to `element`, f16 or bf16, rounding to nearest, ties to even."""
    int32 = value.type.of("i32")
    bits = build.cast("bitcast", value, int32)
    sign = build.binary("and", bits, integer(int32, 0x80000000))
    magnitude = build.binary("xor", bits, sign)
    sign = build.binary("lshr", sign, integer(int32, 16))
    is_nan = build.compare("icmp ugt", magnitude, integer(int32, 0x7F800000))
    if element == "bf16":
        found = build.select(is_nan, integer(int32, 0x7FC0), _rounded(build, magnitude, 16))
    else:
        found = build.select(is_nan, integer(int32, 0x7E00), _as_f16(build, magnitude))
    held = build.cast("trunc", build.binary("or", found, sign), value.type.of("i16"))
    return IRValue(value.type.of(element), held.text)


def _as_f16(build: Builder, magnitude: IRValue) -> IRValue:
    """Returns the f16 bits of a non-negative f32 that is not NaN; `magnitude` holds the f32 bits."""
    int32, float32 = magnitude.type, magnitude.type.of("f32")
    normal = _rounded(build, build.binary("sub", magnitude, integer(int32, 112 << 23)), 13)
    # Added to 0.5, a denormal's last bit is that of the sum: the addition rounds.
    half = integer(int32, 126 << 23)
    total = build.binary("fadd", build.cast("bitcast", magnitude, float32), number(float32, 0.5))
    denormal = build.binary("sub", build.cast("bitcast", total, int32), half)
    found = build.select(build.compare("icmp ult", magnitude, integer(int32, 113 << 23)), denormal, normal)
    is_large = build.compare("icmp uge", magnitude, integer(int32, 143 << 23))
    return build.select(is_large, integer(int32, 0x7C00), found)


def rounded_to_odd(build: Builder, value: IRValue) -> IRValue:
    """Converts f64 to f32, rounding to odd: truncates, and sets the last bit if the value was inexact.

    Rounding the result again, to f16 or bf16, then gives the same value as rounding the f64 once.
    """
    float32, int32, int64 = (value.type.of(name) for name in ("f32", "i32", "i64"))
    near = build.cast("fptrunc", value, float32)
    back = build.cast("fpext", near, value.type)
    bits = build.cast("bitcast", near, int32)
    inexact = build.compare("fcmp one", back, value)
    # The bits of a float count up with its magnitude.
    magnitudes = [
        build.binary("and", build.cast("bitcast", each, int64), integer(int64, (1 << 63) - 1)) for each in (back, value)
    ]
    grown = build.binary("and", build.compare("icmp ugt", *magnitudes), inexact)
    truncated = build.binary("sub", bits, build.cast("zext", grown, int32))
    return build.cast("bitcast", build.binary("or", truncated, build.cast("zext", inexact, int32)), float32)


def in_wider(lower: Callable[..., IRValue]) -> Callable[..., IRValue]:
    """Extends the lowering of a float operation to f16 and bf16: computes in f32 and rounds the result.

    The result is as if rounded once, because f32 has more than twice the precision of f16 and bf16.
    """

    def lowered(build: Builder, *values: IRValue) -> IRValue:
        element = values[0].type.element
        if not values[0].type.is_half:
            return lower(build, *values)
        found = lower(build, *(widened(build, value) for value in values))
        return narrowed(build, element, found) if found.type.is_float else found

    return lowered
