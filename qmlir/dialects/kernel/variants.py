"""The variants of contraction loops by name: what a step multiplies, and how packed operands hold it."""

U8S8_DOT = "u8s8_dot"
"""Four bytes a lane: activations moved into the unsigned range, weights without zero point."""

U8S4_DOT = "u8s4_dot"
"""The same, two weights of 4 bits in a byte of memory."""

U8S2_DOT = "u8s2_dot"
"""The same, four weights of 2 bits in a byte of memory."""

S8S8_DOT = "s8s8_dot"
"""Four bytes a lane, both signed, weights without zero point."""

I16_PAIRS = "i16_pairs"
"""Two integers of 16 bits a lane, both operands without zero points."""

DEPTHWISE = "depthwise"
"""A channel a lane, each with its own weights."""

SPLAT = "splat"
"""One element of `x` by a vector of weights, in the type of the sum: integers of any width, floats."""

SCALAR = "scalar"
"""Loops over scalars, on operands as they are."""

VARIANTS = (U8S8_DOT, U8S4_DOT, U8S2_DOT, S8S8_DOT, I16_PAIRS, DEPTHWISE, SPLAT, SCALAR)

GROUP = {U8S8_DOT: 4, U8S4_DOT: 4, U8S2_DOT: 4, S8S8_DOT: 4, I16_PAIRS: 2}
"""The terms that one lane of a variant sums in a step, 1 for the others."""

WEIGHT_BITS = {U8S4_DOT: 4, U8S2_DOT: 2}
"""The bits of a weight of the variants that keep several in a byte."""
