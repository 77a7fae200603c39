"""The `simd` dialect: operations on register tiles of a single core that `arith` on vectors lacks."""
