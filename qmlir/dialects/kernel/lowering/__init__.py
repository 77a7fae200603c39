"""Infrastructure for lowering tensor operations to the integer level, for dialects in this tree and in packages.

A dialect registers a table from operation class to a function `f(op, at: Lowering) -> values`: it reads its operands
through `at`, builds operations there, and returns one value for each result. Bodies of structured operations are
written as arithmetic on `Scalar`s; `quantized` reads stored integers as exact integers or floats and rounds back.
"""
