"""The measured figures of README and pages: one file for each measurement, and one value for each fact."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import ROOT

FILES = sorted((ROOT / "docs" / "results").glob("*.json"))
UNITS = {"", "%", "GMAC/s", "GB/s", "KiB", "MiB", "dB", "ms", "points", "s", "us", "x"}


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_a_caption_and_rows(path: Path) -> None:
    found = _read(path)
    assert list(found) == ["caption", "rows"]
    assert list(found["caption"]) == ["cpu", "threads", "versions", "date", "command", "note"]
    assert found["caption"]["cpu"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["caption"]["date"])
    assert re.match(r"(python -m benchmarks\.|make |qmlir )", found["caption"]["command"])
    for row in found["rows"]:
        assert list(row)[:4] == ["subject", "what", "figure", "unit"]
        assert list(row)[4:] in ([], ["low", "high"])
        assert row["unit"] in UNITS
        assert row.get("low", row["figure"]) <= row["figure"] <= row.get("high", row["figure"])


def test_every_fact_has_one_value() -> None:
    titles = Counter(f"{row['subject']}: {row['what']}" for path in FILES for row in _read(path)["rows"])
    assert [title for title, count in titles.items() if count > 1] == []
    assert len(titles) > 100
