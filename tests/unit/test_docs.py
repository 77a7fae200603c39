"""README and docs, executed: each document from its first block to its last, in a folder of its own.

Commands of the tools print what the document says, Python runs with the names of the blocks before it, and a block
whose first line names a file (`# file: recipe.toml`) is that file. `--update-checks` writes what commands print now
into the documents, for review; where a pipeline has changed, twice: what it prints comes after it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module
from tests.support.commands import COMMANDS, Result, run_command
from tests.support.documents import DOCUMENTS, ROOT, Block, blocks, commands, hold, named, words_of

_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_MADE = re.compile(r"(?<= a program for )[\w-]+(, \d+ threads?), [\d.]+ \w+, made in [\d.]+ s$", re.MULTILINE)
"""What `qmlir compile` says of its own run and of the machine: instruction set, size, seconds."""
_ANY_LINES = re.compile(r"^ *\.\.\.\n", re.MULTILINE)

ELSEWHERE = {".venv/bin/lit", "lit-22", "git", "make", "pip", "python"}
"""First words of commands that a document shows and that other tests, or none, run."""

RUN = {"not", "lit", *COMMANDS}

Step = tuple[str, Callable[[], object]]

EXECUTED = [
    path for path in DOCUMENTS if any(block.language in ("console", "python") or block.file for block in blocks(path))
]


def _in_process_of_its_own(words: Sequence[str], stdin: str) -> Result:
    """Run a command behind assignments of variables: what is installed for it is found anew."""
    assignments = dict(word.split("=", 1) for word in words if _ASSIGNMENT.match(word))
    name, *arguments = words[len(assignments) :]
    if name == "not":
        result = _in_process_of_its_own([f"{key}={value}" for key, value in assignments.items()] + arguments, stdin)
        return replace(result, code=int(result.code == 0))
    done = subprocess.run(
        [Path(sys.executable).parent / name, *arguments],
        env=os.environ | assignments, input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def _command_of(command: str) -> str:
    """The first word that is not an assignment of a variable."""
    return next(word for word in words_of(command)[0] if not _ASSIGNMENT.match(word))


def _rounded(text: str) -> str:
    """`text` with long decimals to five digits.

    Ranges of float products come from sums that the BLAS of a processor orders: the last digits of scales, and of what
    has them, are that machine's. Stored integers are not. Nor are the seconds and the size that `qmlir compile` prints.
    """
    text = _MADE.sub(r"\1", text)
    return re.sub(r" +", " ", re.sub(r"-?\d+\.\d{6,}\b(?:e[-+]\d+)? *", lambda found: f"{float(found[0]):.5g}", text))


def _run_command(path: Path, command: str, output: str, request: pytest.FixtureRequest) -> None:
    said, printed = "", ""
    for words in words_of(command):
        result = (_in_process_of_its_own if _ASSIGNMENT.match(words[0]) else run_command)(words, printed)
        assert result.code == 0, result.stderr
        said, printed = said + result.stderr, result.stdout
    if _ANY_LINES.search(output):
        pattern = r"(?:.*\n)*".join(map(re.escape, _ANY_LINES.split(output)))
        assert re.fullmatch(pattern, said + printed), f"{said}{printed}"
    elif _rounded(output) != _rounded(said + printed):
        hold(path, f"$ {command}\n{output}", f"$ {command}\n{said}{printed}", request)


def _steps(path: Path, names: dict[str, Any], block: Block, request: pytest.FixtureRequest) -> Iterator[Step]:
    """What a block asks for: its file, each of its commands, or its Python."""
    if block.file:
        file = Path(block.file)
        file.parent.mkdir(parents=True, exist_ok=True)
        yield block.file, lambda: file.write_text(block.text, encoding="utf-8")
    elif block.language == "console":
        for command, output in commands(block.text):
            if _command_of(command) in RUN:
                yield f"$ {command}", partial(_run_command, path, command, output, request)
    elif block.language == "python":
        yield block.text.partition("\n")[0], lambda: exec(compile(block.text, path.name, "exec"), names)


def _faults(steps: Iterable[Step]) -> Iterator[str]:
    """Run everything; what is wrong with what."""
    for name, step in steps:
        try:
            step()
        except Exception as error:
            yield f"{name}\n{type(error).__name__}: {error}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_document(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for folder in ("docs", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    found = list(_faults(step for block in blocks(path) for step in _steps(path, names, block, request)))
    assert not found, "\n\n".join(found)


def test_there_is_something_to_run() -> None:
    languages = [block.language for path in EXECUTED for block in blocks(path)]
    assert "console" in languages
    assert "python" in languages


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_are_known(path: Path) -> None:
    texts = [block.text for block in blocks(path) if block.language == "console"]
    first = {_command_of(command) for text in texts for command, _ in commands(text)}
    assert first <= RUN | ELSEWHERE


MODULES = [
    pytest.param(block.text, id=named(path, block.text))
    for path in DOCUMENTS
    for block in blocks(path)
    if block.language == "mlir"
]


@pytest.mark.parametrize("text", MODULES)
def test_ir_is_read(text: str) -> None:
    verify(parse_module(default_environment().new_context(), text, "document.mlir"))
