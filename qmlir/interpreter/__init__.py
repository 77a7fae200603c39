"""The reference interpreter: runs a module at any level, one meaning for each operation."""
