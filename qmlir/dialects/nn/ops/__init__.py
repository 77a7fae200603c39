"""The operations of the `nn` dialect, one file a family."""
