"""Variants of contraction loops, one a file: what packed operands hold, and the loops that read them.

The rows `variants` of the registry name them, and rows of instruction sets choose them by name. A package adds one by
`Contribution.variants`; `docs/extending/contraction-variant.md` shows how.
"""
