"""Names that options of tools use: this module imports no pass."""

EVERY_PASS = "*"
"""Selects every pass in an option that takes pass names."""
