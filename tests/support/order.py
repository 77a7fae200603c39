"""Which files of tests begin."""

from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

LONGEST = (
    "unit/extensions/training/test_programs.py",
    "unit/extensions/training/test_trainable.py",
    "unit/test_docs.py",
    "levels/test_levels.py",
    "conformance/test_compiled.py",
    "unit/targets/cpu/microkernels/test_mixed_precision.py",
    "unit/targets/cpu/microkernels/test_winograd.py",
    "unit/targets/cpu/test_memory_safety.py",
    "unit/walkthrough/test_demo.py",
    "unit/dialects/nn/recurrent/test_recurrent.py",
)
"""The files that take longest: a process runs a file as a whole, and one of them at the end would keep one alone."""


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of the longest files, then the others, in the order in which they are."""
    places = {TESTS / name: place for place, name in enumerate(LONGEST)}
    return sorted(items, key=lambda item: places.get(item.path, len(places)))
