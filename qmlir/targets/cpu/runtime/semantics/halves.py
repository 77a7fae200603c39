"""The short floats f16 and bf16, held as their bits: to f32 and back, exactly, in instructions that every CPU has.

Conversions to shorter floats round once, ties to even, and keep denormals; every NaN becomes the quiet one.
"""

from collections.abc import Callable

from .builder import Builder
from .values import IRValue, integer, number


def widened(build: Builder, value: IRValue) -> IRValue:
    """A short float as f32."""
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


def _rounded(build: Builder, rest: IRValue, places: int) -> IRValue:
    """An integer without its last places, rounded to even."""
    odd = build.binary("and", build.binary("lshr", rest, integer(rest.type, places)), integer(rest.type, 1))
    bias = build.binary("add", odd, integer(rest.type, (1 << (places - 1)) - 1))
    return build.binary("lshr", build.binary("add", rest, bias), integer(rest.type, places))


def narrowed(build: Builder, element: str, value: IRValue) -> IRValue:
    """f32 as a short float."""
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
    """The bits of f16 of a magnitude that is no NaN, by its bits."""
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
    """f64 as f32, truncated and the last bit set where that was not exact: rounding it further rounds once."""
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
    """The short floats are computed in f32, and rounded: that rounds once, f32 has more than twice their bits."""

    def lowered(build: Builder, *values: IRValue) -> IRValue:
        element = values[0].type.element
        if not values[0].type.is_half:
            return lower(build, *values)
        found = lower(build, *(widened(build, value) for value in values))
        return narrowed(build, element, found) if found.type.is_float else found

    return lowered
