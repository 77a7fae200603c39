"""Passes that produce the quantized level."""
