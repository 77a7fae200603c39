"""The variants of contraction loops by name: what a step multiplies, and how packed operands hold it."""

U8S8_DOT = "u8s8_dot"
"""Four bytes a lane: activations moved into the unsigned range, weights without zero point."""

U8S4_DOT = "u8s4_dot"
"""The same, two weights of 4 bits in a byte of memory."""

U8S2_DOT = "u8s2_dot"
"""The same, four weights of 2 bits in a byte of memory."""

U8S4_SHORT, U8S5_SHORT, U8S6_SHORT, U8S7_SHORT = (f"u8s{bits}_short" for bits in (4, 5, 6, 7))
"""The same for weights of so few bits in bytes of their own, some steps added in 16 bits."""

SHORT_STEPS = {U8S4_SHORT: 8, U8S5_SHORT: 4, U8S6_SHORT: 2, U8S7_SHORT: 1}
"""The steps whose pairs of products 16 bits hold: two times 255 times -8 each, with 4 bits, is -32640 for eight."""

S8S8_DOT = "s8s8_dot"
"""Four bytes a lane, both signed, weights without zero point."""

I16_PAIRS = "i16_pairs"
"""Two integers of 16 bits a lane, both operands without zero points."""

DEPTHWISE = "depthwise"
"""A channel a lane, each with its own weights."""

DEPTHWISE_DOT = "depthwise_dot"
"""The same in bytes: four rows of a window in a lane, channels in the order that interleaving these leaves."""

DEPTHWISE_PAIRS = "depthwise_pairs"
"""The same of two rows of bytes that are widened to 16 bits, by weights of 16 bits."""

INTERLEAVED = (DEPTHWISE_DOT, DEPTHWISE_PAIRS)
"""Those that interleave rows of a window: as many as a lane has terms, and as many registers of sums."""

SPLAT = "splat"
"""One element of `x` by a vector of weights, in the type of the sum: integers of any width, floats."""

SPLAT_FMA = "splat_fma"
"""The same for floats, a product and its sum rounded once."""

WINOGRAD = "winograd"
"""Blocks of tiles: input transform, 16 products of matrices in pairs of 16 bits, output transform and epilogue."""

WINOGRAD_F4 = "winograd_f4"
"""The same with larger tiles, and 36 products."""

WINOGRAD_F4_TAPS = "winograd_f4_taps"
"""The same by weights of a byte, as they are: each is transformed in registers, where it is multiplied."""

SCALAR = "scalar"
"""Loops over scalars, on operands as they are."""

LANES = "lanes"
"""Of structured operations: the innermost loop over vectors, operands having their elements beside each other."""

VARIANTS = (
    U8S8_DOT,
    U8S4_DOT,
    U8S2_DOT,
    *SHORT_STEPS,
    S8S8_DOT,
    I16_PAIRS,
    DEPTHWISE,
    DEPTHWISE_DOT,
    DEPTHWISE_PAIRS,
    SPLAT,
    SPLAT_FMA,
    WINOGRAD,
    WINOGRAD_F4,
    WINOGRAD_F4_TAPS,
    SCALAR,
)

GROUP = {
    U8S8_DOT: 4,
    U8S4_DOT: 4,
    U8S2_DOT: 4,
    **dict.fromkeys(SHORT_STEPS, 4),
    S8S8_DOT: 4,
    I16_PAIRS: 2,
    DEPTHWISE_DOT: 4,
    DEPTHWISE_PAIRS: 2,
    WINOGRAD: 2,
    WINOGRAD_F4: 2,
    WINOGRAD_F4_TAPS: 2,
}
"""The terms that one lane of a variant sums in a step, 1 for the others."""

SHORT_BITS = {U8S4_SHORT: 4, U8S5_SHORT: 5, U8S6_SHORT: 6, U8S7_SHORT: 7}
"""The bits that weights of variants with short sums fit."""

WEIGHT_BITS = {U8S4_DOT: 4, U8S2_DOT: 2}
"""The bits of a weight of the variants that keep several in a byte."""

NARROW_TERMS = ((1 << 31) - 1) // (255 * 128)
"""The most terms of a sum of those variants, whose weights are in the highest bits of bytes until it ends."""
