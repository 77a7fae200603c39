"""The `target` dialect: what the targets of a module accept and keep, and which target computes which function."""
