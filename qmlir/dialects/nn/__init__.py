"""The `nn` dialect: what a network computes, on float, profiled and quantized tensors alike."""
