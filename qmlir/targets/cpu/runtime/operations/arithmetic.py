"""Integer and float arithmetic as numba operations, lowered by the tables in `semantics.arithmetic`."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import operator as python
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from numba import types

from ..semantics import arithmetic as rows
from ..semantics.arithmetic import FLOATS, INTEGERS, Lowering
from ..semantics.builder import Builder
from ..semantics.values import HALVES, IRValue, type_of
from .declare import Emission, operation, operator, shared
from .registers import INDEX, Register, as_register

_OPERATORS: Mapping[Any, tuple[str, str]] = {
    python.add: ("addi", "addf"),
    python.sub: ("subi", "subf"),
    python.mul: ("muli", "mulf"),
    python.truediv: ("", "divf"),
    python.and_: ("andi", ""),
    python.or_: ("ori", ""),
    python.xor: ("xori", ""),
    python.lshift: ("shli", ""),
    python.rshift: ("shrsi", ""),
    python.neg: ("", "negf"),
}
"""The integer and the float operation of each Python operator; empty if there is none."""

_NAMES = {"powf": "pow", "round": "round_away"}
"""Operations that emitted code calls by another name."""

_BY_OPERATORS = {name for names in _OPERATORS.values() for name in names}


def _same(accepts: Callable[[Register], bool]) -> Callable[..., Any]:
    def typed(first: Any, *others: Any) -> Any:
        register = as_register(first)
        if register is None or not accepts(register) or any(each != first for each in others):
            return None
        return first if isinstance(first, Register) else INDEX

    return typed


integers = _same(lambda register: not register.is_float)
floats = _same(lambda register: register.is_float)


def _named(rows: Mapping[str, Lowering], typed: Callable[..., Any]) -> dict[str, Any]:
    named = {_NAMES.get(name, name): row for name, row in rows.items() if name not in _BY_OPERATORS}
    return {name: operation(name, typed, shared(row)) for name, row in named.items()}


def _integer_power_type(base: Any, exponent: Any) -> Any:
    fits = isinstance(base, Register) and base.is_float and base.element not in HALVES
    power = as_register(exponent)
    return base if fits and power is not None and not power.is_float and power.lanes == base.lanes else None


OPERATIONS: dict[str, Any] = {
    **_named(INTEGERS, integers),
    **_named({"mulsi_high": rows.high_product("sext"), "mului_high": rows.high_product("zext")}, integers),
    **_named(FLOATS, floats),
    "fpowi": operation("fpowi", _integer_power_type, shared(rows.float_to_integer_power)),
}
"""The operations of this module by the names under which emitted code imports them."""


def by_kind(integer: Lowering | None, floating: Lowering | None) -> Lowering:
    """Combines an integer and a float lowering into one; the type of the first operand selects between them."""

    def lower(build: Builder, first: IRValue, *others: IRValue) -> IRValue:
        chosen = floating if first.type.is_float else integer
        assert chosen is not None
        return chosen(build, first, *others)

    return lower


def _accepting(integer: Lowering | None, floating: Lowering | None) -> Callable[..., Any]:
    return _same(lambda register: (floating if register.is_float else integer) is not None)


for _key, (_integer, _float) in _OPERATORS.items():
    _rows = INTEGERS.get(_integer), FLOATS.get(_float)
    operator(_key, 1 if _key is python.neg else 2, _accepting(*_rows), shared(by_kind(*_rows)))


# --- Comparisons ------------------------------------------------------------------------------------------------------


def _comparison(integer: str, floating: str) -> tuple[Callable[..., Any], Any]:
    """Returns the typing and the lowering of a comparison, given its predicates for integers and for floats.

    A predicate is empty if the comparison does not support these operands.
    """

    def typed(a: Any, b: Any) -> Any:
        register = as_register(a)
        if register is None or a != b or not (floating if register.is_float else integer):
            return None
        return register.of("i1")

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        return rows.compared(build, floating if a.type.is_float else integer, a, b)

    return typed, shared(lower)


_ORDERS = ("lt", "le", "gt", "ge")

# Python's operators are signed comparisons of integers and ordered comparisons of floats; only `!=` is true for NaN.
operator(python.eq, 2, *_comparison("eq", "oeq"))
operator(python.ne, 2, *_comparison("ne", "une"))
for _name in _ORDERS:
    operator(getattr(python, _name), 2, *_comparison(f"s{_name}", f"o{_name}"))

_PREDICATES: Mapping[str, tuple[str, str]] = {
    **{f"s{name}": (f"s{name}", "") for name in _ORDERS},
    **{f"u{name}": (f"u{name}", f"u{name}") for name in _ORDERS},
    **{f"{kind}{name}": ("", f"{kind}{name}") for kind in "uo" for name in ("eq", "ne")},
    **{f"o{name}": ("", f"o{name}") for name in _ORDERS},
    "ieq": ("eq", ""),
    "ine": ("ne", ""),
    "ordered": ("", "ord"),
    "unordered": ("", "uno"),
}

COMPARISONS: dict[str, Any] = {name: operation(name, *_comparison(*rows)) for name, rows in _PREDICATES.items()}
"""Comparisons by predicates of `arith`; for example, `ult` means unsigned for integers, and is true for NaN."""


def _condition(type_: Any) -> Any:
    return types.boolean if isinstance(type_, Register) and type_ == Register("i1") else None


def _unchanged(emission: Emission, value: Any) -> Any:
    return value


holds = operation("holds", _condition, _unchanged)
"""Converts an i1 scalar to a Boolean that Python code can branch on."""


# --- Conversions -----

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
        return operation(name, _bits_type(target), shared(partial(rows.same_bits, element=element)))

    def lower(emission: Emission, value: Any) -> Any:
        is_signed = prefix is None and not isinstance(emission.operands[0], types.Boolean)
        operand = emission.register(0, value)
        return emission.build.value(rows.converted(emission.build, operand, element, is_signed=is_signed))

    return operation(name, _conversion_type(target), lower)
