"""`wasm-simd`: WebAssembly with vectors of 128 bits, products of i16 in pairs (`i32x4.dot_i16x8_s`)."""

from dataclasses import replace

from qmlir.targets.cpu.isa import predicates
from qmlir.targets.cpu.isa.base import DOT_PAIRS, Row
from qmlir.targets.cpu.isa.generic import GENERIC

WASM_SIMD = replace(
    GENERIC,
    name="wasm-simd",
    needs=frozenset({"simd128"}),
    feature_prefixes=("simd128",),
    instructions={DOT_PAIRS: {128: "llvm.wasm.dot"}},
    rows=(Row(predicates.takes_pairs, "i16_pairs", 4, 2, "not measured: the tile of generic"), *GENERIC.rows),
)
