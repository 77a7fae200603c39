"""Operations of `arith`, `math`, `vector` and `simd` in LLVM instructions: one table for every emitter of LLVM code.

A function of a table takes a `Builder` and operands, and returns the value of the result.
"""
