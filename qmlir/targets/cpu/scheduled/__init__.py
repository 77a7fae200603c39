"""Passes that lower to the scheduled level: schedules, packed operands, buffers and outlined kernels."""
