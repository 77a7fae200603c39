"""Targets: where programs run, and how modules of loops become programs."""
