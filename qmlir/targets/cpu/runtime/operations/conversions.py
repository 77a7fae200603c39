"""Conversions between element types, such as `i32(x)` and `f32(x)`, of Python numbers, scalars and vectors.

`i32(x)` interprets integers as signed and truncates floats, `unsigned_i32(x)` interprets integers as unsigned, and
`bits_i32(x)` is a bitcast. Vectors are converted lane by lane. Conversions are created when they are first requested,
because integers can have any width from 1 to 64.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from numba import types

from ..semantics.arithmetic import converted, same_bits
from ..semantics.values import type_of
from .declare import Emission, operation, shared
from .registers import INDEX, Register, as_register

_NAME = re.compile(r"(unsigned_|bits_)?(i(?:[1-9]|[1-5]\d|6[0-4])|f16|bf16|f32|f64|index)")


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
        lanes, rest = divmod(total, type_of(target).bits)
        return None if rest else Register(target, lanes if register.lanes or lanes > 1 else 0)

    return typed


@cache
def conversion(name: str) -> Any:
    """Returns the conversion named `name`; `None` if there is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    prefix, target = found.groups()
    element = "i64" if target == "index" else target
    if prefix == "bits_":
        return operation(name, _bits_type(target), shared(partial(same_bits, element=element)))

    def lower(emission: Emission, value: Any) -> Any:
        is_signed = prefix is None and not isinstance(emission.operands[0], types.Boolean)
        operand = emission.register(0, value)
        return emission.build.value(converted(emission.build, operand, element, is_signed=is_signed))

    return operation(name, _conversion_type(target), lower)
