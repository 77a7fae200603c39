"""Integers modulo 2^N and floats rounded in each step, on scalars and vectors: what `arith` and `math` compute.

One table row an operation. What `arith` leaves undefined gives some value and never stops the process: a quotient of 0
is 0, that of the smallest integer and -1 wraps.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

import operator as python
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir
from numba import types

from .declare import Emission, Lowering, operation, operator
from .halves import HALVES, narrowed, widened
from .registers import INDEX, Register, as_register, splat_constant


def suffix(type_: Any) -> str:
    """How the names of LLVM's overloaded intrinsics end: `i32`, `v16f32`."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{suffix(type_.element)}"
    if isinstance(type_, ir.IntType):
        return f"i{type_.width}"
    return {ir.FloatType: "f32", ir.DoubleType: "f64"}[type(type_)]


def overloaded(name: str) -> Lowering:
    """The lowering to `llvm.<name>`, overloaded by the type of the first operand."""

    def lower(emission: Emission, *values: Any) -> Any:
        type_ = values[0].type
        return emission.intrinsic(f"llvm.{name}.{suffix(type_)}", type_, values)

    return lower


def flagged(name: str) -> Lowering:
    """The same for intrinsics whose last operand is a flag: that the operation is defined everywhere."""

    def lower(emission: Emission, *values: Any) -> Any:
        type_ = values[0].type
        return emission.intrinsic(f"llvm.{name}.{suffix(type_)}", type_, (*values, ir.Constant(ir.IntType(1), 0)))

    return lower


def instruction(name: str) -> Lowering:
    """The lowering to one instruction."""
    return lambda emission, *values: getattr(emission.builder, name)(*values)


# --- Integers ---------------------------------------------------------------------------------------------------------


def _divisor(emission: Emission, a: Any, b: Any, is_signed: bool) -> tuple[Any, Any]:
    """A divisor that every dividend can be divided by, and where the given one was 0."""
    builder = emission.builder
    zero, one = splat_constant(b.type, 0), splat_constant(b.type, 1)
    is_zero = builder.icmp_unsigned("==", b, zero)
    wrong = is_zero
    if is_signed:
        element = b.type.element if isinstance(b.type, ir.VectorType) else b.type
        minimum, minus = splat_constant(a.type, 1 << (element.width - 1)), splat_constant(b.type, -1)
        overflows = builder.and_(builder.icmp_unsigned("==", a, minimum), builder.icmp_unsigned("==", b, minus))
        wrong = builder.or_(is_zero, overflows)  # divided by 1, the smallest integer is what wrapping gives
    return builder.select(wrong, one, b), is_zero


def _divided(name: str) -> Lowering:
    """Division or remainder; towards zero."""
    is_signed, is_remainder = name[0] == "s", name.endswith("rem")

    def lower(emission: Emission, a: Any, b: Any) -> Any:
        divisor, is_zero = _divisor(emission, a, b, is_signed)
        found = getattr(emission.builder, name)(a, divisor)
        return found if is_remainder else emission.builder.select(is_zero, splat_constant(a.type, 0), found)

    return lower


def _towards(name: str, *, up: bool) -> Lowering:
    """The quotient rounded down or up: that towards zero, corrected where a remainder is left."""
    is_signed = name[0] == "s"

    def lower(emission: Emission, a: Any, b: Any) -> Any:
        builder = emission.builder
        zero = splat_constant(a.type, 0)
        quotient = _divided(name)(emission, a, b)
        rest = _divided(name.replace("div", "rem"))(emission, a, b)
        inexact = builder.icmp_unsigned("!=", rest, zero)
        if is_signed:
            differ = builder.icmp_signed("<", builder.xor(a, b), zero)
            inexact = builder.and_(inexact, builder.not_(differ) if up else differ)
        inexact = builder.and_(inexact, builder.icmp_unsigned("!=", b, zero))
        one = builder.zext(inexact, a.type)
        return builder.add(quotient, one) if up else builder.sub(quotient, one)

    return lower


def _power(emission: Emission, base: Any, exponent: Any) -> Any:
    """Integers to integer powers by squaring: a loop over the bits of the exponent, unrolled; 1/x for negative ones."""
    builder = emission.builder
    element = base.type.element if isinstance(base.type, ir.VectorType) else base.type
    zero, one = splat_constant(base.type, 0), splat_constant(base.type, 1)
    result, square, rest = one, base, exponent
    for _ in range(element.width):
        is_odd = builder.icmp_unsigned("!=", builder.and_(rest, one), zero)
        result = builder.select(is_odd, builder.mul(result, square), result)
        square = builder.mul(square, square)
        rest = builder.lshr(rest, one)
    is_negative = builder.icmp_signed("<", exponent, zero)
    is_unit = builder.or_(
        builder.icmp_unsigned("==", base, one), builder.icmp_unsigned("==", base, splat_constant(base.type, -1))
    )
    odd = builder.icmp_unsigned("!=", builder.and_(exponent, one), zero)
    inverse = builder.select(is_unit, builder.select(odd, base, one), zero)
    return builder.select(is_negative, inverse, result)


INTEGERS: Mapping[str, Lowering] = {
    "divsi": _divided("sdiv"),
    "divui": _divided("udiv"),
    "remsi": _divided("srem"),
    "remui": _divided("urem"),
    "floordivsi": _towards("sdiv", up=False),
    "ceildivsi": _towards("sdiv", up=True),
    "ceildivui": _towards("udiv", up=True),
    "minsi": overloaded("smin"),
    "maxsi": overloaded("smax"),
    "minui": overloaded("umin"),
    "maxui": overloaded("umax"),
    "shrui": instruction("lshr"),
    "absi": flagged("abs"),
    "ctlz": flagged("ctlz"),
    "cttz": flagged("cttz"),
    "ctpop": overloaded("ctpop"),
    "ipowi": _power,
    "mulsi_high": lambda emission, a, b: _high_product(emission, a, b, emission.builder.sext),
    "mului_high": lambda emission, a, b: _high_product(emission, a, b, emission.builder.zext),
}
"""Functions of integers of one type, to that type."""


def _high_product(emission: Emission, a: Any, b: Any, extend: Callable[..., Any]) -> Any:
    """The upper half of the product of twice the width."""
    builder = emission.builder
    vector = isinstance(a.type, ir.VectorType)
    element = a.type.element if vector else a.type
    double = ir.IntType(2 * element.width)
    wide = ir.VectorType(double, a.type.count) if vector else double
    product = builder.mul(extend(a, wide), extend(b, wide))
    return builder.trunc(builder.lshr(product, splat_constant(wide, element.width)), a.type)


# --- Floats -----------------------------------------------------------------------------------------------------------


def _scalar_calls(emission: Emission, name: str, values: tuple[Any, ...]) -> Any:
    """A function of libm on f64, lane by lane."""
    builder, type_ = emission.builder, values[0].type
    if not isinstance(type_, ir.VectorType):
        return emission.intrinsic(name, type_, values)
    result = ir.Constant(type_, ir.Undefined)
    for lane in range(type_.count):
        place = ir.Constant(ir.IntType(32), lane)
        scalars = tuple(builder.extract_element(value, place) for value in values)
        result = builder.insert_element(result, emission.intrinsic(name, type_.element, scalars), place)
    return result


def _as_doubles(type_: Any) -> Any:
    return ir.VectorType(ir.DoubleType(), type_.count) if isinstance(type_, ir.VectorType) else ir.DoubleType()


def of_libm(name: str) -> Lowering:
    """A function of libm: computed in f64, and rounded for f32."""

    def lower(emission: Emission, *values: Any) -> Any:
        type_ = values[0].type
        double = _as_doubles(type_)
        if type_ == double:
            return _scalar_calls(emission, name, values)
        wide = tuple(emission.builder.fpext(value, double) for value in values)
        return emission.builder.fptrunc(_scalar_calls(emission, name, wide), type_)

    return lower


def _reciprocal_root(emission: Emission, value: Any) -> Any:
    """1 / sqrt(x), in f64 and rounded."""
    builder, double = emission.builder, _as_doubles(value.type)
    wide = value if value.type == double else builder.fpext(value, double)
    root = emission.intrinsic(f"llvm.sqrt.{suffix(double)}", double, (wide,))
    found = builder.fdiv(splat_constant(double, 1.0), root)
    return found if value.type == double else builder.fptrunc(found, value.type)


def _integer_power(emission: Emission, base: Any, exponent: Any) -> Any:
    """A float to an integer power: the power of the magnitude in f64, and the sign where the exponent is odd."""
    builder, double = emission.builder, _as_doubles(base.type)
    wide = base if base.type == double else builder.fpext(base, double)
    magnitude = emission.intrinsic(f"llvm.fabs.{suffix(double)}", double, (wide,))
    power = _scalar_calls(emission, "pow", (magnitude, builder.sitofp(exponent, double)))
    odd = builder.icmp_unsigned(
        "!=", builder.and_(exponent, splat_constant(exponent.type, 1)), splat_constant(exponent.type, 0)
    )
    sign = builder.select(odd, wide, splat_constant(double, 1.0))
    found = emission.intrinsic(f"llvm.copysign.{suffix(double)}", double, (power, sign))
    return found if base.type == double else builder.fptrunc(found, base.type)


def _integer_power_type(base: Any, exponent: Any) -> Any:
    fits = isinstance(base, Register) and base.is_float and base.element not in HALVES
    power = as_register(exponent)
    return base if fits and power is not None and not power.is_float and power.lanes == base.lanes else None


FLOATS: Mapping[str, Lowering] = {
    "minimumf": overloaded("minimum"),
    "maximumf": overloaded("maximum"),
    "minnumf": overloaded("minimumnum"),
    "maxnumf": overloaded("maximumnum"),
    "absf": overloaded("fabs"),
    "ceil": overloaded("ceil"),
    "floor": overloaded("floor"),
    "trunc": overloaded("trunc"),
    "round_away": overloaded("round"),
    "roundeven": overloaded("rint"),  # the rounding mode is never another, and every CPU and libm has rint
    "copysign": overloaded("copysign"),
    "sqrt": overloaded("sqrt"),
    "fma": overloaded("fma"),
    "rsqrt": _reciprocal_root,
} | {
    name: of_libm(name)
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp2",
        "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
    )
}  # fmt: skip
"""Functions of floats of one type, to that type."""


def _in_wider(lower: Lowering) -> Lowering:
    """The short floats are computed in f32, and rounded: that rounds once, f32 has more than twice their bits."""

    def checked(emission: Emission, *values: Any) -> Any:
        element = emission.result.element
        if element not in HALVES:
            return lower(emission, *values)
        wide = tuple(widened(emission.builder, element, value) for value in values)
        result = emission.result.of("f32")
        inner = Emission(emission.target, emission.builder, result, (result,) * len(values))
        return narrowed(emission.builder, element, lower(inner, *wide))

    return checked


# --- Types, and the tables handed to numba ----------------------------------------------------------------------------


def _same(accepts: Callable[[Register], bool]) -> Callable[..., Any]:
    def typed(first: Any, *others: Any) -> Any:
        register = as_register(first)
        if register is None or not accepts(register) or any(each != first for each in others):
            return None
        return first if isinstance(first, Register) else INDEX

    return typed


integers = _same(lambda register: not register.is_float)
floats = _same(lambda register: register.is_float)

OPERATIONS: dict[str, Any] = {
    **{name: operation(name, integers, lower) for name, lower in INTEGERS.items()},
    **{name: operation(name, floats, _in_wider(lower)) for name, lower in FLOATS.items()},
    "fpowi": operation("fpowi", _integer_power_type, _integer_power),
}
"""Name to operation; the emitted code imports them by name."""


def _by_kind(integer: Lowering | None, floating: Lowering | None) -> tuple[Callable[..., Any], Lowering]:
    def typed(first: Register, *others: Register) -> Any:
        wanted = floating if first.is_float else integer
        return first if wanted is not None and all(each == first for each in others) else None

    def lower(emission: Emission, *values: Any) -> Any:
        chosen = floating if emission.operands[0].is_float else integer
        assert chosen is not None
        return chosen(emission, *values)

    return typed, lower


_OPERATORS: Mapping[Any, tuple[Lowering | None, Lowering | None]] = {
    python.add: (instruction("add"), _in_wider(instruction("fadd"))),
    python.sub: (instruction("sub"), _in_wider(instruction("fsub"))),
    python.mul: (instruction("mul"), _in_wider(instruction("fmul"))),
    python.truediv: (None, _in_wider(instruction("fdiv"))),
    python.and_: (instruction("and_"), None),
    python.or_: (instruction("or_"), None),
    python.xor: (instruction("xor"), None),
    python.lshift: (instruction("shl"), None),
    python.rshift: (instruction("ashr"), None),
}
for _key, _lowerings in _OPERATORS.items():
    operator(_key, 2, *_by_kind(*_lowerings))
operator(python.neg, 1, *_by_kind(None, _in_wider(instruction("fneg"))))


# --- Comparisons ------------------------------------------------------------------------------------------------------


def _compared(
    integer: tuple[str, bool] | None, floating: tuple[str, bool] | None
) -> tuple[Callable[..., Any], Lowering]:
    """A comparison by LLVM's symbol, and whether it reads integers as signed, or holds where a float is NaN."""

    def typed(a: Any, b: Any) -> Any:
        register = as_register(a)
        if register is None or a != b or (floating if register.is_float else integer) is None:
            return None
        return register.of("i1")

    def lower(emission: Emission, a: Any, b: Any) -> Any:
        builder, register = emission.builder, as_register(emission.operands[0])
        assert register is not None
        if register.is_float:
            assert floating is not None
            if register.element in HALVES:
                a, b = (widened(builder, register.element, each) for each in (a, b))
            compare = builder.fcmp_unordered if floating[1] else builder.fcmp_ordered
            return compare(floating[0], a, b)
        assert integer is not None
        return (builder.icmp_signed if integer[1] else builder.icmp_unsigned)(integer[0], a, b)

    return typed, lower


_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

# Python's operators are the signed comparisons, and those of floats that fail for NaN; `!=` holds for it, as in Python.
for _name, _symbol in _SYMBOLS.items():
    operator(getattr(python, _name), 2, *_compared((_symbol, True), (_symbol, _name == "ne")))

COMPARISONS: dict[str, Any] = {
    **{
        f"s{name}": operation(f"s{name}", *_compared((symbol, True), None))
        for name, symbol in _SYMBOLS.items()
        if name not in ("eq", "ne")
    },
    **{
        f"u{name}": operation(
            f"u{name}", *_compared((symbol, False) if name not in ("eq", "ne") else None, (symbol, True))
        )
        for name, symbol in _SYMBOLS.items()
    },
    **{f"o{name}": operation(f"o{name}", *_compared(None, (symbol, False))) for name, symbol in _SYMBOLS.items()},
    "ieq": operation("ieq", *_compared(("==", False), None)),
    "ine": operation("ine", *_compared(("!=", False), None)),
    "ordered": operation("ordered", *_compared(None, ("ord", False))),
    "unordered": operation("unordered", *_compared(None, ("uno", True))),
}
"""Comparisons by the predicates of `arith`: `ult` reads integers as unsigned, and holds for floats that are NaN."""


def _condition(type_: Any) -> Any:
    return types.boolean if isinstance(type_, Register) and type_ == Register("i1") else None


holds = operation("holds", _condition, lambda emission, value: value)
"""A scalar of i1 as a condition of Python."""
