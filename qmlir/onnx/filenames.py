"""How the names of ONNX files end: known without importing ONNX, which takes a while."""

TEXT_SUFFIXES = frozenset({".onnxtxt", ".onnxtext"})
"""Files in ONNX's own textual syntax, for tests and for reading along."""

ONNX_SUFFIXES = frozenset({".onnx", *TEXT_SUFFIXES})
