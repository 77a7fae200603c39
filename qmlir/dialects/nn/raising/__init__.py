"""Raising: recognizes groups of operations that are the parts of a composite, and replaces them with the composite."""
