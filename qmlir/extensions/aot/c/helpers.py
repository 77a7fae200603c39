"""Helper functions for kernels in C, which define arithmetic as in the interpreter. A file contains only those it uses.

In C, signed integer overflow, shifts by the width of a type, division by zero, and float conversions out of range are
undefined. These functions define them, and compilers turn most of the functions into single instructions. They do not
call a library: roots and roundings are computed in steps that round only once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from qmlir.arithmetic.arrays import integer_limits
from qmlir.extensions.aot.c.elements import CElement

Row = tuple[str, Callable[[CElement], str]]
"""The parameters, one letter each, and the body: an expression, or statements that return a value."""


def _quotient(e: CElement) -> str:
    wide = f"int{max(32, e.held_bits)}_t"
    a, b = f"({wide}){e.signed('a')}", f"({wide}){e.signed('b')}"
    negative, found = e.wrapped(f"0 - ({e.wide})({a})"), e.wrapped(f"({e.wide})({a} / {b})")
    return f"b == 0 ? 0 : {b} == -1 ? {negative} : {found}"


def _rest(e: CElement) -> str:
    wide = f"int{max(32, e.held_bits)}_t"
    a, b = f"({wide}){e.signed('a')}", f"({wide}){e.signed('b')}"
    return f"b == 0 || {b} == -1 ? 0 : {e.wrapped(f'({e.wide})({a} % {b})')}"


def _unsigned_division(symbol: str) -> Callable[[CElement], str]:
    def body(e: CElement) -> str:
        a, b = (f"({e.wide}){e.unsigned(each)}" for each in "ab")
        return f"b == 0 ? 0 : {e.wrapped(f'{a} {symbol} {b}')}"

    return body


def _rounded_division(comparison: str, symbol: str) -> Callable[[CElement], str]:
    """Returns the body of a division that corrects the truncated quotient if there is a remainder."""
    return lambda e: (
        f"const {e.type} q = divsi_{e.name}(a, b);\n"
        f"    const int32_t is_off = remsi_{e.name}(a, b) != 0 && (a < 0) {comparison} (b < 0);\n"
        f"    return is_off ? {e.wrapped(f'({e.wide})q {symbol} 1')} : q;"
    )


def _operator(symbol: str) -> Callable[[CElement], str]:
    return lambda e: e.wrapped(f"({e.wide})a {symbol} ({e.wide})b")


def _shift(symbol: str, reading: Callable[[CElement], str]) -> Callable[[CElement], str]:
    return lambda e: e.wrapped(f"{reading(e)} {symbol} ({e.unsigned('b')} & {max(32, e.held_bits) - 1})")


def _choice(symbol: str, *, is_signed: bool) -> Callable[[CElement], str]:
    def body(e: CElement) -> str:
        a, b = (e.signed(each) if is_signed else e.unsigned(each) for each in "ab")
        return f"{a} {symbol} {b} ? a : b"

    return body


def _high(e: CElement, *, is_signed: bool) -> str:
    if e.bits <= 32:
        wide, read = ("int64_t", e.signed) if is_signed else ("uint64_t", e.unsigned)
        return e.wrapped(f"({e.wide})(({wide}){read('a')} * ({wide}){read('b')} >> {e.bits})")
    correction = " - (a < 0 ? (uint64_t)b : 0) - (b < 0 ? (uint64_t)a : 0)" if is_signed else ""
    return (
        "const uint64_t x = (uint64_t)a, y = (uint64_t)b, low = UINT64_C(0xffffffff);\n"
        "    const uint64_t m = (x >> 32) * (y & low) + ((x & low) * (y & low) >> 32);\n"
        "    const uint64_t n = (x & low) * (y >> 32) + (m & low);\n"
        f"    return (int64_t)((x >> 32) * (y >> 32) + (m >> 32) + (n >> 32){correction});"
    )


def _count(start: str, step: str) -> Callable[[CElement], str]:
    """Returns a loop over the bits of `a`, the lowest first."""
    return lambda e: (
        f"int32_t n = {start.format(bits=e.bits)};\n"
        f"    for (int32_t i = 0; i < {e.bits}; i++) {{\n"
        f"        const {e.wide} bit = (({e.wide})a >> i) & 1;\n"
        f"        {step.format(bits=e.bits)}\n"
        f"    }}\n"
        f"    return {e.wrapped(f'({e.wide})n')};"
    )


def _leading_zeros(e: CElement) -> str:
    """Uses a compiler builtin if available, as integer requantization counts leading zeros for each result.

    `__builtin_clz` counts the bits of an `int`, which has 16 bits on some CPUs.
    """
    kind, bits = ("ll", 64) if e.bits > 32 else ("", 32)
    narrow = f" - {bits - e.bits}" if e.bits < bits else ""
    known = e.wrapped(f"({e.wide})(__builtin_clz{kind}({e.unsigned('a')}){narrow})")
    loop = _count("{bits}", "if (bit) n = {bits} - 1 - i;")(e)
    has_name = "defined(__GNUC__)" if bits > 32 else "defined(__GNUC__) && __SIZEOF_INT__ == 4"
    return f"\n#if {has_name}\n    return a == 0 ? {e.bits} : {known};\n#else\n    {loop}\n#endif"


def _power(e: CElement) -> str:
    return (
        f"{e.wide} r = 1, s = ({e.wide})a, n = ({e.wide})b;\n"
        f"    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;\n"
        f"    for (; n != 0; n >>= 1, s *= s) if (n & 1) r *= s;\n"
        f"    return {e.wrapped('r')};"
    )


INTEGERS: Mapping[str, Row] = {
    "add": ("ab", _operator("+")),
    "sub": ("ab", _operator("-")),
    "mul": ("ab", _operator("*")),
    "and": ("ab", _operator("&")),
    "or": ("ab", _operator("|")),
    "xor": ("ab", _operator("^")),
    "shli": ("ab", _shift("<<", lambda e: f"({e.wide})a")),
    "shrsi": ("ab", _shift(">>", lambda e: e.signed("a"))),
    "shrui": ("ab", _shift(">>", lambda e: f"({e.wide}){e.unsigned('a')}")),
    "divsi": ("ab", _quotient),
    "remsi": ("ab", _rest),
    "divui": ("ab", _unsigned_division("/")),
    "remui": ("ab", _unsigned_division("%")),
    "floordivsi": ("ab", _rounded_division("!=", "-")),
    "ceildivsi": ("ab", _rounded_division("==", "+")),
    "ceildivui": ("ab", lambda e: e.wrapped(f"({e.wide})divui_{e.name}(a, b) + (b != 0 && remui_{e.name}(a, b) != 0)")),
    "minsi": ("ab", _choice("<", is_signed=True)),
    "maxsi": ("ab", _choice(">", is_signed=True)),
    "minui": ("ab", _choice("<", is_signed=False)),
    "maxui": ("ab", _choice(">", is_signed=False)),
    "absi": ("a", lambda e: f"a < 0 ? {e.wrapped(f'0 - ({e.wide})a')} : a"),
    "ctpop": ("a", _count("0", "n += (int32_t)bit;")),
    "ctlz": ("a", _leading_zeros),
    "cttz": ("a", _count("{bits}", "if (bit && n == {bits}) n = i;")),
    "ipowi": ("ab", _power),
    "wrap": ("a", lambda e: e.wrapped(f"({e.wide})a")),
    "mulsi_high": ("ab", lambda e: _high(e, is_signed=True)),
    "mului_high": ("ab", lambda e: _high(e, is_signed=False)),
}
"""Integer functions whose parameters have one type."""

_POINT = {"f32": "8388608.0f", "f64": "4503599627370496.0"}
"""The magnitude at and above which all floats are integers: 2^23 for f32, and 2^52 for f64."""

_BITS = {"f32": "uint32_t", "f64": "uint64_t"}
_SIGN = {"f32": "UINT32_C(0x80000000)", "f64": "UINT64_C(0x8000000000000000)"}


def _extreme(symbol: str, opposite: str, joined: str) -> Callable[[CElement], str]:
    """Returns NaN if an operand is NaN; -0 is less than 0."""
    return lambda e: (
        f"a {symbol} b ? a : a {opposite} b ? b"
        f" : a == b ? {e.name}_of(bits_of_{e.name}(a) {joined} bits_of_{e.name}(b)) : a + b"
    )


def _root(e: CElement) -> str:
    if e.name == "f32":
        # The root of a 24-bit number differs from any midpoint between two floats by at least 2^-50 of itself; this
        # result is closer.
        return (
            "double x = a, y;\n"
            "    uint64_t bits;\n"
            "    if (!(a > 0.0f)) return a == 0.0f ? a : (a - a) / (a - a);\n"
            "    if (a > 3.4028235e+38f) return a;\n"
            "    memcpy(&bits, &x, sizeof bits);\n"
            "    bits = (bits >> 1) + UINT64_C(0x1ff7a3bea91d9b1b);\n"
            "    memcpy(&y, &bits, sizeof y);\n"
            "    for (int32_t i = 0; i < 4; i++) y = 0.5 * (y + x / y);\n"
            "    return (float)y;"
        )
    # Digit by digit: m is the significand with 53 or 54 bits, and each step finds one bit of its root.
    return (
        "uint64_t bits, m, root = 0, rest = 0;\n"
        "    int32_t exponent;\n"
        "    if (!(a > 0.0)) return a == 0.0 ? a : (a - a) / (a - a);\n"
        "    if (a > 1.7976931348623157e+308) return a;\n"
        "    memcpy(&bits, &a, sizeof bits);\n"
        "    exponent = (int32_t)(bits >> 52);\n"
        "    m = bits & UINT64_C(0xfffffffffffff);\n"
        "    if (exponent == 0) for (exponent = 1; (m >> 52) == 0; exponent--) m <<= 1;\n"
        "    m |= UINT64_C(1) << 52;\n"
        "    exponent -= 1023;\n"
        "    if (exponent & 1) { m <<= 1; exponent--; }\n"
        "    for (int32_t i = 0; i < 54; i++) {\n"
        "        rest = (rest << 2) | (i < 27 ? (m >> (52 - 2 * i)) & 3 : 0);\n"
        "        root <<= 1;\n"
        "        if (rest >= 2 * root + 1) { rest -= 2 * root + 1; root++; }\n"
        "    }\n"
        "    root = (root >> 1) + (root & 1);\n"
        "    bits = root + ((uint64_t)(exponent / 2 + 1022) << 52);\n"
        "    memcpy(&a, &bits, sizeof a);\n"
        "    return a;"
    )


def _fused(e: CElement) -> str:
    if e.name == "f32":
        # The product is exact; the sum is rounded to odd, after which rounding it to a float rounds once.
        return (
            "const double p = (double)a * (double)b, s = p + (double)c, t = s - p;\n"
            "    const double error = (p - (s - t)) + ((double)c - t);\n"
            "    uint64_t bits = bits_of_f64(s);\n"
            "    const uint64_t odd = (error > 0.0) == (s > 0.0) ? 1 : UINT64_MAX;\n"
            "    bits += (error > 0.0 || error < 0.0) && (bits & 1) == 0 ? odd : 0;\n"
            "    return (float)f64_of(bits);"
        )
    # The product has 106 bits. Both it and `c` become 128-bit numbers, in units of powers of two, whose highest bit is
    # 125 or 126. The smaller one is shifted to the unit of the other; the bits that fall off are joined into its last
    # one. Either none fall off, or the sum has so many bits that the joined one only tells how to round.
    return (
        "const uint64_t x = bits_of_f64(a), y = bits_of_f64(b), z = bits_of_f64(c), low = UINT64_C(0xffffffff);\n"
        "    const int32_t is_unlike = (int32_t)((x ^ y ^ z) >> 63);\n"
        "    int32_t e = (int32_t)(x >> 52) & 2047, f = (int32_t)(y >> 52) & 2047, g = (int32_t)(z >> 52) & 2047;\n"
        "    uint64_t sign = (x ^ y) & (UINT64_C(1) << 63), p, q, r, hi, lo, h, l;\n"
        "    int32_t n, top;\n"
        "    if (e == 2047 || f == 2047 || bits_of_f64(absf_f64(a)) == 0 || bits_of_f64(absf_f64(b)) == 0) {\n"
        "        const double product = a * b;\n"
        "        return product + c;\n"
        "    }\n"
        "    if (g == 2047) return c;\n"
        "    if (bits_of_f64(absf_f64(c)) == 0) return a * b;\n"
        "    p = normal_f64(x, &e);\n"
        "    q = normal_f64(y, &f);\n"
        "    h = normal_f64(z, &g) << 10;\n"
        "    l = 0;\n"
        "    r = (p >> 32) * (q & low) + (((p & low) * (q & low)) >> 32);\n"
        "    lo = (p & low) * (q >> 32) + (r & low);\n"
        "    hi = (p >> 32) * (q >> 32) + (r >> 32) + (lo >> 32);\n"
        "    lo = lo << 32 | (((p & low) * (q & low)) & low);\n"
        "    hi = hi << 21 | lo >> 43;\n"
        "    lo <<= 21;\n"
        "    e += f - 2150 - 21;\n"
        "    g -= 1075 + 74;\n"
        "    if (e < g) {\n"
        "        joined_shift(&hi, &lo, g - e);\n"
        "        e = g;\n"
        "    } else joined_shift(&h, &l, e - g);\n"
        "    if (!is_unlike) {\n"
        "        hi += h + (lo + l < lo);\n"
        "        lo += l;\n"
        "    } else if (hi > h || (hi == h && lo >= l)) {\n"
        "        hi -= h + (lo < l);\n"
        "        lo -= l;\n"
        "    } else {\n"
        "        hi = h - hi - (l < lo);\n"
        "        lo = l - lo;\n"
        "        sign ^= UINT64_C(1) << 63;\n"
        "    }\n"
        "    if ((hi | lo) == 0) return 0.0;\n"
        "    for (top = 127, r = hi != 0 ? hi : lo, top -= hi != 0 ? 0 : 64; (r >> 63) == 0; r <<= 1) top--;\n"
        "    n = top - 54;\n"
        "    if (n + e < -1076) n = -1076 - e;\n"
        "    if (n > 0) joined_shift(&hi, &lo, n);\n"
        "    else lo <<= -n;\n"
        "    p = (lo >> 2) + ((lo & 3) > 2 || (lo & 7) == 6);\n"
        "    if (n + e + 2 + 1074 > 2045) return f64_of(sign | UINT64_C(0x7ff) << 52);\n"
        "    return f64_of(sign | (((uint64_t)(n + e + 2 + 1074) << 52) + p));"
    )


FLOATS: Mapping[str, Row] = {
    "bits_of": ("a", lambda e: f"{_BITS[e.name]} r;\n    memcpy(&r, &a, sizeof r);\n    return r;"),
    "copysign": (
        "ab",
        lambda e: f"{e.name}_of((bits_of_{e.name}(a) & ~{_SIGN[e.name]}) | (bits_of_{e.name}(b) & {_SIGN[e.name]}))",
    ),
    "absf": ("a", lambda e: f"{e.name}_of(bits_of_{e.name}(a) & ~{_SIGN[e.name]})"),
    "minimumf": ("ab", _extreme("<", ">", "|")),
    "maximumf": ("ab", _extreme(">", "<", "&")),
    "minnumf": ("ab", lambda e: f"a != a ? b : b != b ? a : minimumf_{e.name}(a, b)"),
    "maxnumf": ("ab", lambda e: f"a != a ? b : b != b ? a : maximumf_{e.name}(a, b)"),
    "roundeven": (
        "a",
        lambda e: (
            f"const {e.type} x = absf_{e.name}(a), r = (x + {_POINT[e.name]}) - {_POINT[e.name]};\n"
            f"    return copysign_{e.name}(x < {_POINT[e.name]} ? r : x, a);"
        ),
    ),
    "floor": (
        "a", lambda e: f"const {e.type} r = roundeven_{e.name}(a);\n    return r > a ? r - 1 : r;",
    ),
    "ceil": (
        "a",
        lambda e: f"const {e.type} r = roundeven_{e.name}(a);\n    return copysign_{e.name}(r < a ? r + 1 : r, a);",
    ),
    "trunc": ("a", lambda e: f"copysign_{e.name}(floor_{e.name}(absf_{e.name}(a)), a)"),
    "round_away": (
        "a",
        lambda e: (
            f"const {e.type} x = absf_{e.name}(a), r = floor_{e.name}(x);\n"
            f"    return copysign_{e.name}(x - r >= ({e.type})0.5 ? r + 1 : r, a);"
        ),
    ),
    "sqrt": ("a", _root),
    "fma": ("abc", _fused),
}  # fmt: skip
"""Float functions whose parameters have one type; `bits_of` returns the bits of a float."""

WORD = 4
"""The bytes of a word of ARMv7E-M."""

IS_CORTEX_M = "(defined(__clang__) || __GNUC__ >= 8) && defined(__ARM_FEATURE_SIMD32) && __ARM_ARCH_PROFILE == 'M'"
"""The condition under which the compiler takes assembly with the SIMD instructions of ARMv7E-M.

An older GCC has no attribute `noipa`, without which it may leave arguments out that only assembly reads.
"""

IN_WORDS = "IN_WORDS"
"""The macro that aligns an array of weights: `ldm` loads words at multiples of four only."""

# The function `dots_RxV` adds the dot products of R rows of `x`, `stride` bytes apart, by V channels to sums `[R, V]`.
# `x` is `taps` runs of `steps` words; `skip` bytes lie between two runs. In `taps_RxV` all runs have one word. The
# weights are aligned, and read in order: in each step, a word of each channel. Registers: r0 is `x`, r2 the weights, r3
# the end of a part of a run, r4 to r7 are the sums. A word is widened to two registers of two 16-bit integers each: the
# even bytes, and by a rotation the odd ones.

DOT_TILES = ((1, 2), (1, 4), (2, 2))
"""The rows and channels of the tiles for which there is a function."""

_TWO_CHANNELS = (
    "ldm r2!, {r8, r9}",
    "sxtb16 r10, r8",
    "sxtb16 r8, r8, ror #8",
    "sxtb16 r11, r9",
    "sxtb16 r9, r9, ror #8",
)
"""Loads two words of weights as r10 and r8, r11 and r9."""


def _row(load: str) -> tuple[str, ...]:
    """Loads a word of `x` as lr and r12."""
    return load, "sxtb16 lr, r12", "sxtb16 r12, r12, ror #8"


def _two_sums(first: int) -> tuple[str, ...]:
    """Adds the products of a row by two channels to the sums in two registers, the first of which is `first`."""
    pairs = (("lr", "r10", 0), ("lr", "r11", 1), ("r12", "r8", 0), ("r12", "r9", 1))
    return tuple(f"smlad r{first + own}, {x}, {w}, r{first + own}" for x, w, own in pairs)


_STEPS: Mapping[tuple[int, int], tuple[str, ...]] = {
    (1, 2): (*_TWO_CHANNELS, *_row("ldr r12, [r0], #4"), *_two_sums(4)),
    (1, 4): (*_row("ldr r12, [r0], #4"), *_TWO_CHANNELS, *_two_sums(4), *_TWO_CHANNELS, *_two_sums(6)),
    (2, 2): (
        *_TWO_CHANNELS, *_row("ldr r12, [r0, r1]"), *_two_sums(6), *_row("ldr r12, [r0], #4"), *_two_sums(4)
    ),
}  # fmt: skip
"""The instructions of one step of each tile."""

_UNROLLED = 4
"""The steps of an iteration: with 4, the loop itself takes a fortieth of the instructions."""


def dots_name(rows: int, vectors: int, *, has_runs: bool = True) -> str:
    """Returns the name of the function for a tile: `dots_2x2`, or `taps_2x2` if each run is a single word."""
    return f"{'dots' if has_runs else 'taps'}_{rows}x{vectors}"


def _run_lines(step: Sequence[str]) -> tuple[str, ...]:
    """Loops over taps, and over the steps of each: first over those that are no multiple of `_UNROLLED`."""
    return (
        "1: ldr r8, [sp, #48]",  # steps
        f"ands r9, r8, #{_UNROLLED - 1}",
        "beq 3f",
        "add r3, r0, r9, lsl #2",
        "2:",
        *step,
        "cmp r0, r3",
        "bne 2b",
        "ldr r8, [sp, #48]",
        f"3: lsrs r8, r8, #{_UNROLLED.bit_length() - 1}",
        "beq 5f",
        f"add r3, r0, r8, lsl #{(_UNROLLED * WORD).bit_length() - 1}",
        f"4: .rept {_UNROLLED}",
        *step,
        ".endr",
        "cmp r0, r3",
        "bne 4b",
        "5: ldrd r8, r9, [sp, #40]",  # taps, skip
        "add r0, r0, r9",
        "subs r8, r8, #1",
        "str r8, [sp, #40]",
        "bne 1b",
    )


def _tap_lines(step: Sequence[str]) -> tuple[str, ...]:
    """Loops over taps of one step each."""
    return "ldr r3, [sp, #40]", "1:", *step, "ldr r8, [sp, #44]", "add r0, r0, r8", "subs r3, r3, #1", "bne 1b"


def _dots(rows: int, vectors: int, *, has_runs: bool) -> str:
    """Returns the function for a tile, in assembly for Cortex-M with SIMD instructions, and in C for all others."""
    sums, step = f"{{r4-r{3 + rows * vectors}}}", _STEPS[rows, vectors]
    lines = (
        "push {r4-r11, lr}",
        f"ldm r3, {sums}",
        "push {r3}",
        *(_run_lines(step) if has_runs else _tap_lines(step)),
        "pop {r3}",
        f"stm r3, {sums}",
        "pop {r4-r11, pc}",
    )
    given = "const int8_t *x, int32_t stride, const int8_t *w, int32_t *sums, int32_t taps, int32_t skip"
    name, text = dots_name(rows, vectors, has_runs=has_runs), "\n".join(f'        "{line}\\n"' for line in lines)
    sum_ = f"sums[r * {vectors} + v]"
    added = f"{sum_} = dot_bytes(load_word(x + r * stride), load_word(w), {sum_});"
    runs = "x is taps runs of steps words" if has_runs else "x is taps words"
    return (
        f"/* Dot products of {rows} rows by {vectors} channels: {runs}, skip bytes apart. */\n"
        f"#if {IS_CORTEX_M}\n"
        "#ifdef __clang__\n"
        "__attribute__((naked, noinline))\n"
        "#else\n"
        "__attribute__((naked, noipa))\n"
        "#endif\n"
        f"static void {name}({given}{', int32_t steps' * has_runs}) {{\n"
        f"    __asm__ volatile(\n{text}\n    );\n}}\n"
        "#else\n"
        f"static void {name}({given}{', int32_t steps' * has_runs}) {{\n"
        f"    for (; taps > 0; taps--, x += skip{'' if has_runs else ' + 4'})\n"
        + ("        for (int32_t i = 0; i < steps; i++, x += 4)\n" if has_runs else "")
        + f"            for (int32_t v = 0; v < {vectors}; v++, w += 4)\n"
        f"                for (int32_t r = 0; r < {rows}; r++) {added}\n}}\n"
        "#endif"
    )


DOTS: Mapping[str, str] = {
    dots_name(*tile, has_runs=has_runs): _dots(*tile, has_runs=has_runs)
    for tile in DOT_TILES
    for has_runs in (False, True)
}
"""The functions that add dot products of tiles."""

_FIXED: Mapping[str, str] = {
    **DOTS,
    "load_word": (
        "static inline uint32_t load_word(const void *p) {\n"
        "    uint32_t r;\n    memcpy(&r, p, sizeof r);\n    return r;\n}"
    ),
    "dot_bytes": (
        "/* The sum of four products of signed bytes: two words of two products each, of ARMv7E-M. */\n"
        f"#if {IS_CORTEX_M}\n"
        "#include <arm_acle.h>\n"
        f"#define {IN_WORDS} __attribute__((aligned({WORD})))\n"
        "static inline int16x2_t odd_bytes(uint32_t x) { /* without the rotation, GCC shifts first */\n"
        "    int16x2_t r;\n"
        '    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(x));\n'
        "    return r;\n}\n"
        "__attribute__((always_inline))\n"
        "static inline int32_t dot_bytes(uint32_t x, uint32_t w, int32_t sum) {\n"
        "    sum = __smlad(__sxtb16(x), __sxtb16(w), sum);\n"
        "    return __smlad(odd_bytes(x), odd_bytes(w), sum);\n}\n"
        "#else\n"
        f"#define {IN_WORDS}\n"
        "static inline int32_t dot_bytes(uint32_t x, uint32_t w, int32_t sum) {\n"
        "    const int32_t even = (int8_t)x * (int8_t)w + (int8_t)(x >> 16) * (int8_t)(w >> 16);\n"
        "    const int32_t odd = (int8_t)(x >> 8) * (int8_t)(w >> 8) + (int8_t)(x >> 24) * (int8_t)(w >> 24);\n"
        "    return (int32_t)((uint32_t)sum + (uint32_t)even + (uint32_t)odd);\n}\n"
        "#endif"
    ),
    **{
        f"{name}_of": f"static inline {type_} {name}_of({bits} bits) {{\n"
        f"    {type_} r;\n    memcpy(&r, &bits, sizeof r);\n    return r;\n}}"
        for name, type_, bits in (("f32", "float", "uint32_t"), ("f64", "double", "uint64_t"))
    },
    "normal_f64": (
        "static inline uint64_t normal_f64(uint64_t bits, int32_t *exponent) {\n"
        "    /* The significand with its highest bit at 52, times 2^(exponent - 1075). */\n"
        "    uint64_t m = bits & UINT64_C(0xfffffffffffff);\n"
        "    if (*exponent != 0) return m | UINT64_C(1) << 52;\n"
        "    for (*exponent = 1; (m >> 52) == 0; m <<= 1) --*exponent;\n"
        "    return m;\n}"
    ),
    "joined_shift": (
        "static inline void joined_shift(uint64_t *hi, uint64_t *lo, int32_t n) {\n"
        "    /* 128 bits, not all 0, to the right: the ones that fall off are joined into the last bit. */\n"
        "    uint64_t off;\n"
        "    if (n > 127) {\n"
        "        *hi = 0;\n"
        "        *lo = 1;\n"
        "        return;\n"
        "    }\n"
        "    if (n >= 64) {\n"
        "        off = *lo;\n"
        "        *lo = *hi;\n"
        "        *hi = 0;\n"
        "        n -= 64;\n"
        "    } else off = 0;\n"
        "    if (n == 0) {\n"
        "        *lo |= off != 0;\n"
        "        return;\n"
        "    }\n"
        "    off |= *lo << (64 - n);\n"
        "    *lo = *hi << (64 - n) | *lo >> n | (off != 0);\n"
        "    *hi >>= n;\n}"
    ),
    "widen_bf16": "static inline float widen_bf16(uint16_t a) { return f32_of((uint32_t)a << 16); }",
    "widen_f16": (
        "static inline float widen_f16(uint16_t a) {\n"
        "    /* The exponents differ by 112: a product makes up for it, and normalizes denormals. */\n"
        "    const uint32_t m = (uint32_t)(a & 0x7fff) << 13;\n"
        "    const uint32_t r = m >= (UINT32_C(0x7c00) << 13) ? m | UINT32_C(0x7f800000)"
        " : bits_of_f32(f32_of(m) * 5.192296858534828e+33f);\n"
        "    return f32_of(r | (uint32_t)(a & 0x8000) << 16);\n}"
    ),
    "narrow_bf16": (
        "static inline uint16_t narrow_bf16(float a) {\n"
        "    const uint32_t bits = bits_of_f32(a), sign = bits & UINT32_C(0x80000000), m = bits ^ sign;\n"
        "    const uint32_t r = m > UINT32_C(0x7f800000) ? 0x7fc0 : (m + (((m >> 16) & 1) + 0x7fff)) >> 16;\n"
        "    return (uint16_t)(r | sign >> 16);\n}"
    ),
    "narrow_f16": (
        "static inline uint16_t narrow_f16(float a) {\n"
        "    const uint32_t bits = bits_of_f32(a), sign = bits & UINT32_C(0x80000000), m = bits ^ sign;\n"
        "    const uint32_t n = m - (UINT32_C(112) << 23), half = UINT32_C(126) << 23;\n"
        "    uint32_t r = (n + (((n >> 13) & 1) + 0xfff)) >> 13;\n"
        "    /* Added to 0.5, a denormal's last bit is that of the sum: the addition rounds. */\n"
        "    if (m < (UINT32_C(113) << 23)) r = bits_of_f32(f32_of(m) + f32_of(half)) - half;\n"
        "    if (m >= (UINT32_C(143) << 23)) r = 0x7c00;\n"
        "    if (m > UINT32_C(0x7f800000)) r = 0x7e00;\n"
        "    return (uint16_t)(r | sign >> 16);\n}"
    ),
    "odd_f32": (
        "static inline float odd_f32(double a) {\n"
        "    /* Truncated, and the last bit set where that was not exact: rounding it further rounds once. */\n"
        "    const float near = (float)a;\n"
        "    const double x = absf_f64((double)near), y = absf_f64(a);\n"
        "    const uint32_t inexact = x > y || x < y;\n"
        "    return f32_of((bits_of_f32(near) - (uint32_t)(x > y)) | inexact);\n}"
    ),
    "sticky_i64": (
        "static inline int64_t sticky_i64(int64_t a) {\n"
        "    /* The low 11 bits joined into one, where a double can't hold all: shorter floats round as the whole. */\n"
        "    const uint64_t x = (uint64_t)a, joined = (x & ~UINT64_C(0x7ff)) | (uint64_t)((x & 0x7ff) != 0) << 11;\n"
        "    return a >= -(INT64_C(1) << 53) && a <= (INT64_C(1) << 53) ? a : (int64_t)joined;\n}"
    ),
    "sticky_u64": (
        "static inline uint64_t sticky_u64(uint64_t a) {\n"
        "    return a <= UINT64_C(1) << 53 ? a : (a & ~UINT64_C(0x7ff)) | (uint64_t)((a & 0x7ff) != 0) << 11;\n}"
    ),
}
"""Functions with fixed parameter types."""


def _function(name: str, result: str, parameters: Iterable[str], body: str) -> str:
    head = f"static inline {result} {name}({', '.join(parameters)})"
    return f"{head} {{\n    {body}\n}}" if "return" in body else f"{head} {{ return {body}; }}"


def _saturated(target: CElement, source: CElement, *, is_signed: bool) -> str:
    """Converts a float to an integer, truncating; saturates values that don't fit, and maps NaN to 0."""
    bits, end = target.bits - is_signed, "f" if source.name == "f32" else ""
    half, high, type_ = 1 << (bits - 1), (1 << bits) - 1, target.type
    least = f"(-{half}.0{end} * 2)" if is_signed else f"0.0{end}"
    lowest = "0" if not is_signed else f"(-INT64_C({high}) - 1)" if bits == 63 else f"(-{high} - 1)"
    inside = f"({type_})a" if is_signed else f"({type_})(uint{target.held_bits}_t)a"
    highest = "-1" if not is_signed and bits == target.held_bits else f"INT64_C({high})" if bits > 31 else f"{high}"
    above = f"{half}.0{end} * 2"
    return f"a >= {above} ? ({type_}){highest} : a >= {least} ? {inside} : a != a ? 0 : ({type_}){lowest}"


_MEMORY = {"float": "f32", "double": "f64", "uint16_t": "u16", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64"}
"""The types that are loaded and stored bytewise, because the arena holds elements of different types."""

_ELEMENT_NAME = re.compile(r"(i(?:[1-9]|[1-5]\d|6[0-4])|index|f32|f64)")
_CALLED = re.compile(r"\b([a-z]\w*)\(")


def _saturation(name: str) -> str | None:
    """Returns `ssat_8`, `usat_8` etc.: an i32 clamped to a signed or an unsigned integer of that width."""
    found = re.fullmatch(r"([su])sat_([1-9]|[12]\d|3[01])", name)
    if found is None:
        return None
    kind, bits = found[1], int(found[2])
    low, high = integer_limits(bits, is_signed=kind == "s")
    return (
        "#ifdef __ARM_FEATURE_SAT\n"
        "#include <arm_acle.h>\n"
        f"static inline int32_t {name}(int32_t a) {{ return (int32_t)__{kind}sat(a, {bits}); }}\n"
        "#else\n"
        f"static inline int32_t {name}(int32_t a) {{ return a < {low} ? {low} : a > {high} ? {high} : a; }}\n"
        "#endif"
    )


def _conversion(name: str) -> str | None:
    """Returns `i8_of_f32`, `u8_of_f32` etc.: a float as a signed or an unsigned integer."""
    found = re.fullmatch(r"([iu])(\d+|ndex)_of_(f32|f64)", name)
    if found is None:
        return None
    kind, bits, source = found.groups()
    target = CElement("index" if bits == "ndex" else f"i{bits}")
    body = _saturated(target, CElement(source), is_signed=kind == "i")
    return _function(name, target.type, [f"{CElement(source).type} a"], body)


def _access(name: str) -> str | None:
    """Returns load and store functions such as `load_f32` and `store_f32`."""
    kind, _, short = name.partition("_")
    type_ = next((each for each, known in _MEMORY.items() if known == short), None)
    if type_ is None or kind not in ("load", "store"):
        return None
    if kind == "load":
        body = f"{type_} r;\n    memcpy(&r, p, sizeof r);\n    return r;"
        return _function(name, type_, [f"const {type_} *p"], body)
    return f"static inline void {name}({type_} *p, {type_} v) {{ memcpy(p, &v, sizeof v); }}"


def access(type_: str, kind: str) -> str | None:
    """Returns the name of the helper that loads or stores an element; `None` for bytes, which need no helper."""
    return f"{kind}_{_MEMORY[type_]}" if type_ in _MEMORY else None


def _made(name: str) -> str | None:
    """Returns the text of the helper `name`; `None` if there is none."""
    if name in _FIXED:
        return _FIXED[name]
    found = _conversion(name) or _access(name) or _saturation(name)
    if found is not None:
        return found
    row, _, element = name.rpartition("_")
    if not _ELEMENT_NAME.fullmatch(element):
        return None
    e = CElement(element)
    table = FLOATS if e.is_float else INTEGERS
    if row not in table:
        return None
    letters, body = table[row]
    result = _BITS[element] if row == "bits_of" else e.type
    return _function(name, result, (f"{e.type} {letter}" for letter in letters), body(e))


def is_helper(name: str) -> bool:
    """Returns true if a helper has this name."""
    return _made(name) is not None


def functions_for(names: Iterable[str]) -> Iterator[str]:
    """Yields the named helpers and the helpers that they call, each after its callees."""
    done: set[str] = set()

    def of(name: str) -> Iterator[str]:
        text = _made(name)
        if name in done or text is None:
            return
        done.add(name)
        for called in _CALLED.findall(text):
            if called != name:
                yield from of(called)
        yield text

    for name in sorted(names):
        yield from of(name)
