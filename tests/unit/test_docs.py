"""README and docs against the code: commands are executed, IR is read, links followed, tables compared."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from qmlir import registry
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.levels import LEVELS, Element, Level
from qmlir.text.parsing import parse_module
from tests.support.commands import COMMANDS, run_command

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
_LINK = re.compile(r"\]\((?P<target>[^)#]+)\)")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def _blocks(language: str) -> list[tuple[Path, str]]:
    return [
        (path, block["text"])
        for path in DOCUMENTS
        for block in _BLOCK.finditer(path.read_text(encoding="utf-8"))
        if block["language"] == language
    ]


def _named(path: Path, text: str) -> str:
    return f"{path.name}: {text.partition(chr(10))[0][:50]}"


EXAMPLES = [
    pytest.param(shlex.split(found["command"]), found["output"], id=_named(path, found["command"]))
    for path, text in _blocks("console")
    for found in _COMMAND.finditer(text)
    if shlex.split(found["command"])[0] in {"not", *COMMANDS}
]


@pytest.mark.parametrize(("words", "output"), EXAMPLES)
def test_example(words: list[str], output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = run_command(words, "")
    assert result.code == 0, result.stderr
    # A line of three dots stands for any lines.
    pattern = re.sub(r"^ *\\\.\\\.\\\.$\n", r"(?:.*\\n)*", re.escape(output).replace("\\\n", "\n"), flags=re.MULTILINE)
    assert re.fullmatch(pattern, result.stderr + result.stdout), result.stderr + result.stdout


def test_there_is_an_example() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("text", [pytest.param(text, id=_named(path, text)) for path, text in _blocks("mlir")])
def test_ir_is_read(text: str) -> None:
    verify(parse_module(default_environment().new_context(), text, "document.mlir"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links(path: Path) -> None:
    targets = [found["target"] for found in _LINK.finditer(path.read_text())]
    assert all(target.startswith("https://") or (path.parent / target).exists() for target in targets)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets(path: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", path.read_text(), re.MULTILINE)) <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_paths_in_tables(path: Path) -> None:
    cells = re.findall(r"^\| ((?:[^|]*`[\w./]+/`[^|]*)+) \|", path.read_text(), re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`([\w./]+)`", cell)]
    assert [name for name in named if not (ROOT / name).exists()] == []


def _between(marker: str, path: Path = ARCHITECTURE) -> str:
    found = re.search(rf"<!-- {marker} -->\n(.*?)\n<!-- /{marker} -->", path.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


ELEMENTS = {
    Element.PLAIN: "plain",
    Element.CALIBRATED: f"`!{CalibratedQuantizedType.name}`",
    Element.QUANTIZED: f"`!{UniformQuantizedType.name}`, `!{AnyQuantizedType.name}`",
}


IMPORT = "ONNX import"
"""The one level that no pass makes."""


def _row(level: Level) -> str:
    everywhere = frozenset.intersection(*(each.dialects for each in LEVELS.values()))
    is_pass = all(name in registry.PASSES for name in level.made_by.split(", "))
    is_made = is_pass or level.made_by == IMPORT
    cells = (
        level.name,
        ", ".join(f"`{name}`" for name in sorted(level.dialects - everywhere)),
        ", ".join(ELEMENTS[element] for element in level.elements),
        f"`{level.made_by}`" if is_pass else level.made_by,
        "yes" if is_made else "planned",
        level.summary,
    )
    return f"| {' | '.join(cells)} |"


def test_levels_table() -> None:
    assert _between("levels").splitlines()[2:] == [_row(level) for level in LEVELS.values()]


def test_layers_are_the_contract() -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert _between("layers").splitlines()[1:-1] == contract["layers"]


def test_operators_are_those_that_are_imported() -> None:
    listed = re.findall(r"`([\w.:]+)`", _between("operators", ROOT / "docs" / "onnx.md"))
    assert listed == sorted(registry.onnx_importers())
