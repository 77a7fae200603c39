"""The evaluators of upstream's dialects: one table per dialect."""
