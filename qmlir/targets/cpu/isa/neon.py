"""`neon`: registers of 128 bits of ARM's processors.

Its loops are written with four bytes a lane, which are expanded to plain arithmetic: it names no instruction.
"""

from qmlir.targets.cpu.isa import predicates
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
        Row(predicates.takes_bytes, "s8s8_dot", 6, 4, "not measured: 29 of 32 registers are in use"),
        Row(predicates.takes_offset_bytes, "s8s8_dot", 6, 4, "not measured"),
        Row(predicates.takes_pairs, "i16_pairs", 6, 4, "not measured"),
        Row(predicates.is_depthwise, "depthwise", 4, 2, "not measured"),
        Row(predicates.takes_floats, "splat_fma", 6, 4, "not measured: 29 of 32 registers are in use"),
        Row(predicates.takes_any, "splat", 4, 2, "not measured"),
    ),
    tiles=_TILES,
    f4_tiles=_TILES,
)
