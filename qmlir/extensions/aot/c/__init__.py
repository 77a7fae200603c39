"""Emission of loops as C99: one file that includes only `stdint.h` and `string.h`, and its header."""
