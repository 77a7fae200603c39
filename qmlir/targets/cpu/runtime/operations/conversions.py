"""Conversions between elements: `i32(x)`, `f32(x)` and so on take numbers, scalars and vectors, lane by lane.

`i32(x)` reads an integer as signed and truncates a float, `unsigned_i32(x)` reads and gives unsigned ones, and
`bits_i32(x)` gives the bits of a register in another division. They are made when they are first asked for, because
integers have every width from 1 to 64.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types

from .declare import Emission, operation
from .halves import HALVES, like, narrowed, rounded_to_odd, widened
from .registers import INDEX, Register, as_register, bits_of, llvm_element, splat_constant

_NAME = re.compile(r"(unsigned_|bits_)?(i(?:[1-9]|[1-5]\d|6[0-4])|f16|bf16|f32|f64|index)")


def _integer_resized(builder: Any, value: Any, width: int, is_signed: bool) -> Any:
    element = value.type.element if isinstance(value.type, ir.VectorType) else value.type
    target = like(value.type, ir.IntType(width))
    if element.width == width:
        return value
    if element.width > width:
        return builder.trunc(value, target)
    return builder.sext(value, target) if is_signed else builder.zext(value, target)


def _float_resized(builder: Any, value: Any, source: str, target: str) -> Any:
    if source == target:
        return value
    if source in HALVES:
        value, source = widened(builder, source, value), "f32"
    if target in HALVES:
        return narrowed(builder, target, rounded_to_odd(builder, value) if source == "f64" else value)
    type_ = like(value.type, llvm_element(target))
    if source == target:
        return value
    return builder.fpext(value, type_) if target == "f64" else builder.fptrunc(value, type_)


def _from_integer(builder: Any, value: Any, target: str, is_signed: bool) -> Any:
    convert = builder.sitofp if is_signed else builder.uitofp
    if target not in HALVES:
        return convert(value, like(value.type, llvm_element(target)))
    element = value.type.element if isinstance(value.type, ir.VectorType) else value.type
    wide = "f32" if element.width <= 24 else "f64"
    if element.width > 53:
        value = _with_sticky_bits(builder, value, is_signed)
    return _float_resized(builder, convert(value, like(value.type, llvm_element(wide))), wide, target)


def _with_sticky_bits(builder: Any, value: Any, is_signed: bool) -> Any:
    """An integer that f64 cannot hold, its low 11 bits joined into one: shorter floats round it as the whole."""
    type_ = value.type
    low = splat_constant(type_, 0x7FF)
    zero = splat_constant(type_, 0)
    rest = builder.and_(value, low)
    sticky = builder.zext(builder.icmp_unsigned("!=", rest, zero), type_)
    joined = builder.or_(builder.xor(value, rest), builder.shl(sticky, splat_constant(type_, 11)))
    width = splat_constant(type_, 1 << 53)
    if is_signed:
        moved = builder.add(value, width)
        is_short = builder.icmp_unsigned("<=", moved, splat_constant(type_, 1 << 54))
    else:
        is_short = builder.icmp_unsigned("<=", value, width)
    return builder.select(is_short, value, joined)


def _converted(target: str, is_signed: bool) -> Callable[..., Any]:
    def lower(emission: Emission, value: Any) -> Any:
        builder, source = emission.builder, emission.operands[0]
        register = as_register(source)
        if isinstance(source, types.Float):
            return _float_resized(builder, value, "f64", target)
        if isinstance(source, types.Boolean):
            return _integer_resized(builder, value, bits_of(target), is_signed=False)
        assert register is not None or isinstance(source, types.Integer)
        is_float = register is not None and register.is_float
        wants_float = target in ("f16", "bf16", "f32", "f64")
        if not is_float:
            if wants_float:
                return _from_integer(builder, value, target, is_signed)
            return _integer_resized(builder, value, 64 if target == "index" else bits_of(target), is_signed)
        assert register is not None
        if wants_float:
            return _float_resized(builder, value, register.element, target)
        if register.element in HALVES:
            value = widened(builder, register.element, value)
        type_ = like(value.type, llvm_element(target))
        return builder.fptosi(value, type_) if is_signed else builder.fptoui(value, type_)

    return lower


def _conversion_type(target: str) -> Callable[[Any], Any]:
    def typed(source: Any) -> Any:
        if not isinstance(source, Register | types.Integer | types.Float | types.Boolean):
            return None
        lanes = source.lanes if isinstance(source, Register) else 0
        if target == "index" and not lanes:
            return INDEX
        return Register("i64" if target == "index" else target, lanes)

    return typed


def _bits_type(target: str) -> Callable[[Any], Any]:
    def typed(source: Any) -> Any:
        register = as_register(source)
        if register is None:
            return None
        total = register.bits * max(register.lanes, 1)
        lanes, rest = divmod(total, bits_of(target))
        return None if rest else Register(target, lanes if register.lanes or lanes > 1 else 0)

    return typed


@cache
def conversion(name: str) -> Any:
    """The conversion of that name; `None` where there is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    prefix, target = found.groups()
    if prefix == "bits_":
        return operation(
            name, _bits_type(target), lambda emission, value: emission.builder.bitcast(value, emission.result.llvm)
        )
    return operation(name, _conversion_type(target), _converted(target, is_signed=prefix is None))
