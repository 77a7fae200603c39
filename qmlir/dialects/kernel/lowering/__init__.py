"""Infrastructure for lowering tensor operations to the integer level, for built-in dialects and packages.

A dialect registers a table from operation class to a function `f(op, at: Lowering) -> values`. The function obtains the
operands through `at`, builds operations there, and returns one value for each result. Bodies of structured operations
are written as arithmetic on `Scalar`s. The module `quantized` reads stored integers as exact integers or floats, and
rounds results back.
"""
