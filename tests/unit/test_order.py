"""The longest files begin, the others stay in their order; `make referee` finds its files."""

from types import SimpleNamespace
from typing import Any

from tests.support.order import LONGEST, TESTS, longest_first


def test_the_longest_files_are_there() -> None:
    assert len(set(LONGEST)) == len(LONGEST)
    assert all((TESTS / name).is_file() for name in LONGEST)


def test_they_begin() -> None:
    names = ["accuracy/test_bars.py", LONGEST[1], "ir/test_a.py", LONGEST[1], LONGEST[0], "a.py"]
    items: list[Any] = [SimpleNamespace(path=TESTS / name, position=position) for position, name in enumerate(names)]
    assert [item.position for item in longest_first(items)] == [4, 1, 3, 0, 2, 5]


def test_make_referee_finds_the_marker_by_its_name() -> None:
    """It collects the test files that have the word `referee`, so none may get the marker from a file without it."""
    holders = [path for path in TESTS.rglob("*.py") if "mark.referee" in path.read_text(encoding="utf-8")]
    assert [path for path in holders if not path.name.startswith("test_") and "referee" not in path.parts] == []
