"""Lowers `arith` and `math` to LLVM instructions: tables with one function per operation.

Integers wrap modulo 2^N, and each float operation rounds its result. A function takes the builder and the operands,
which are scalars or vectors. An integer division that `arith` leaves undefined still returns a value and never traps:
dividing by 0 returns 0, and dividing the smallest integer by -1 wraps.
"""

from collections.abc import Callable, Mapping

from .builder import Builder
from .values import HALVES, I1, IRValue, Type, integer, number, poison, type_of


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


Lowering = Callable[..., IRValue]
"""A function `f(build, *values)` that emits the instructions of an operation and returns its result."""


def instruction(name: str) -> Lowering:
    """Lowers to the instruction `name`, which has two operands."""

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        return build.binary(name, a, b)

    return lower


def overloaded(name: str) -> Lowering:
    """Lowers to the intrinsic `llvm.<name>`, overloaded by the type of the first operand."""

    def lower(build: Builder, *values: IRValue) -> IRValue:
        return build.overloaded(name, *values)

    return lower


def flagged(name: str) -> Lowering:
    """Lowers to an intrinsic whose last operand, a flag, is cleared: the operation is then defined for all inputs."""

    def lower(build: Builder, value: IRValue) -> IRValue:
        return build.overloaded(name, value, integer(I1, 0))

    return lower


# --- Integers ---------------------------------------------------------------------------------------------------------


def _divisor(build: Builder, a: IRValue, b: IRValue, is_signed: bool) -> tuple[IRValue, IRValue]:
    """Returns a divisor for which the division is defined, and a mask of the lanes in which the divisor `b` is 0."""
    is_zero = wrong = build.compare("icmp eq", b, integer(b.type, 0))
    if is_signed:
        is_least = build.compare("icmp eq", a, integer(a.type, -1 << (a.type.bits - 1)))
        overflows = build.binary("and", is_least, build.compare("icmp eq", b, integer(b.type, -1)))
        wrong = build.binary("or", is_zero, overflows)  # divided by 1, the smallest integer is what wrapping gives
    return build.select(wrong, integer(b.type, 1), b), is_zero


def _divided(name: str) -> Lowering:
    """Lowers to a division or remainder that rounds toward zero."""
    is_signed, is_remainder = name[0] == "s", name.endswith("rem")

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        divisor, is_zero = _divisor(build, a, b, is_signed)
        found = build.binary(name, a, divisor)
        return found if is_remainder else build.select(is_zero, integer(a.type, 0), found)

    return lower


def _towards(name: str, *, up: bool) -> Lowering:
    """Lowers to a division that rounds down or up: corrects the truncated quotient if there is a remainder."""
    is_signed = name[0] == "s"

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        zero = integer(a.type, 0)
        quotient, rest = _divided(name)(build, a, b), _divided(name.replace("div", "rem"))(build, a, b)
        inexact = build.compare("icmp ne", rest, zero)
        if is_signed:
            differ = build.compare("icmp slt", build.binary("xor", a, b), zero)
            inexact = build.binary("and", inexact, build.negated(differ) if up else differ)
        inexact = build.binary("and", inexact, build.compare("icmp ne", b, zero))
        one = build.cast("zext", inexact, a.type)
        return build.binary("add" if up else "sub", quotient, one)

    return lower


def _power(build: Builder, base: IRValue, exponent: IRValue) -> IRValue:
    """Integers to integer powers by squaring: a loop over the bits of the exponent, unrolled; 1/x for negative ones."""
    zero, one = integer(base.type, 0), integer(base.type, 1)
    result, square, rest = one, base, exponent
    for _ in range(base.type.bits):
        is_odd = build.compare("icmp ne", build.binary("and", rest, one), zero)
        result = build.select(is_odd, build.binary("mul", result, square), result)
        square = build.binary("mul", square, square)
        rest = build.binary("lshr", rest, one)
    is_negative = build.compare("icmp slt", exponent, zero)
    is_minus = build.compare("icmp eq", base, integer(base.type, -1))
    is_unit = build.binary("or", build.compare("icmp eq", base, one), is_minus)
    odd = build.compare("icmp ne", build.binary("and", exponent, one), zero)
    inverse = build.select(is_unit, build.select(odd, base, one), zero)
    return build.select(is_negative, inverse, result)


def high_product(extend: str) -> Lowering:
    """Lowers to the upper half of the double-width product; `extend` (`sext` or `zext`) widens the operands."""

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        wide = a.type.of(f"i{2 * a.type.bits}")
        product = build.binary("mul", build.cast(extend, a, wide), build.cast(extend, b, wide))
        return build.cast("trunc", build.binary("lshr", product, integer(wide, a.type.bits)), a.type)

    return lower


INTEGERS: Mapping[str, Lowering] = {
    "addi": instruction("add"),
    "subi": instruction("sub"),
    "muli": instruction("mul"),
    "andi": instruction("and"),
    "ori": instruction("or"),
    "xori": instruction("xor"),
    "shli": instruction("shl"),
    "shrsi": instruction("ashr"),
    "shrui": instruction("lshr"),
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
    "absi": flagged("abs"),
    "ctlz": flagged("ctlz"),
    "cttz": flagged("cttz"),
    "ctpop": overloaded("ctpop"),
    "ipowi": _power,
}
"""Integer operations by name without the dialect; operands and result have the same type."""


# --- Floats -----------------------------------------------------------------------------------------------------------


def _scalar_calls(build: Builder, name: str, values: tuple[IRValue, ...]) -> IRValue:
    """A function of libm on f64, lane by lane."""
    type_ = values[0].type
    if not type_.lanes:
        return build.call(name, type_, values)
    result = poison(type_)
    for lane in range(type_.lanes):
        scalars = [build.extract(value, lane) for value in values]
        result = build.insert(result, build.call(name, type_.scalar(), scalars), lane)
    return result


def _as_doubles(build: Builder, value: IRValue) -> IRValue:
    return build.cast("fpext", value, value.type.of("f64"))


def of_libm(name: str) -> Lowering:
    """Lowers to a function of libm: converts the operands to f64, and rounds the result to their type."""

    def lower(build: Builder, *values: IRValue) -> IRValue:
        wide = tuple(_as_doubles(build, value) for value in values)
        return build.cast("fptrunc", _scalar_calls(build, name, wide), values[0].type)

    return lower


def _reciprocal_root(build: Builder, value: IRValue) -> IRValue:
    """Computes 1 / sqrt(x) in f64 and rounds the result."""
    root = build.overloaded("sqrt", _as_doubles(build, value))
    return build.cast("fptrunc", build.binary("fdiv", number(root.type, 1.0), root), value.type)


def float_to_integer_power(build: Builder, base: IRValue, exponent: IRValue) -> IRValue:
    """Raises a float to an integer power.

    Computes the power of the magnitude in f64; the result has the sign of the base if the exponent is odd.
    """
    wide = _as_doubles(build, base)
    magnitude = build.overloaded("fabs", wide)
    power = _scalar_calls(build, "pow", (magnitude, build.cast("sitofp", exponent, wide.type)))
    one = build.binary("and", exponent, integer(exponent.type, 1))
    odd = build.compare("icmp ne", one, integer(exponent.type, 0))
    found = build.overloaded("copysign", power, build.select(odd, wide, number(wide.type, 1.0)))
    return build.cast("fptrunc", found, base.type)


def _negated(build: Builder, value: IRValue) -> IRValue:
    return build.unary("fneg", value)


def _fused(build: Builder, a: IRValue, b: IRValue, c: IRValue) -> IRValue:
    """Computes a * b + c of f32 values in f64 and rounds once: the product is exact, and the sum is rounded to odd."""
    double, bits_of_double = a.type.of("f64"), a.type.of("i64")
    a, b, c = (build.cast("fpext", each, double) for each in (a, b, c))
    product = build.binary("fmul", a, b)
    total = build.binary("fadd", product, c)
    added = build.binary("fsub", total, product)
    of_product = build.binary("fsub", product, build.binary("fsub", total, added))
    error = build.binary("fadd", of_product, build.binary("fsub", c, added))
    zero, bits, one = number(double, 0.0), build.cast("bitcast", total, bits_of_double), integer(bits_of_double, 1)
    is_even = build.compare("icmp eq", build.binary("and", bits, one), integer(bits_of_double, 0))
    is_wrong = build.binary("and", is_even, build.compare("fcmp one", error, zero))
    signs = [build.compare("fcmp ogt", each, zero) for each in (error, total)]
    step = build.select(build.compare("icmp eq", *signs), one, integer(bits_of_double, -1))
    moved = build.binary("add", bits, build.select(is_wrong, step, integer(bits_of_double, 0)))
    return build.cast("fptrunc", build.cast("bitcast", moved, double), a.type.of("f32"))


FUSED_BY_SUMS: Lowering = in_wider(_fused)
"""Replaces `FLOATS["fma"]` for f32, f16 and bf16 on CPUs without a fused multiply-add."""


def _extreme(nearer: str, joined: str) -> Lowering:
    """Lowers to the minimum or maximum of two floats, by the predicate `nearer`; NaN if an operand is NaN.

    If the operands are equal, their bits are combined by `joined`, which gives zeros the right sign.
    """

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        word = a.type.of(f"i{a.type.bits}")
        bits = build.binary(joined, build.cast("bitcast", a, word), build.cast("bitcast", b, word))
        found = build.select(build.compare(f"fcmp {nearer}", a, b), a, b)  # b where it is NaN
        found = build.select(build.compare("fcmp oeq", a, b), build.cast("bitcast", bits, a.type), found)
        return build.select(build.compare("fcmp uno", a, a), a, found)

    return lower


def _number_of(extreme: Lowering) -> Lowering:
    """Lowers to a minimum or maximum that returns the other operand if one operand is NaN."""

    def lower(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        found = build.select(build.compare("fcmp uno", b, b), a, extreme(build, a, b))
        return build.select(build.compare("fcmp uno", a, a), b, found)

    return lower


_MINIMUM, _MAXIMUM = _extreme("olt", "or"), _extreme("ogt", "and")

EXTREMES_BY_COMPARISONS: Mapping[str, Lowering] = {
    "minimumf": in_wider(_MINIMUM),
    "maximumf": in_wider(_MAXIMUM),
    "minnumf": in_wider(_number_of(_MINIMUM)),
    "maxnumf": in_wider(_number_of(_MAXIMUM)),
}
"""Replaces the entries of `FLOATS` with these names on CPUs without minimum and maximum instructions."""

_FLOATS: Mapping[str, Lowering] = {
    "addf": instruction("fadd"),
    "subf": instruction("fsub"),
    "mulf": instruction("fmul"),
    "divf": instruction("fdiv"),
    "negf": _negated,
    "minimumf": overloaded("minimum"),
    "maximumf": overloaded("maximum"),
    "minnumf": overloaded("minimumnum"),
    "maxnumf": overloaded("maximumnum"),
    "absf": overloaded("fabs"),
    "ceil": overloaded("ceil"),
    "floor": overloaded("floor"),
    "trunc": overloaded("trunc"),
    "round": overloaded("round"),
    "roundeven": overloaded("rint"),  # the rounding mode is never another, and every CPU and libm has rint
    "copysign": overloaded("copysign"),
    "sqrt": overloaded("sqrt"),
    "fma": overloaded("fma"),
    "rsqrt": _reciprocal_root,
    "powf": of_libm("pow"),
    **{
        name: of_libm(name)
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp2",
            "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
        )
    },
}  # fmt: skip

FLOATS: Mapping[str, Lowering] = {name: in_wider(lower) for name, lower in _FLOATS.items()}
"""Float operations by name without the dialect; operands and result have the same type."""


# --- Comparisons ------------------------------------------------------------------------------------------------------


def compared(build: Builder, predicate: str, a: IRValue, b: IRValue) -> IRValue:
    """Compares two values by a predicate of `arith.cmpi`, or of `arith.cmpf` if they are floats."""
    if predicate in ("true", "false"):
        return integer(a.type.of("i1"), predicate == "true")
    if not a.type.is_float:
        return build.compare(f"icmp {predicate}", a, b)

    def compare(build: Builder, a: IRValue, b: IRValue) -> IRValue:
        return build.compare(f"fcmp {predicate}", a, b)

    return in_wider(compare)(build, a, b)


FOLDS: Mapping[str, Callable[[Type], Lowering]] = {
    "add": lambda type_: FLOATS["addf"] if type_.is_float else INTEGERS["addi"],
    "mul": lambda type_: FLOATS["mulf"] if type_.is_float else INTEGERS["muli"],
    "and": lambda _: INTEGERS["andi"],
    "or": lambda _: INTEGERS["ori"],
    "xor": lambda _: INTEGERS["xori"],
    **{name: (lambda _, name=name: INTEGERS[name]) for name in ("minsi", "maxsi", "minui", "maxui")},
    **{name: (lambda _, name=name: FLOATS[name]) for name in ("minimumf", "maximumf", "minnumf", "maxnumf")},
}
"""For each kind of reduction, returns the operation that combines two lanes, given their type."""


def fold_of(kind: str, type_: Type, *, has_extremes: bool = True) -> Lowering:
    """Returns the operation that combines two lanes in a reduction of this kind.

    `has_extremes` means that the CPU has instructions for the minimum and maximum of two floats.
    """
    by_comparisons = None if has_extremes else EXTREMES_BY_COMPARISONS.get(kind)
    return by_comparisons or FOLDS[kind](type_)


# Conversions between element types, lane by lane: integers (signed or unsigned), floats (rounded once), and bitcasts.


def resized(build: Builder, value: IRValue, element: str, *, is_signed: bool) -> IRValue:
    """Truncates or extends an integer to the width of `element`."""
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
    """Replaces the low 11 bits of an integer that f64 can't represent with one sticky bit.

    The result is exact in f64, and rounds to shorter floats like the original integer.
    """
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
    """Converts a value to `element`, preserving its numeric value; `is_signed` tells how to interpret integers."""
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
    """Bitcasts a value to elements of type `element`; the number of lanes changes with their width."""
    lanes, bits = value.type.lanes, type_of(element).bits
    count = value.type.bits * max(lanes, 1) // bits
    return build.cast("bitcast", value, type_of(element, count if lanes or count > 1 else 0))
