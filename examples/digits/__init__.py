"""Handwritten digits without Python: a quantized network called from C, from Rust and in a browser."""
