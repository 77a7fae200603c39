"""The `kernel` dialect: structured integer and float computations of the CPU target, with explicit parameters."""
