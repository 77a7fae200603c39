"""The `simd` dialect: operations on the register tiles of a single core that `arith` on vectors does not provide."""
