"""`avx2-vnni`: AVX2 that adds four products of bytes to each lane (`vpdpbusd`)."""

from dataclasses import replace

from qmlir.dialects.kernel.winograd import F4
from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.avx2 import AVX2, WIDENED
from qmlir.targets.cpu.isa.base import DOT_US, Gain, Row

AVX2_VNNI = replace(
    AVX2,
    name="avx2-vnni",
    needs=AVX2.needs | {"avxvnni"},
    feature_prefixes=("avxvnni",),
    instructions={
        **AVX2.instructions,
        DOT_US: {128: "llvm.x86.avx512.vpdpbusd.128", 256: "llvm.x86.avx512.vpdpbusd.256"},
    },
    rows=(
        Row(predicates.takes_narrow(2), "u8s2_dot", 4, 2, "not measured"),
        Row(predicates.takes_narrow(4), "u8s4_dot", 4, 2, "not measured"),
        Row(predicates.takes_bytes, "u8s8_dot", 6, 2, "not measured: the tile of avx2"),
        Row(predicates.takes_offset_bytes, "u8s8_dot", 6, 2, "not measured"),
        Row(predicates.takes_depthwise_bytes, "depthwise_dot", 4, 4, "not measured"),
        *WIDENED,
    ),
    gains=(Gain(F4, predicates.fills_tiles(32), "Zen 4: 0.56-0.73 of the time of four bytes a lane, 14x14x64 0.84"),),
)
