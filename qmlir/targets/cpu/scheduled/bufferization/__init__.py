"""Tensors become memory: which values share a buffer, where buffers lie, and the rewriting itself."""
