"""Passes that make the loops level: `scf` loops over scalars and registers."""
