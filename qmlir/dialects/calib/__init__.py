"""The `calib` dialect: what quantization needs to know of values, and what it learns."""
