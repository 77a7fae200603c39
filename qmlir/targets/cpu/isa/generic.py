"""`generic`: what every processor has, vectors of 128 bits and no dot product of integers."""

from qmlir.dialects.kernel.winograd import F2, F4
from qmlir.targets.cpu.isa.base import Gain, InstructionSet, RegisterTile, Row
from qmlir.targets.cpu.isa.predicates import fills_tiles, has_channels, is_depthwise, takes_any

_TILES = RegisterTile(4, 2, 1), RegisterTile(3, 2, 1)
"""Those of direct convolutions."""

GENERIC = InstructionSet(
    name="generic",
    bits=128,
    registers=16,
    rows=(
        Row(is_depthwise, "depthwise", 4, 2, "not measured"),
        Row(takes_any, "splat", 4, 2, "Zen 4: 10 GMAC/s in i32 at 3x3, 28x28x128"),
    ),
    tiles=_TILES,
    f4_tiles=_TILES,
    gains=(
        Gain(F4, fills_tiles(16), "Zen 4, of F(2x2, 3x3): 0.6-0.9"),
        Gain(F2, has_channels(8), "Zen 4: 0.27 of the time of products of i32 at 28x28x128, 0.46 at 32x32x16"),
    ),
)
