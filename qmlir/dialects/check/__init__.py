"""The `check` dialect: assertions, so that a `.mlir` test states its expected numbers."""
