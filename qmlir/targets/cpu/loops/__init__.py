"""Passes that lower to the loops level: `scf` loops over scalars and vector registers."""
