"""From a module of loops to code that runs; numba is the first."""
