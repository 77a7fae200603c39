"""The `check` dialect: what a test expects, so that a `.mlir` file states numbers."""
