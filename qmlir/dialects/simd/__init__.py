"""The `simd` dialect: what one core does with a register tile, and `arith` on vectors has no word for."""
