"""Scales that are powers of two, as their exponents: what the device knows of a quantized type."""

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.requantization import power_of_two_shift
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import op_error


@dataclass(frozen=True)
class Exponents:
    """`real = stored * 2^-places`: one number, or one for each index of an axis."""

    places: tuple[int, ...]
    axis: int | None = None

    def __sub__(self, other: "Exponents") -> "Exponents":
        """By how many places integers of this scale are shifted to have the other one."""
        return self._with(other, lambda left, right: left - right)

    def __add__(self, other: "Exponents") -> "Exponents":
        return self._with(other, lambda left, right: left + right)

    def finer(self, other: "Exponents") -> "Exponents":
        """The finer of the two, channel by channel."""
        return self._with(other, max)

    def _with(self, other: "Exponents", function) -> "Exponents":
        count = max(len(self.places), len(other.places))
        left, right = (each.places * (count // len(each.places)) for each in (self, other))
        numbers = tuple(function(a, b) for a, b in zip(left, right, strict=True))
        axis = other.axis if self.axis is None else self.axis
        return Exponents(numbers[:1], None) if len(set(numbers)) == 1 else Exponents(numbers, axis)


def exponents_of(op: Operation, value: SSAValue) -> Exponents:
    """The exponents of a value of `op`. Raises `DiagnosticError` where its type is none of the device's."""
    type_ = ranked_tensor(value.type)
    element = None if type_ is None else type_.get_element_type()
    if not isinstance(element, UniformQuantizedType) or element.granularity is Granularity.BLOCK:
        raise op_error(op, f"has a value of type {value.type}; the device takes scales by tensor or by channel")
    if np.any(element.zero_points) or not element.is_signed:
        raise op_error(op, f"has a value of type {value.type}; the device takes signed storage with zero point 0")
    try:
        places = power_of_two_shift(element.scales)
    except ValueError as error:
        raise op_error(op, f"has a value of type {value.type}; the device takes powers of two for scales") from error
    numbers = tuple(int(each) for each in np.atleast_1d(places))
    return Exponents(numbers, element.axis if len(numbers) > 1 else None)
