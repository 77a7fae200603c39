"""Emitters, which generate code from modules of loops: Python source for numba, and LLVM IR."""
