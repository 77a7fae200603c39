"""Instruction sets without assumptions about the CPU, and WebAssembly SIMD."""

from dataclasses import replace

from qmlir.dialects.kernel.winograd import F2, F4
from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_PAIRS, Gain, InstructionSet, RegisterTile, Row

# `generic`: features of every CPU: 128-bit vectors, no integer dot products.

_GENERIC_TILES = RegisterTile(4, 2, 1), RegisterTile(3, 2, 1)
"""The register tiles of Winograd convolutions, the same as for direct convolutions."""

GENERIC = InstructionSet(
    name="generic",
    bits=128,
    registers=16,
    rows=(
        Row(predicates.is_depthwise, "depthwise", 4, 2, "not measured"),
        Row(predicates.takes_any, "splat", 4, 2, "Zen 4: 10 GMAC/s in i32 at 3x3, 28x28x128"),
    ),
    tiles=_GENERIC_TILES,
    f4_tiles=_GENERIC_TILES,
    gains=(
        Gain(F4, predicates.fills_tiles(16), "Zen 4, of F(2x2, 3x3): 0.6-0.9"),
        Gain(
            F2, predicates.has_channels(8), "Zen 4: 0.27 of the time of products of i32 at 28x28x128, 0.46 at 32x32x16"
        ),
    ),
)


# `portable`: loops that a C compiler vectorizes for any CPU, with 16 sums at a time and weights stored as bytes.
#
# A vector of 16 lanes is a C loop over 16 elements, which compilers unroll for the registers of the CPU. Fewer lanes
# would give them less to vectorize. Winograd's algorithms are not used: their weights are larger, and their loops are
# hard to read.

_TILES = (RegisterTile(4, 1, 1),)

PORTABLE = InstructionSet(
    name="portable",
    bits=512,
    registers=8,
    rows=(
        # C code for 4 x 64 by 64 x 128, gcc 12 and clang 14 at -O3: 5 and 6.6 GMAC/s for x86-64, 9 and 23 with AVX-512;
        # 3.7 and 5.4 with 8 lanes, 5.2 and 7.6 with 32 lanes. With a loop for each register, not one for all: 2.7, 2.8.
        Row(predicates.takes_depthwise_byte_weights, "depthwise_bytes", 4, 1, "not measured"),
        Row(predicates.is_depthwise, "depthwise", 4, 1, "not measured"),
        Row(predicates.takes_byte_weights, "splat_bytes", 4, 1, "Zen 4: 5 GMAC/s by gcc 12, 6.6 by clang 14"),
        Row(predicates.takes_any, "splat", 4, 1, "not measured"),
    ),
    tiles=_TILES,
    f4_tiles=_TILES,
)


# `portable-integer`: `portable` for CPUs without floats; requantization is computed in integers.

PORTABLE_INTEGER = replace(
    PORTABLE,
    name="portable-integer",
    has_floats=False,
    requantizes_by_floats=False,
    near_bytes=1 << 13,
    processors=("cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23", "cortex-m3"),
)


# `wasm-simd`: WebAssembly with 128-bit vectors and pairwise products of i16 (`i32x4.dot_i16x8_s`).

WASM_SIMD = replace(
    GENERIC,
    name="wasm-simd",
    needs=frozenset({"simd128"}),
    feature_prefixes=("simd128",),
    instructions={DOT_PAIRS: {128: "llvm.wasm.dot"}},
    rows=(Row(predicates.takes_pairs, "i16_pairs", 4, 2, "not measured: the tile of generic"), *GENERIC.rows),
)
