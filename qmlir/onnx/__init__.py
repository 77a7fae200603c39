"""ONNX models to modules of the graph level, and modules to ONNX models."""
