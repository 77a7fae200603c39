"""README and docs against the code: commands and Python are executed, IR is read, links followed, tables compared.

`--update-checks` writes what commands print now, and the tables, into the documents, for review; where a pipeline has
changed, twice: what it prints comes after it.
"""

import re
import shlex
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from qmlir import registry
from qmlir.dialects.kernel.attributes import ISAS
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.levels import LEVELS, Element, Level, check_level
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module
from tests.support.commands import COMMANDS, run_command

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
COMPILING = ROOT / "docs" / "compiling.md"
WALK = ROOT / "docs" / "levels.md"
_LINK = re.compile(r"\]\((?P<target>[^)#]+)\)")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_ANY_LINES = re.compile(r"^ *\.\.\.\n", re.MULTILINE)


def _blocks(language: str) -> list[tuple[Path, str]]:
    return [
        (path, block["text"])
        for path in DOCUMENTS
        for block in _BLOCK.finditer(path.read_text(encoding="utf-8"))
        if block["language"] == language
    ]


def _named(path: Path, text: str) -> str:
    return f"{path.name}: {text.partition(chr(10))[0][:50]}"


def _commands(text: str) -> list[list[str]]:
    """The words of each command of a pipe; a backslash continues a line."""
    lexer = shlex.shlex(text.replace("\\\n", ""), posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    return [list(words) for is_pipe, words in groupby(lexer, lambda word: word == "|") if not is_pipe]


EXAMPLES = [
    pytest.param(path, found["command"], found["output"], id=_named(path, found["command"]))
    for path, text in _blocks("console")
    for found in _COMMAND.finditer(text)
    if _commands(found["command"])[0][0] in {"not", *COMMANDS}
]


def _hold(path: Path, said: str, meant: str, request: pytest.FixtureRequest) -> None:
    """Hold what a document says against what is so; `--update-checks` writes that."""
    if said != meant and request.config.getoption("--update-checks"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(said, meant), encoding="utf-8")
    assert said == meant


@pytest.mark.parametrize(("path", "command", "output"), EXAMPLES)
def test_example(
    path: Path, command: str, output: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    said, printed = "", ""
    for words in _commands(command):
        result = run_command(words, printed)
        assert result.code == 0, result.stderr
        said, printed = said + result.stderr, result.stdout
    if _ANY_LINES.search(output):
        pattern = r"(?:.*\n)*".join(map(re.escape, _ANY_LINES.split(output)))
        assert re.fullmatch(pattern, said + printed), said + printed
    else:
        _hold(path, f"$ {command}\n{output}", f"$ {command}\n{said}{printed}", request)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if "```python\n" in path.read_text(encoding="utf-8")])
def test_python(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Python of a document, from its first block to its last, where `docs` is at hand and files may be written."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path / "cache"))
    names: dict[str, Any] = {}
    for document, text in _blocks("python"):
        if document == path:
            exec(compile(text, path.name, "exec"), names)


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_paths_in_text(path: Path) -> None:
    named = re.findall(r"`((?:qmlir|tests|docs)/[\w./]+)`", path.read_text(encoding="utf-8"))
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


def test_levels_table(request: pytest.FixtureRequest) -> None:
    head, rule, *_ = table = _between("levels").splitlines()
    _hold(ARCHITECTURE, "\n".join(table), "\n".join([head, rule, *map(_row, LEVELS.values())]), request)


def _walk() -> dict[str, str]:
    """The sections of the walk through all levels, by their titles."""
    return dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", WALK.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


def test_walk_goes_through_all_levels() -> None:
    assert list(_walk()) == [*LEVELS, "code"]


@pytest.mark.parametrize("level", LEVELS)
def test_walk_shows_modules_of_the_level(level: str) -> None:
    modules = re.findall(r"^(?:[!#].* = .*\n)*builtin\.module.*?^}$", _walk()[level], re.DOTALL | re.MULTILINE)
    assert modules
    for text in modules:
        ctx = default_environment().new_context()
        check_level(ctx, parse_module(ctx, text, "levels.md"), level)


STAGES = [
    pytest.param(path, command, id=_named(path, command))
    for path in (COMPILING, WALK)
    for command, _ in _COMMAND.findall(path.read_text(encoding="utf-8"))
    if "\n" in command
]


@pytest.mark.parametrize(("path", "command"), STAGES)
def test_long_pipelines_are_what_compile_runs(path: Path, command: str, request: pytest.FixtureRequest) -> None:
    """From the third line on, each line of such a command is a stage."""
    stages = command.partition("-p ")[2].rpartition('"')[0].split("\\\n")[2:]
    names = [stage.name for stage in COMPILE.stages[: len(stages)]]
    texts = [COMPILE.text(name, isa="avx512-vnni", threads="1").replace('"', "") for name in names]
    meant = command
    for stage, text in zip(stages, texts, strict=True):
        meant = meant.replace(stage, f"    {text}," if stage.endswith(",") else f"    {text}")
    _hold(path, command, meant, request)


def test_walk_ends_with_the_whole_pipeline() -> None:
    command, _ = _COMMAND.findall(_walk()["code"])[0]
    assert command.count("\n") == 1 + len(COMPILE.stages)


def test_stages_table(request: pytest.FixtureRequest) -> None:
    rows = [f"| `{stage.name}` | `{stage.passes.replace(',', ', ')}` | {stage.summary} |" for stage in COMPILE.stages]
    head, rule, *_ = table = _between("stages", COMPILING).splitlines()
    _hold(COMPILING, "\n".join(table), "\n".join([head, rule, *rows]), request)


def test_instruction_sets_table() -> None:
    assert re.findall(r"^\| `([\w-]+)` \|", _between("isas", COMPILING), re.MULTILINE) == list(ISAS)


def test_dialects_table() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", _between("dialects"), re.MULTILINE)) == set(registry.DIALECTS)


def test_layers_are_the_contract() -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert _between("layers").splitlines()[1:-1] == contract["layers"]


def test_operators_are_those_that_are_imported() -> None:
    listed = re.findall(r"`([\w.:]+)`", _between("operators", ROOT / "docs" / "onnx.md"))
    assert listed == sorted(registry.onnx_importers())
