"""Which files of tests begin."""

from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

LONGEST = (
    "unit/test_docs.py",
    "unit/extensions/recovery/test_learning_blocks.py",
    "unit/extensions/search/test_searching.py",
    "unit/extensions/training/test_finetuning.py",
    "unit/quantization/test_excerpts.py",
    "unit/text/test_writing.py",
    "unit/extensions/recovery/test_repairing.py",
    "unit/extensions/test_without.py",
    "unit/extensions/training/test_finetune_command.py",
    "levels/test_levels.py",
    "unit/onnx/test_trees.py",
    "unit/targets/cpu/test_memory_safety.py",
)
"""The files that take longest: a process runs a file as a whole, and one of them at the end would keep one alone."""


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of the longest files, then the others, in the order in which they are."""
    positions = {TESTS / name: position for position, name in enumerate(LONGEST)}
    return sorted(items, key=lambda item: positions.get(item.path, len(positions)))
