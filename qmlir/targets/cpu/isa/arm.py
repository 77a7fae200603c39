"""Instruction sets of ARM processors: Neon, Neon with dot products, and Armv7E-M."""

from dataclasses import replace

from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_SS, InstructionSet, RegisterTile, Row

# `neon`: 128-bit registers of ARM CPUs.
#
# The loops use dot products of four bytes per lane. Since this set has no instruction for them, they are expanded to
# plain arithmetic.

_TILES = RegisterTile(6, 4, 1), RegisterTile(5, 4, 1)
"""The register tiles of Winograd convolutions, the same as for direct convolutions."""

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


# `neon-dotprod`: Neon with dot products of four signed bytes per lane (`sdot`), by all lanes or by a single one.

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


# `armv7e-m`: Cortex-M4 and M7, which add two 16-bit products to a 32-bit sum (`smlad`) and widen two bytes at once.
#
# A register holds four bytes, or the sum of one channel. The generated C has assembly and `arm_acle.h`'s intrinsics, or
# plain arithmetic if the compiler has neither, so the same source compiles for every CPU.

_ARMV7E_M_TILES = (RegisterTile(2, 2, 1),)

ARMV7E_M = InstructionSet(
    name="armv7e-m",
    needs=frozenset({"dsp"}),
    processors=("cortex-m4", "cortex-m7"),
    # ResNet-8 with int8 inputs and outputs at -Os: 19 million instructions, but 113 million if floats requantized. Each
    # fused multiply-add of f32 was then emulated in f64, for which the CPU has no instructions.
    requantizes_by_floats=False,
    saturates=True,
    # ResNet-8 with 32-bit sums takes 55.8 KiB of RAM, and 63.6 KiB without chunks; chunks of 2 KiB don't improve this.
    near_bytes=1 << 13,
    bits=32,
    registers=13,
    instructions={DOT_SS: {32: "smlad"}},
    rows=(
        # These tiles are in assembly, in functions that all layers share: instructions per 16 multiply-adds, with the
        # loop. A tile of 2 x 4 doesn't fit in the registers. With loops that gcc 12 compiles, 36 at -Os and 29 at -O2;
        # with `splat_bytes` of `portable` 96 and 60.
        Row(predicates.has_one_row, "s8s8_dot", 1, 4, "21.5; 1 x 2: 25"),
        Row(predicates.takes_signed_bytes, "s8s8_dot", 2, 2, "19.5"),
        # Million instructions of DS-CNN with gcc 12 at -Os and -O2, by the most positions of a tile.
        Row(predicates.takes_few_depthwise_byte_weights, "depthwise_bytes_taps", 4, 1, "6.1 and 6.0; 5: 6.4 and 6.0"),
        # For a 3x3 convolution, including requantization and all else: 11.8 and 9.8; with tiles of 2 x 2, 13.6 and 9.3.
        Row(predicates.takes_depthwise_byte_weights, "depthwise_bytes", 4, 1, "of seven tiles the least at -Os"),
        Row(predicates.is_depthwise, "depthwise", 4, 1, "not measured"),
        Row(predicates.takes_byte_weights, "splat_bytes", 4, 1, "not measured"),
        Row(predicates.takes_any, "splat", 4, 1, "not measured"),
    ),
    tiles=_ARMV7E_M_TILES,
    f4_tiles=_ARMV7E_M_TILES,
)
