"""The `check` dialect: assertions with which a `.mlir` test states the values that it expects."""
