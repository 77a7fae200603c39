"""Passes that make the scheduled level."""
