"""The evaluators of upstream MLIR's dialects, in one table per dialect."""
