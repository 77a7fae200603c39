"""The page as text: what it holds reads back, whatever the names; it needs nothing from elsewhere, and stays small."""

import json
import math
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.extensions.report.model import ReportNode, as_json, opening
from qmlir.extensions.report.render import embedded, page_of, write_page
from qmlir.ir.diagnostics import LINES, printable
from tests.support.report_pages import EVIL, chain


class Elements(HTMLParser):
    """What a browser would make of a page: its elements, and the text of the one with data."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        position = len(self.tags) - 1
        self.texts[position] = self.texts.get(position, "") + data

    def data(self) -> str:
        (position,) = (position for position, (tag, attrs) in enumerate(self.tags) if attrs.get("id") == "data")
        return self.texts[position]


def test_names_stay_text() -> None:
    report = chain(3)
    page = Elements(page_of(report))
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in page.tags]
    found = json.loads(page.data())
    assert found["nodes"][1]["name"] == printable(EVIL, LINES)
    assert found["title"] == printable(EVIL, LINES)


def test_nothing_comes_from_elsewhere() -> None:
    page = page_of(chain(2))
    names = [value for _, attrs in Elements(page).tags for name, value in attrs.items() if name in ("src", "href")]
    assert names == ["data:,"]
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


@given(st.text())
def test_any_text_reads_back(text: str) -> None:
    inside = str(embedded(json.dumps(text, ensure_ascii=False)))
    assert json.loads(inside) == text
    assert "<" not in inside
    assert "\u2028" not in inside


def test_numbers_that_are_not_finite_are_null() -> None:
    report = chain(2)
    first = replace(report.nodes[0], range=(-math.inf, math.nan), seconds=None)
    found = json.loads(as_json(replace(report, nodes=(first, *report.nodes[1:]))))
    assert found["nodes"][0]["range"] == [None, None]


def test_the_page_opens_on_the_first_bad_layer() -> None:
    """The errors are 40 dB, 37 dB and so on: node 7 is the first below 20 dB, and of five the last is the worst."""
    assert opening(chain(30).nodes) == (7, "The first layer below 20 dB: what is after it inherits its error.")
    assert opening(chain(5).nodes) == (4, "The layer with the largest error.")
    assert opening([replace(node, error=None) for node in chain(3).nodes]) == (None, "")
    assert opening([replace(node, is_quantized=False) for node in chain(3).nodes]) == (None, "")


def test_a_page_of_many_nodes_is_small(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    size = write_page(chain(180, channels=500), path)
    assert size == path.stat().st_size
    assert size < 5_000_000


TEMPLATES = Path(__file__).parents[4] / "qmlir" / "extensions" / "report" / "templates"
OF_THE_BROWSER = {"addEventListener", "append", "setAttribute"}


def test_scripts_read_fields_of_nodes_that_exist() -> None:
    read = {
        name for path in TEMPLATES.glob("*.js") for name in re.findall(r"\bnode(?:s\[\d\])?\.(\w+)", path.read_text())
    }
    assert len(read) > 10
    assert read - OF_THE_BROWSER <= {each.name for each in fields(ReportNode)}


@pytest.mark.parametrize("name", ["style.css", "report.html.j2", "text.js", "graph.js", "panel.js", "table.js"])
def test_scripts_and_styles_hold_no_end_of_their_element(name: str) -> None:
    text = (TEMPLATES / name).read_text()
    if not name.endswith(".j2"):
        assert "</script" not in text
        assert "</style" not in text
