"""What takes several stages of the compiler, one file each: from a model and data to a result."""
