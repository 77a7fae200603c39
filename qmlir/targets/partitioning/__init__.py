"""Which operations a device computes and which the host: parts of a function, with little going over their borders."""
