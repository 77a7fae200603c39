"""`avx2`: registers of 256 bits, products of i16 in pairs (`vpmaddwd`) and of bytes in pairs (`vpmaddubsw`)."""

from qmlir.dialects.kernel.winograd import F2, F4
from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_PAIRS, MULTIPLY_PAIRS, Gain, InstructionSet, RegisterTile, Row

WIDENED = (
    Row(predicates.takes_pairs, "i16_pairs", 6, 2, "Zen 4: 105 GMAC/s at 3x3, 28x28x128"),
    Row(predicates.takes_depthwise_pairs, "depthwise_pairs", 7, 2, "Zen 4: 27 GMAC/s, 3x3, 56x56x144"),
    Row(predicates.is_depthwise, "depthwise", 4, 2, "Zen 4: 23 GMAC/s at 3x3, 56x56x144"),
    Row(predicates.takes_floats, "splat_fma", 6, 2, "not measured"),
    Row(predicates.takes_any, "splat", 6, 2, "not measured"),
)
"""What multiplies no bytes, on every set of these registers."""

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
