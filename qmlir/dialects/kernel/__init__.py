"""The `kernel` dialect: the structured integer and float computations of the CPU target, everything in the open."""
