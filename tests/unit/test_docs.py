"""Every command that README and docs show is executed, and its output compared."""

import io
import re
import shlex
from pathlib import Path

import pytest

from qmlir.tools import qmlir_opt

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\((?P<target>[^)#]+)\)")

EXAMPLES = [
    pytest.param(found["command"].partition("\n")[0], found, id=f"{path.name}: {found['command'][:40]}")
    for path in DOCUMENTS
    for found in re.finditer(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", path.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("command", "found"), EXAMPLES)
def test_example(command: str, found: re.Match[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "qmlir-opt"
    out, err = io.StringIO(), io.StringIO()
    assert qmlir_opt.main(arguments, stdout=out, stderr=err) == 0, err.getvalue()
    assert out.getvalue().rstrip("\n") == found["output"].rstrip("\n")


def test_there_is_an_example() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links(path: Path) -> None:
    targets = [found["target"] for found in _LINK.finditer(path.read_text())]
    assert all(target.startswith("https://") or (path.parent / target).exists() for target in targets)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets(path: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", path.read_text())) <= known
