"""Pictures of README and docs: files and generator agree, pages show both modes, text stays in its picture."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generator.pictures import PICTURES, THEMES, pictures
from tests.support.documents import DOCUMENTS, ROOT

FOLDER = ROOT / "docs" / "pictures"
_SVG = "{http://www.w3.org/2000/svg}"


def test_files_are_generated() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert there == pictures(), "python -m docs.generator.pictures docs/pictures"


@pytest.mark.parametrize("name", sorted(pictures()))
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


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_light_and_dark_differ_in_colors_only(name: str) -> None:
    texts = {re.sub(r"#[0-9a-f]{6}", "#", (FOLDER / f"{name}-{mode}.svg").read_text()) for mode in THEMES}
    assert len(texts) == 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_shows_pictures_that_exist_in_both_modes(path: Path) -> None:
    shown = re.findall(r"[\w/.-]*pictures/[\w-]+\.svg", path.read_text(encoding="utf-8"))
    assert [name for name in shown if not (path.parent / name).exists()] == []
    modes = {mode: {re.sub(rf"-{mode}\.svg$", "", name) for name in shown if mode in name} for mode in THEMES}
    assert modes["light"] == modes["dark"]
