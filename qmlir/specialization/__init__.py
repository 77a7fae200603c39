"""Specialization: replaces dynamic shapes and run-time parameters by static sizes and constants."""
