"""Passes that produce the integer level."""
