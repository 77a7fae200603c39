"""Microkernels: variants of contraction loops, each with its layout of packed operands and the loops that read them.

The registry lists the variants under `variants`, and rows of instruction sets choose them by name. A package adds one
with `Contribution.variants`; `docs/extending/contraction-variant.md` shows how.
"""
