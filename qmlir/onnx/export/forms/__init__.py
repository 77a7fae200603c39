"""How an operation on quantized values is written: between casts, as a QLinear operator, or as integer arithmetic.

The form says what is tried first. Whatever the form, an operation that has none of its ways is written in another.
"""
