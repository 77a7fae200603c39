"""Conversions between plain types: floats to integers modulo their width, everything else by one instruction or two."""

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, IntegerType, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.kernel.lowering.quantized import Writing
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.lowering.small_floats import encoded
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.lower.elements import identity
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.ir.builtin_types import as_integer, element_of
from qmlir.ir.small_floats import as_small_float

_SIGNIFICANT_BITS: dict[type[Attribute], int] = {Float16Type: 11, BFloat16Type: 8, Float32Type: 24}
"""Of f64 there are 53."""

_TWO_TO_64 = 2.0**64


def _to_integer(x: Scalar, source: Attribute, target: IntegerType) -> Scalar:
    """A float cut off towards zero, modulo the width of `target`; NaN and infinities as 0.

    Shorter floats come as f32.
    """
    bits, significant = target.bitwidth, _SIGNIFICANT_BITS.get(type(source), 53)
    for width in (32, 64):
        # A float beyond such integers is a multiple of 2^(width - significant bits); f16 has none that far out.
        if bits <= width - significant or isinstance(source, Float16Type):
            is_inside = x.absolute().compare("lt", 2.0 ** (width - 1))
            return is_inside.select(x, 0).to(IntegerType(width)).to(target)
    number = x.to(f64)
    number = (number - number).compare("eq", 0).select(number, 0)
    # Both steps are exact: the quotient is whole, and the rest keeps the low bits of the number.
    rest = number - (number * (1 / _TWO_TO_64)).apply(math.TruncOp) * _TWO_TO_64
    magnitude = rest.absolute().to(i64, unsigned=True)
    return rest.compare("lt", 0).select(-magnitude, magnitude).to(target)


def _converted(x: Scalar, source: Attribute, element: Attribute) -> Scalar:
    if element == i1:
        return x.to(element)
    if isinstance(element, AnyFloat):
        # Integers and f64 go to the shorter floats by way of f32 as their evaluator does.
        is_by_f32 = isinstance(element, BFloat16Type) or (isinstance(element, Float16Type) and not x.is_float)
        return (x.to(f32) if is_by_f32 else x).to(element)
    target = as_integer(element)
    assert target is not None
    return _to_integer(x, source, target) if x.is_float else x.to(target)


_AS_IT_IS = Writing((), lambda value, scalars: value)


def _cast(op: ops.CastOp, at: Lowering) -> Sequence[SSAValue]:
    plain = plain_type(element_of(op.input)), plain_type(element_of(op.result))
    if plain[0] == plain[1]:
        return (at.value(op.input),)
    small = as_small_float(plain[1])
    source, element = f32 if as_small_float(plain[0]) else element_of(at.value(op.input)), at.result_element()
    if small is None and source == element and not isinstance(source, AnyFloat):
        return (at.value(op.input),)
    reading = quantized.plain(at, op.input, identity(at))

    def convert(x: Scalar) -> Scalar:
        if small is not None:
            return encoded(x.to(f32), small, saturates=op.saturates, rounding=op.rounding)
        return _converted(x, source, element)

    return (quantized.compute(at, [reading], _AS_IT_IS, convert),)


def _bit_cast(op: ops.BitCastOp, at: Lowering) -> Sequence[SSAValue]:
    value, element = at.value(op.input), at.result_element()
    if element_of(value) == element:
        return (value,)
    is_resized = i1 in (element, element_of(value))
    reading = quantized.stored(at, op.input, identity(at))

    def body(x: Scalar) -> Scalar:
        return x.to(element) if is_resized else x.bitcast(element)

    return (quantized.compute(at, [reading], _AS_IT_IS, body),)


LOWERINGS: dict[type[Operation], Lower] = {ops.CastOp: _cast, ops.BitCastOp: _bit_cast}
