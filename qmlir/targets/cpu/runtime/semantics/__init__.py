"""Operations of `arith`, `math`, `vector` and `simd` as LLVM instructions, in tables that all emitters share.

Each function in a table takes a `Builder` and the operands, and returns the result.
"""
