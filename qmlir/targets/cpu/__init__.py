"""The CPU target: emission of loops as Python source under numba, and what compiles and caches it."""
