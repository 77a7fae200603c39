"""Choices that the help of commands shows: this module imports no compiler."""

from enum import StrEnum


class SearchMode(StrEnum):
    """The direction of a search."""

    DROP = "drop"
    RAISE = "raise"
    BUDGET = "budget"


class Width(StrEnum):
    """The widths that a search can give a layer instead of the user's settings."""

    NARROW = "4"
    """4-bit weights."""

    WIDE = "16"
    """Weights and values of 16 bits."""

    FLOAT = "float"
