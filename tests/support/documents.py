"""The documents as tests see them: blocks by language, commands with what they print, headings with their anchors."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(?P<language>[\w{}-]+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_FILE = re.compile(r"(?:#|//) file: (?P<name>[\w./-]+)\n")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code of a document."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the first line of the block names, as `# file: recipe.toml`: the block is that file."""
        found = _FILE.match(self.text)
        return found["name"] if found else None


def blocks(path: Path) -> list[Block]:
    """The blocks of a document, in order."""
    return [Block(found["language"], found["text"]) for found in _BLOCK.finditer(path.read_text(encoding="utf-8"))]


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it is said to print."""
    return [(found["command"], found["output"]) for found in _COMMAND.finditer(text)]


def words_of(command: str) -> list[list[str]]:
    """The words of each command of a pipe; a backslash continues a line."""
    lexer = shlex.shlex(command.replace("\\\n", ""), posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    return [list(words) for is_pipe, words in groupby(lexer, lambda word: word == "|") if not is_pipe]


def table_at(marker: str, path: Path) -> str:
    """The table between `<!-- marker -->` and `<!-- /marker -->`."""
    found = re.search(rf"<!-- {marker} -->\n(.*?)\n<!-- /{marker} -->", path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def rows_of(table: str) -> list[list[str]]:
    """The cells of each row of a table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def prose(path: Path) -> str:
    """A document without its blocks of code."""
    return _BLOCK.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> Iterator[str]:
    """The anchors of the headings of a document, as GitHub and the site make them."""
    seen: dict[str, int] = {}
    for found in _HEADING.finditer(prose(path)):
        slug = re.sub(r"[^\w\- ]", "", found["title"].lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield f"{slug}-{count}" if count else slug


def named(path: Path, text: str) -> str:
    """The name of a case: the document and the first line."""
    return f"{path.name}: {text.partition(chr(10))[0][:50]}"


def hold(path: Path, said: str, meant: str, request: pytest.FixtureRequest) -> None:
    """Hold what a document says against what is so; `--update-checks` writes that."""
    if said != meant and request.config.getoption("--update-checks"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(said, meant), encoding="utf-8")
    assert said == meant
