"""What the documents point to is there: files, anchors, pages of the map, make targets, paths of the tree."""

import re
from pathlib import Path

import pytest

from tests.support.documents import DOCUMENTS, ROOT, anchors, prose

_LINK = re.compile(r"\]\((?P<file>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
DOCS = ROOT / "docs"

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


def _broken(path: Path) -> list[str]:
    wrong: list[str] = []
    for found in _LINK.finditer(prose(path)):
        file, anchor = found["file"], found["anchor"]
        if file.startswith(("https://", "http://")):
            continue
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(found[0])
    return wrong


@each_document
def test_links(path: Path) -> None:
    assert _broken(path) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title: `x`\n[a](#a-title-x) [b](#b) [c](page.md#a-title-x) [d](none.md)\n")
    assert _broken(page) == ["](#b)", "](none.md)"]


def test_the_map_has_every_page() -> None:
    """The page of the lab log has the other pages of the log."""
    maps = DOCS / "index.md", DOCS / "lab" / "index.md"
    linked = {(each.parent / found["file"]).resolve() for each in maps for found in _LINK.finditer(prose(each))}
    pages = {path for path in DOCS.rglob("*.md") if path.parent.name not in ("commands", "dialects")}
    assert pages - {DOCS / "index.md"} <= linked


@each_document
def test_make_targets(path: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", path.read_text(), re.MULTILINE)) <= known


@each_document
def test_paths_in_tables(path: Path) -> None:
    cells = re.findall(r"^\| ((?:[^|]*`[\w./]+/`[^|]*)+) \|", path.read_text(), re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`([\w./]+)`", cell)]
    assert [name for name in listed if not (ROOT / name).exists()] == []


@each_document
def test_paths_in_text(path: Path) -> None:
    said = re.findall(r"`((?:qmlir|tests|docs)/[\w./]+)`", path.read_text(encoding="utf-8"))
    assert [name for name in said if not (ROOT / name).exists()] == []
