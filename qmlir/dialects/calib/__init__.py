"""The `calib` dialect: observation of values for quantization, and trainable quantization parameters."""
