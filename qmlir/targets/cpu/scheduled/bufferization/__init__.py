"""Bufferization: alias analysis, buffer placement, and the rewriting from tensors to memrefs."""
