"""Lowering of contractions to loops over register tiles: memory layout, tiles, epilogues and their vector forms."""
