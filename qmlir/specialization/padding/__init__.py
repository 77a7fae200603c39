"""Padding: turns a function with dynamic sizes into one of static capacity that computes every size up to it."""
