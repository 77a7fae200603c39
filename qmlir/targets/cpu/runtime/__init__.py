"""What programs have in common: `operations` for the Python that numba compiles, the rest for both emitters.

This package is copied into programs: it imports NumPy, numba and llvmlite, and nothing outside itself.
"""
