"""`portable`: what a compiler of C makes vectors of, whatever the processor has: 16 sums at a time, weights as bytes.

A vector of 16 lanes is a loop over 16 elements. Compilers unroll it, and use the registers that there are; one with
fewer lanes leaves them less to do. There are no algorithms of Winograd, whose weights are larger and whose loops are
hard to read.
"""

from qmlir.targets.cpu.isa.base import InstructionSet, RegisterTile, Row
from qmlir.targets.cpu.isa.predicates import is_depthwise, takes_any, takes_byte_weights, takes_depthwise_byte_weights

_TILES = (RegisterTile(4, 1, 1),)

PORTABLE = InstructionSet(
    name="portable",
    bits=512,
    registers=8,
    rows=(
        # In C, 4 x 64 by 64 x 128, gcc 12 and clang 14 at -O3: x86-64 5 and 6.6 GMAC/s, for its own AVX-512 9 and 23;
        # 8 lanes 3.7 and 5.4, 32 lanes 5.2 and 7.6. A loop for each register instead of one for all: 2.7 and 2.8.
        Row(takes_depthwise_byte_weights, "depthwise_bytes", 4, 1, "not measured"),
        Row(is_depthwise, "depthwise", 4, 1, "not measured"),
        Row(takes_byte_weights, "splat_bytes", 4, 1, "Zen 4: 5 GMAC/s by gcc 12, 6.6 by clang 14"),
        Row(takes_any, "splat", 4, 1, "not measured"),
    ),
    tiles=_TILES,
    f4_tiles=_TILES,
)
