"""Convolutions of integers that ConvInteger does not take: in f32 where that is exact, otherwise byte by byte.

`q - z = sum 256^k (b_k - c_k)`, where `b_k` are the bytes of `q` and `c_k` those of its zero point. Each pair of bytes
is a ConvInteger of u8 and u8, exact in 32 bits, which fills up with the zero point as the padding wants it. Transposed
convolutions have no operator of integers: a pair of bytes is one of f32, whose sums are exact for fewer terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i32, i64
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.export.emission import Outgoing, container
from qmlir.onnx.export.forms.arithmetic import EXACT_F32, Exact, centred, constant, together
from qmlir.onnx.export.forms.casts import uniform

_BYTE = IntegerType(8, Signedness.UNSIGNED)
_BASE = 256
_LARGEST = 255
_MOST_TERMS = (2**31 - 1) // _LARGEST**2
"""So many products of bytes, less their zero points, fit into 32 bits."""

MOST_TRANSPOSED_TERMS = (EXACT_F32 - 1) // _LARGEST**2
"""So many fit into the integers that f32 has."""

_BITS = 17
"""The bits of a stored integer of 16 bits minus its zero point, with the sign."""


@dataclass(frozen=True)
class Byte:
    """One byte of each integer: its name, its zero point, and what it counts."""

    name: str
    zero_point: int
    factor: int


def _bytes_of(out: Outgoing, value: SSAValue) -> list[Byte]:
    """The bytes of the integers of an operand, the highest first."""
    element = uniform(out, element_of(value))
    held, point = container(element), int(element.zero_points.flat[0])
    if (element.zero_points != point).any():
        whole = centred(out, value)
        bits, name, shift = _BITS, whole.name, 1 << (_BITS - 1)
        wide, point = whole.element, 0
    else:
        bits, wide = held.width.data, i32
        shift = 1 << (bits - 1) if element.is_signed else 0
        name = out.cast(out.name(value), wide)
    if shift:
        name = out.node("Add", [name, out.constant(shift, wide)])
    point += shift
    found: list[Byte] = []
    for place in reversed(range(-(-bits // 8))):
        factor = _BASE**place
        part = out.node("Div", [name, out.constant(factor, wide)]) if place else name
        if factor * _BASE < 1 << bits:
            part = out.node("Mod", [part, out.constant(_BASE, wide)])
        found.append(Byte(out.cast(part, _BYTE), point // factor % _BASE, factor))
    return found


def _constant_bytes(out: Outgoing, integers: Array) -> list[Byte]:
    """The bytes of constant integers without zero point, the highest first."""
    bits = max(int(np.abs(integers).max(initial=0)).bit_length() + 1, 8)
    shift = 1 << (bits - 1)
    return [
        Byte(
            out.constant((integers + shift) // _BASE**place % _BASE, _BYTE),
            shift // _BASE**place % _BASE,
            _BASE**place,
        )
        for place in reversed(range(-(-bits // 8)))
    ]


def _of_bytes(out: Outgoing, left: Byte, right: Byte, attributes: Mapping[str, Any], *, is_transposed: bool) -> str:
    """The sums of the products of two bytes, less their zero points, as i32."""
    if not is_transposed:
        points = [out.constant(each.zero_point, _BYTE) for each in (left, right)]
        return out.node("ConvInteger", [left.name, right.name, *points], **attributes)
    floats = [
        out.node("Sub", [out.cast(each.name, f32), out.constant(float(each.zero_point), f32)]) for each in (left, right)
    ]
    return out.cast(out.node("ConvTranspose", floats, **attributes), i32)


def wide_convolution(
    out: Outgoing,
    data: SSAValue,
    weight: SSAValue | Array,
    bound: int,
    terms: int,
    attributes: Mapping[str, Any],
    *,
    is_transposed: bool = False,
) -> Exact:
    """The exact sums of a convolution, `bound` their magnitude, each of `terms` products.

    The weights are an operand, or integers without zero point.
    """
    if bound < EXACT_F32:
        x = out.cast(centred(out, data).name, f32)
        w = out.cast(centred(out, weight).name, f32) if isinstance(weight, SSAValue) else out.constant(weight, f32)
        operator = "ConvTranspose" if is_transposed else "Conv"
        return Exact(out.cast(out.node(operator, [x, w], **attributes), i32), i32, bound)
    most = MOST_TRANSPOSED_TERMS if is_transposed else _MOST_TERMS
    if terms > most:
        raise out.error(f"reduces {terms} terms, but a convolution of this width supports at most {most}")
    wide = i64 if bound >= 1 << 31 else i32
    total: Exact | None = None
    rights = _bytes_of(out, weight) if isinstance(weight, SSAValue) else _constant_bytes(out, weight)
    for left in _bytes_of(out, data):
        for right in rights:
            name = _of_bytes(out, left, right, attributes, is_transposed=is_transposed)
            part = Exact(name if wide == i32 else out.cast(name, wide), wide, bound)
            if (factor := left.factor * right.factor) != 1:
                # Where a sum is below 2^31, so is the sum of all parts, whatever wraps on the way.
                part = Exact(out.node("Mul", [part.name, constant(out, factor, part)]), wide, bound)
            total = part if total is None else Exact(together(out, "Add", total, part, 0).name, wide, bound)
    assert total is not None
    return total
