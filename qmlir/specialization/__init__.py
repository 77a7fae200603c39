"""Specialization: replaces dynamic sizes with static ones and runtime parameters with constants."""
