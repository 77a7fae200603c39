"""`neon-dotprod`: NEON that adds four products of signed bytes to each lane (`sdot`), by all lanes or by one."""

from dataclasses import replace

from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_SS, Row
from qmlir.targets.cpu.isa.neon import NEON

NEON_DOTPROD = replace(
    NEON,
    name="neon-dotprod",
    needs=NEON.needs | {"dotprod"},
    feature_prefixes=("dotprod",),
    instructions={DOT_SS: {128: "llvm.aarch64.neon.sdot.v4i32.v16i8"}},
    rows=(
        # Instructions of the inner loop as LLVM 22 compiles it for Cortex-A76: tiles of 6 x 4 spill.
        Row(predicates.takes_bytes, "s8s8_lanes", 5, 4, "97 with 80 `sdot`; 4 x 4: 80, 64; 6 x 4: 148, 96"),
        Row(predicates.takes_offset_bytes, "s8s8_lanes", 5, 4, "not measured"),
        *(row for row in NEON.rows if row.variant != "s8s8_dot"),
    ),
)
