"""ONNX models to modules of the graph level."""
