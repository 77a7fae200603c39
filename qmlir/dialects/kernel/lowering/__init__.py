"""How an operation on tensors becomes the integer level: what every lowering, in the tree or outside, builds with.

A dialect registers a table from operation class to a function `f(op, at: Lowering) -> values`: it reads its operands
through `at`, builds what it needs there, and gives one value for each result. Bodies of structured operations are
written as arithmetic on `Scalar`s; `quantized` reads stored integers as exact integers or floats and rounds back.
"""
