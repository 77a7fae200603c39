"""Type decisions: the quantized type of each value, from a recipe and recorded statistics."""
