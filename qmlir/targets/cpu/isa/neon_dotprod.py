"""`neon-dotprod`: NEON that adds four products of signed bytes to each lane (`sdot`)."""

from dataclasses import replace

from qmlir.targets.cpu.isa.base import DOT_SS
from qmlir.targets.cpu.isa.neon import NEON

NEON_DOTPROD = replace(
    NEON,
    name="neon-dotprod",
    needs=NEON.needs | {"dotprod"},
    feature_prefixes=("dotprod",),
    instructions={DOT_SS: {128: "llvm.aarch64.neon.sdot.v4i32.v16i8"}},
)
