"""Conversions between elements, lane by lane: of integers signed or not, of floats rounded once, and of bits."""

from .builder import Builder
from .halves import narrowed, rounded_to_odd, widened
from .values import HALVES, IRValue, integer, type_of


def resized(build: Builder, value: IRValue, element: str, *, is_signed: bool) -> IRValue:
    """An integer as one of another width."""
    type_ = value.type.of(element)
    if type_.bits == value.type.bits:
        return IRValue(type_, value.text)
    if type_.bits < value.type.bits:
        return build.cast("trunc", value, type_)
    return build.cast("sext" if is_signed else "zext", value, type_)


def _float_resized(build: Builder, value: IRValue, element: str) -> IRValue:
    if value.type.element == element:
        return value
    if value.type.is_half:
        value = widened(build, value)
    if element in HALVES:
        return narrowed(build, element, rounded_to_odd(build, value) if value.type.bits == 64 else value)
    return build.cast("fpext" if element == "f64" else "fptrunc", value, value.type.of(element))


def _from_integer(build: Builder, value: IRValue, element: str, is_signed: bool) -> IRValue:
    name = "sitofp" if is_signed else "uitofp"
    if element not in HALVES:
        return build.cast(name, value, value.type.of(element))
    wide = "f32" if value.type.bits <= 24 else "f64"
    if value.type.bits > 53:
        value = _with_sticky_bits(build, value, is_signed)
    return _float_resized(build, build.cast(name, value, value.type.of(wide)), element)


def _with_sticky_bits(build: Builder, value: IRValue, is_signed: bool) -> IRValue:
    """An integer that f64 cannot hold, its low 11 bits joined into one: shorter floats round it as the whole."""
    type_ = value.type
    rest = build.binary("and", value, integer(type_, 0x7FF))
    sticky = build.cast("zext", build.compare("icmp ne", rest, integer(type_, 0)), type_)
    joined = build.binary("or", build.binary("xor", value, rest), build.binary("shl", sticky, integer(type_, 11)))
    width = integer(type_, 1 << 53)
    if is_signed:
        moved = build.binary("add", value, width)
        is_short = build.compare("icmp ule", moved, integer(type_, 1 << 54))
    else:
        is_short = build.compare("icmp ule", value, width)
    return build.select(is_short, value, joined)


def converted(build: Builder, value: IRValue, element: str, *, is_signed: bool) -> IRValue:
    """A value as another element, by its number; `is_signed` says how integers are read and given."""
    wants_float = type_of(element).is_float
    if not value.type.is_float:
        if wants_float:
            return _from_integer(build, value, element, is_signed)
        return resized(build, value, element, is_signed=is_signed)
    if wants_float:
        return _float_resized(build, value, element)
    if value.type.is_half:
        value = widened(build, value)
    return build.cast("fptosi" if is_signed else "fptoui", value, value.type.of(element))


def same_bits(build: Builder, value: IRValue, element: str) -> IRValue:
    """The bits of a value in another division."""
    lanes, bits = value.type.lanes, type_of(element).bits
    count = value.type.bits * max(lanes, 1) // bits
    return build.cast("bitcast", value, type_of(element, count if lanes or count > 1 else 0))
