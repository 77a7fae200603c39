"""`neon`: registers of 128 bits of ARM's processors.

Its loops are written with four bytes a lane, which are expanded to plain arithmetic: it names no instruction.
"""

from qmlir.dialects.kernel import variants
from qmlir.targets.cpu.isa import conditions
from qmlir.targets.cpu.isa.base import InstructionSet, RegisterTile, Row

_TILES = RegisterTile(6, 4, 1), RegisterTile(5, 4, 1)
"""Those of direct convolutions."""

NEON = InstructionSet(
    name="neon",
    needs=frozenset({"neon"}),
    feature_prefixes=("neon",),
    bits=128,
    registers=32,
    rows=(
        Row(conditions.takes_bytes, variants.S8S8_DOT, 6, 4, "not measured: 29 of 32 registers are in use"),
        Row(conditions.takes_offset_bytes, variants.S8S8_DOT, 6, 4, "not measured"),
        Row(conditions.takes_pairs, variants.I16_PAIRS, 6, 4, "not measured"),
        Row(conditions.is_depthwise, variants.DEPTHWISE, 4, 2, "not measured"),
        Row(conditions.takes_floats, variants.SPLAT_FMA, 6, 4, "not measured: 29 of 32 registers are in use"),
        Row(conditions.takes_any, variants.SPLAT, 4, 2, "not measured"),
    ),
    tiles=_TILES,
    f4_tiles=_TILES,
)
