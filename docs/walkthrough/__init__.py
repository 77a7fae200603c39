"""`make demo` and `make tour`: a model through the whole compiler, for a reader of the repository."""
