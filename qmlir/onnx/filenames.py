"""File name suffixes of ONNX models, in a separate module because importing ONNX is slow."""

TEXT_SUFFIXES = frozenset({".onnxtxt", ".onnxtext"})
"""The suffix of files in ONNX's textual syntax, for tests and for inspection."""

ONNX_SUFFIXES = frozenset({".onnx", *TEXT_SUFFIXES})
