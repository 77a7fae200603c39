"""The runtime of compiled programs: `operations` for Python code compiled by numba, the rest for both emitters.

This package is copied into programs: it imports NumPy, numba and llvmlite, and nothing else outside of itself.
"""
