"""The `nn` dialect: neural network operations on float, profiled and quantized tensors."""
