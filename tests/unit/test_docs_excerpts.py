"""Excerpts: a block behind `<!-- excerpt of FILE -->` shows lines of FILE, in order; that file is executed itself."""

import re
from pathlib import Path

import pytest

from tests.support.documents import DOCUMENTS, ROOT

_EXCERPT = re.compile(r"<!-- excerpt of (?P<file>[\w./-]+) -->\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FOUND = [
    (document, excerpt["file"], excerpt["text"])
    for document in DOCUMENTS
    for excerpt in _EXCERPT.finditer(document.read_text(encoding="utf-8"))
]


def test_there_are_excerpts() -> None:
    assert _FOUND


@pytest.mark.parametrize(("document", "file", "text"), _FOUND)
def test_lines_stand_in_the_file_in_this_order(document: Path, file: str, text: str) -> None:
    lines = iter((ROOT / file).read_text(encoding="utf-8").splitlines())
    for wanted in filter(str.strip, text.splitlines()):
        assert any(line == wanted for line in lines), f"{document.name} shows a line that {file} lacks here: {wanted}"
