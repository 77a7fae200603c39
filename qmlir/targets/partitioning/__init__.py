"""Partitioning: assigns the operations of a function to devices and the host, with few transfers between them."""
