"""What passes ask of a module: ranges and magnitudes of values, readings of regions, float operations left."""
