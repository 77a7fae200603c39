"""Damaged files of every kind that the tools read: each ends in a result or in one line, soon, in bounded memory.

A file here is a kind: what whole files look like, how one is damaged, and who reads it. `frame.py` runs them.
"""
