"""Native functions of the tree: tables by subject, one row per function."""
