"""Formats of operations on quantized values: between casts, as QLinear operators, or as integer arithmetic.

The export format determines which of these forms is tried first. If it doesn't support an operation, another form is
used.
"""
