"""The `quant` dialect of upstream MLIR: quantization as the type of a value."""
