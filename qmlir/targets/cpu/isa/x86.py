"""Instruction sets of x86 processors: AVX2, AVX2 with VNNI, and AVX-512 with VNNI."""

from dataclasses import replace

from qmlir.dialects.kernel.winograd import F2, F4, F4_BYTES
from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_PAIRS, DOT_US, MULTIPLY_PAIRS, Gain, InstructionSet, RegisterTile, Row

# `avx2`: 256-bit registers, pairwise products of i16 (`vpmaddwd`) and of bytes (`vpmaddubsw`).

AHEAD = 2048
"""The distance in bytes at which weights that are read once are prefetched.

On Zen 3, one row by 4-bit blocks takes 1.32 times as long as reading the weights without prefetching, and 1.24, 1.04,
1.11, 1.11 and 1.17 times as long with a distance of 512 bytes, 1, 2, 4 and 8 KB. On Zen 4, prefetching only costs time,
so the rows of AVX-512 have none.
"""

WIDENED = (
    Row(predicates.takes_float_row, "splat_fma", 1, 4, "Zen 3: f32s4 1.86 times reading, 1 x 2 2.15", ahead=AHEAD),
    Row(predicates.takes_pairs, "i16_pairs", 6, 2, "Zen 4: 105 GMAC/s at 3x3, 28x28x128"),
    Row(predicates.takes_depthwise_pairs, "depthwise_pairs", 7, 2, "Zen 4: 27 GMAC/s, 3x3, 56x56x144"),
    Row(predicates.is_depthwise, "depthwise", 4, 2, "Zen 4: 23 GMAC/s at 3x3, 56x56x144"),
    Row(predicates.takes_floats, "splat_fma", 6, 2, "not measured"),
    Row(predicates.takes_any, "splat", 6, 2, "not measured"),
)
"""The rows for contractions other than those of bytes, shared by the sets with 256-bit registers."""

UNPACKED = (
    Row(predicates.takes_dots(16), "i16_dots", 1, 1, "see docs/lab/transformers.md"),
    Row(predicates.takes_rows(8), "i16_rows", 1, 4, "see docs/lab/transformers.md"),
    Row(predicates.takes_shifted_rows(8), "i16_shifted_rows", 1, 4, "see docs/lab/transformers.md"),
)
"""The rows for few rows by matrices of bytes that stay as they are, shared by the sets with 256-bit registers."""

_FOUR = predicates.takes_short_sums("u8s8_short4")

AVX2 = InstructionSet(
    name="avx2",
    needs=frozenset({"avx2", "fma"}),
    feature_prefixes=("avx2", "fma"),
    bits=256,
    registers=16,
    instructions={
        DOT_PAIRS: {128: "llvm.x86.sse2.pmadd.wd", 256: "llvm.x86.avx2.pmadd.wd"},
        MULTIPLY_PAIRS: {128: "llvm.x86.ssse3.pmadd.ub.sw.128", 256: "llvm.x86.avx2.pmadd.ub.sw"},
    },
    shift_bits=16,
    rows=(
        *UNPACKED,
        Row(predicates.takes_narrow_blocks(2), "s8u2_short", 1, 4, "Zen 3: 1.01 of reading, 1 x 6 1.09", ahead=AHEAD),
        Row(predicates.takes_narrow_blocks(4), "s8u4_short", 1, 4, "Zen 3: 1.10 of reading, 1 x 8 1.19", ahead=AHEAD),
        Row(predicates.takes_narrow_blocks(8), "i16_bytes", 1, 4, "not measured", ahead=AHEAD),
        Row(predicates.takes_masked_row(2), "s8u2_short", 1, 4, "Zen 3: 1.20 times reading", ahead=AHEAD),
        Row(predicates.takes_masked_row(4), "s8u4_short", 1, 4, "Zen 3: 1.13 times reading", ahead=AHEAD),
        # At 120x1024x1024, where pairs of i16 reach 106 GMAC/s.
        Row(predicates.takes_short(4), "u8s4_short", 4, 2, "Zen 4: 147 GMAC/s; 2 x 4 150"),
        Row(predicates.takes_short(5), "u8s5_short", 4, 2, "Zen 4: 143 GMAC/s; 2 x 4 151"),
        # At 196x1024x256, where pairs of i16 reach 87, and 49x2048x512; tiles of 4 x 2 are 118 to 124 and 118.
        Row(predicates.stays_near(_FOUR), "u8s8_short4", 1, 4, "Zen 4: 137 GMAC/s, from the second cache 105"),
        Row(_FOUR, "u8s8_short4", 2, 4, "Zen 4: 126 and 124 GMAC/s"),
        Row(predicates.takes_short(6), "u8s6_short", 4, 2, "Zen 4: 137 GMAC/s; 2 x 4 142"),
        Row(predicates.takes_short_sums("u8s8_short2"), "u8s8_short2", 2, 4, "Zen 4: 119, 113; 4 x 2 116, 112"),
        Row(predicates.takes_short(7), "u8s7_short", 4, 2, "Zen 4: 111 GMAC/s; 6 x 2 113"),
        Row(predicates.takes_short_sums("u8s8_short"), "u8s8_short", 2, 4, "Zen 4: 103, 104; 4 x 2 101, 103"),
        Row(predicates.takes_narrow_row(8), "i16_bytes", 1, 4, "Zen 3: 1.28 times reading", ahead=AHEAD),
        *WIDENED,
    ),
    # Measured on Zen 4 with the 3x3 layers of ResNet-50.
    tiles=(RegisterTile(5, 2, 1), RegisterTile(6, 2, 1.01), RegisterTile(4, 3, 1.03), RegisterTile(4, 2, 1.1)),
    # 128 channels leave a rest of 4 x 3, which takes 168 us at 14x14x128, 4 x 2 121.
    f4_tiles=(RegisterTile(6, 2, 1), RegisterTile(5, 2, 1), RegisterTile(4, 2, 1.02)),
    gains=(
        Gain(
            F4, predicates.fills_tiles(16),
            "Zen 4, of F(2x2, 3x3): 0.62-0.76 in ResNet-50, 28x28x16 0.79, 9 tiles of 10x10x256 cold 1.1",
        ),
        Gain(
            F2, predicates.has_channels(8),
            "Zen 4: 0.44-0.52 of the time of pairs of i16 in ResNet-50, 0.49-0.80 down to 8 channels; 3 channels 1.43",
        ),
    ),
)  # fmt: skip


# `avx2-vnni`: AVX2 with dot products of four bytes per lane (`vpdpbusd`).

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
        Row(predicates.takes_word_rows(32), "u16_rows", 1, 4, "not measured"),
        *UNPACKED,
        Row(predicates.takes_narrow_blocks(2), "s8u2_dot", 1, 2, "not measured"),
        Row(predicates.takes_narrow_blocks(4), "s8u4_dot", 1, 4, "not measured"),
        Row(predicates.takes_masked_row(2), "s8u2_dot", 1, 2, "not measured"),
        Row(predicates.takes_masked_row(4), "s8u4_dot", 1, 4, "not measured"),
        Row(predicates.takes_narrow(2), "u8s2_dot", 4, 2, "not measured"),
        Row(predicates.takes_narrow(4), "u8s4_dot", 4, 2, "not measured"),
        Row(predicates.takes_bytes, "u8s8_dot", 6, 2, "not measured: the tile of avx2"),
        Row(predicates.takes_offset_bytes, "u8s8_dot", 6, 2, "not measured"),
        Row(predicates.takes_depthwise_bytes, "depthwise_dot", 4, 4, "not measured"),
        *WIDENED,
    ),
    gains=(Gain(F4, predicates.fills_tiles(32), "Zen 4: 0.56-0.73 of the time of four bytes a lane, 14x14x64 0.84"),),
)


# `avx512-vnni`: 512-bit registers, dot products of four bytes per lane, and lookups of bytes in four registers.
#
# With this set, F(2x2, 3x3) takes 0.92 to 1.19 times as long as a direct convolution with four bytes per lane, and 0.96
# to 1.40 times as long if the weights don't fit in any cache, since its weights take 3.6 times the memory. So it isn't
# among the gains.

CUT_BYTES = 1 << 20
"""The size of the L2 cache of Zen 4, in bytes: a smaller `x` stays there during the loop over channels."""


def _fills_lines(height: int, width: int, inputs: int, outputs: int) -> bool:
    """Whether tiles, filled up to whole register tiles of 4, have few sums that the result hasn't; many channels."""
    tiles = -(-height // F4.step) * -(-width // F4.step)
    computed = -(-tiles // 4) * 4 * F4.step**2 / (height * width)
    return computed <= 4 / 3 and min(inputs, outputs) >= 256


AVX512_VNNI = replace(
    AVX2_VNNI,
    name="avx512-vnni",
    needs=frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"}),
    feature_prefixes=("avx512",),
    bits=512,
    registers=32,
    instructions={
        DOT_US: {**AVX2_VNNI.instructions[DOT_US], 512: "llvm.x86.avx512.vpdpbusd.512"},
        DOT_PAIRS: {**AVX2_VNNI.instructions[DOT_PAIRS], 512: "llvm.x86.avx512.pmaddw.d.512"},
        MULTIPLY_PAIRS: {**AVX2_VNNI.instructions[MULTIPLY_PAIRS], 512: "llvm.x86.avx512.pmaddubs.w.512"},
    },
    table_bytes=64,
    rows=(
        Row(predicates.takes_dots(32), "i16_dots", 1, 1, "not measured"),
        Row(predicates.takes_rows(16), "i16_rows", 1, 8, "not measured"),
        Row(predicates.takes_word_rows(64), "u16_rows", 1, 8, "see docs/lab/transformers.md"),
        Row(predicates.takes_shifted_rows(16), "i16_shifted_rows", 1, 8, "see docs/lab/transformers.md"),
        Row(predicates.takes_signs_row, "s8u1_dot", 1, 2, "Zen 4: 82 us at 1x4096x4096, 96 by 1 x 1"),
        Row(predicates.takes_masked_row(2), "s8u2_dot", 1, 4, "Zen 4: 84 us at 1x4096x4096, u8s2_dot 116"),
        Row(predicates.takes_narrow_blocks(2), "s8u2_dot", 1, 2, "not measured"),
        Row(predicates.takes_narrow_blocks(4), "s8u4_dot", 1, 2, "not measured"),
        Row(predicates.takes_masked_row(4), "s8u4_dot", 1, 4, "not measured"),
        Row(predicates.takes_narrow(2), "u8s2_dot", 4, 4, "Zen 4: 230 GMAC/s at 128x1024x1024"),
        Row(predicates.takes_narrow_row(4), "u8s4_dot", 1, 8, "Zen 4: 132 us at 1x4096x4096, 143 by 1 x 4"),
        Row(predicates.takes_narrow(4), "u8s4_dot", 8, 2, "Zen 4: 232 GMAC/s at 128x1024x1024, 204 by 6 x 4", 1),
        Row(predicates.takes_bytes, "u8s8_dot", 6, 4, "Zen 4: 165-232 GMAC/s; 12 x 2 within 5%", 1, CUT_BYTES),
        Row(predicates.takes_offset_bytes, "u8s8_dot", 6, 4, "Zen 4: 120-208 GMAC/s, pairs 87-112, 512 tokens"),
        Row(predicates.takes_pairs, "i16_pairs", 6, 4, "Zen 4: 115 GMAC/s at 3x3, 28x28x128"),
        Row(predicates.takes_depthwise_bytes, "depthwise_dot", 4, 4, "Zen 4: 61 GMAC/s at 3x3, 56x56x144"),
        Row(predicates.is_depthwise, "depthwise", 4, 2, "Zen 4: 29 GMAC/s at 3x3, 56x56x144"),
        Row(predicates.takes_floats, "splat_fma", 6, 4, "Zen 4: 57 GMAC/s in f32 at 3x3, 14x14x256"),
        Row(predicates.takes_any, "splat", 6, 4, "Zen 4: 44 GMAC/s in f32 at 3x3, 14x14x256"),
    ),
    # Measured on Zen 4 with the 3x3 layers of ResNet-50.
    tiles=(RegisterTile(8, 2, 1), RegisterTile(7, 2, 1), RegisterTile(6, 2, 1), RegisterTile(5, 4, 1)),
    # An image of 14x14 has 16 tiles, whose weights are used twice by 8 of them.
    f4_tiles=(RegisterTile(7, 2, 1), RegisterTile(8, 1, 1.05), RegisterTile(8, 2, 1)),
    gains=(
        Gain(
            F4, predicates.fills_tiles(32),
            "Zen 4: 0.57-0.71 of the time of four bytes a lane, 14x14x64 0.81; 9 tiles of 10x10x256 1.16, "
            "32x32x16 0.94",
        ),
        Gain(
            F4_BYTES, _fills_lines,
            "Zen 4: 0.80 of the time of four bytes a lane at 7x7x512, 0.81 at 7x7x256; 10x10x256, 1.92 times "
            "as much, 1.16",
        ),
    ),
)  # fmt: skip
