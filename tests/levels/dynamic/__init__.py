"""Models with dynamic dimensions of every meaning: compiled and interpreted results are the same for each size."""
