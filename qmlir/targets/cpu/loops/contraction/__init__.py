"""Contractions as loops over register tiles: geometry, families of steps, epilogues, tiles."""
