"""Measurements: the compiler, its compiled programs and their accuracy, with other runtimes beside."""
