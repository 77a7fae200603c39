"""Modules to ONNX models: float, quantized and mixed ones, in Q/DQ, QLinear or integer operators."""
