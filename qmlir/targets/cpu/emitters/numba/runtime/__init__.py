"""What saved programs carry along: `operations` for emitted code, `program` and `constants` for its callers.

This package is copied into saved programs: it imports NumPy, numba and llvmlite, and nothing outside itself.
"""
