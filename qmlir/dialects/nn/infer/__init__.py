"""Shape functions of the `nn` operations: sizes in, sizes out, no operation named."""
