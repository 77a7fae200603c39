"""Figures are written down one by one, and belong to what they were measured on."""

from pathlib import Path

import pytest

from qmlir.extensions.search.trials import Measurements
from qmlir.ir.diagnostics import DiagnosticError


def test_a_figure_is_measured_once(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.json"
    asked: list[str] = []

    def measure(name: str, figure: float) -> float:
        asked.append(name)
        return figure

    first = Measurements("key", path)
    assert first.measured("a", lambda: measure("a", 0.5)) == 0.5
    assert first.measured("a", lambda: measure("a", 0.7)) == 0.5
    with pytest.raises(ZeroDivisionError):
        first.measured("b", lambda: 1 / 0)
    again = Measurements("key", path)
    assert (again.known, again.taken) == (1, 0)
    assert again.measured("a", lambda: measure("a", 0.7)) == 0.5
    assert again.measured("c", lambda: measure("c", float("inf"))) == float("inf")
    assert Measurements("key", path).measured("c", lambda: measure("c", 0.0)) == float("inf")
    assert asked == ["a", "c"]


def test_another_key_begins_anew_and_another_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Measurements("key", path).measured("a", lambda: 1.0)
    assert Measurements("other", path).known == 0
    for text in ("", "[1]", '{"format": "other", "key": "key", "figures": {"a": 1}}'):
        path.write_text(text)
        with pytest.raises(DiagnosticError, match="already exists: qmlir did not write it"):
            Measurements("key", path)
        assert path.read_text() == text
    assert Measurements("key").known == 0
