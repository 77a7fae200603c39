"""The `quant` dialect of upstream MLIR, which expresses quantization in the type of a value."""
