"""Mutation testing: small changes to the code that decides and rewrites, each held against the tests that run it.

`python -m tests.mutants` (or `make mutants`) draws mutants by a seed, runs each in a process of its own, and lists
those that no test notices. A survivor is a missing test, needless code, or a change that no program can tell; the
last are in `survivors.toml`, each with its reason.
"""
