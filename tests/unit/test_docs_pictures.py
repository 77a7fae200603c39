"""Pictures of README and docs: files and generator agree, pages show both modes, text stays in its picture."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generator.pictures import DIAGRAMS, THEMES, diagrams, measured
from docs.generator.pictures.diagrams import figures
from docs.generator.results import Results, text_of
from tests.support.documents import DOCUMENTS, ROOT

FOLDER = ROOT / "docs" / "pictures"
CHARTS = ("bits", "latency", "recipe")
_SVG = "{http://www.w3.org/2000/svg}"


def test_files_are_generated() -> None:
    """Diagrams are; what a chart looks like depends on the version of matplotlib."""
    charts = {f"{name}-{mode}.svg" for name in CHARTS for mode in THEMES}
    report = {f"report-{mode}.png" for mode in THEMES}
    assert {path.name for path in FOLDER.iterdir()} == {*diagrams(), *charts, *report, "measured.json"}
    there = {name: (FOLDER / name).read_text(encoding="utf-8") for name in diagrams()}
    assert there == diagrams(), "python -m docs.generator.pictures docs/pictures"


def _figures_shown(name: str, mode: str) -> Counter[str]:
    """The texts of a chart that have digits."""
    texts = ElementTree.parse(FOLDER / f"{name}-{mode}.svg").getroot().iter(f"{_SVG}text")
    return Counter(text.text for text in texts if text.text and re.match(r"-?\d", text.text))


@pytest.mark.parametrize("mode", THEMES)
def test_charts_show_the_measured_figures(mode: str) -> None:
    facts = {each.name: each.facts for each in Results.of().measurements}
    peers = ("qmlir int8, exact", "ONNX Runtime u8s8", "ONNX Runtime dynamic", "OpenVINO u8s8")
    times = Counter(text_of(fact) for fact in facts["latency"] if fact.what in peers)
    assert times <= _figures_shown("latency", mode)
    few = Counter(f"{fact.figure:g}" for fact in facts["few-bits"] if re.match("W4.*top-1$", fact.what))
    assert few <= _figures_shown("bits", mode)
    ratios = figures()["sqnr"]
    shown = [each[name] for name in ratios["bad"].keys() & ratios["cut"].keys() for each in ratios.values()]
    assert ratios["bad"]["logits"] < 10 < ratios["cut"]["logits"]
    assert Counter(f"{each:.1f}" for each in shown) <= _figures_shown("recipe", mode)


def test_buffers_of_the_arena_do_not_overlap() -> None:
    """A result may lie over an input that is used for the last time in its step."""
    buffers = figures()["arena"]["buffers"]
    for one, other in combinations(buffers, 2):
        is_later = one["steps"][1] <= other["steps"][0] or other["steps"][1] <= one["steps"][0]
        is_apart = one["offset"] + one["size"] <= other["offset"] or other["offset"] + other["size"] <= one["offset"]
        assert is_later or is_apart, (one, other)


def test_the_recipe_of_the_chart_is_that_of_the_page() -> None:
    assert measured.RECIPE in (ROOT / "docs" / "debugging-accuracy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(diagrams()))
def test_text_lies_within_the_picture(name: str) -> None:
    picture = ElementTree.parse(FOLDER / name).getroot()
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    for text in picture.iter(f"{_SVG}text"):
        glyph = 0.62 if "monospace" in text.attrib["font-family"] else 0.56
        length = glyph * float(text.attrib["font-size"]) * len(text.text or "")
        left = float(text.attrib["x"]) - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.attrib["text-anchor"]] * length
        assert left >= 0, text.text
        assert left + length <= width, text.text
        assert 0 < float(text.attrib["y"]) < height


@pytest.mark.parametrize("name", sorted(DIAGRAMS))
def test_light_and_dark_differ_in_colors_only(name: str) -> None:
    texts = {re.sub(r"#[0-9a-f]{6}", "#", (FOLDER / f"{name}-{mode}.svg").read_text()) for mode in THEMES}
    assert len(texts) == 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_shows_pictures_that_exist_in_both_modes(path: Path) -> None:
    shown = re.findall(r"[\w/.-]*pictures/[\w-]+\.(?:svg|png)", path.read_text(encoding="utf-8"))
    assert [name for name in shown if not (path.parent / name).exists()] == []
    modes = {mode: {re.sub(rf"-{mode}\.\w+$", "", name) for name in shown if mode in name} for mode in THEMES}
    assert modes["light"] == modes["dark"]
