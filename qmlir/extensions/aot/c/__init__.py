"""Loops as C99: one file that needs `stdint.h` and `string.h`, and its header."""
