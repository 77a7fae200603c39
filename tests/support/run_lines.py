"""RUN lines in-process: the part of lit's language that the FileCheck files use.

`// RUN: qmlir-opt %s -p cse | filecheck %s` runs without a process for each command, so that a file takes
milliseconds. `lit` reads the same lines (`tests/lit.cfg.py`).
"""

import difflib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options, parse_argv_options
from filecheck.parser import Parser, pattern_for_opts

from qmlir.tools import qmlir_opt

_RUN = re.compile(r"(?://|#)\s*RUN:(?P<command>.*)")
_OPERATORS = {"|", "&&", ";", ">", ">>", "<", "2>", "2>&1"}


class RunLineError(Exception):
    """A RUN line that fails; the message shows the line, what it printed, and why."""


@dataclass
class Result:
    """What a command left."""

    code: int
    stdout: str = ""
    stderr: str = ""


def run_lines(text: str) -> list[str]:
    """The commands of a test file, continued lines joined."""
    commands: list[str] = []
    continued = False
    for line in text.splitlines():
        if (found := _RUN.search(line)) is None:
            continue
        command = found["command"].strip()
        if continued:
            commands[-1] += " " + command.removesuffix("\\").strip()
        else:
            commands.append(command.removesuffix("\\").strip())
        continued = command.endswith("\\")
    return commands


def _qmlir_opt(arguments: Sequence[str], stdin: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_opt.main(arguments, stdin=io.StringIO(stdin), stdout=out, stderr=err)
    return Result(code, out.getvalue(), err.getvalue())


def _filecheck(arguments: Sequence[str], stdin: str) -> Result:
    options: Options = parse_argv_options(["filecheck", *arguments])
    source = Path(options.match_filename).read_text(encoding="utf-8")
    if options.input_file != "-":
        stdin = Path(options.input_file).read_text(encoding="utf-8")
    out = io.StringIO()
    real = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = out  # the package prints what did not match
    try:
        parser = Parser(options, io.StringIO(source), *pattern_for_opts(options))
        code = Matcher(options, FInput("input", stdin), parser).run()
    finally:
        sys.stdout, sys.stderr = real
    return Result(code, "", out.getvalue())


def _diff(arguments: Sequence[str], stdin: str) -> Result:
    texts = [stdin if name == "-" else Path(name).read_text(encoding="utf-8") for name in arguments[-2:]]
    lines = list(difflib.unified_diff(texts[0].splitlines(True), texts[1].splitlines(True), *arguments[-2:]))
    return Result(1 if lines else 0, "".join(lines))


def _cat(arguments: Sequence[str], stdin: str) -> Result:
    return Result(0, "".join(Path(name).read_text(encoding="utf-8") for name in arguments) or stdin)


def _process(*command: str) -> Callable[[Sequence[str], str], Result]:
    def run(arguments: Sequence[str], stdin: str) -> Result:
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


COMMANDS: dict[str, Callable[[Sequence[str], str], Result]] = {
    "qmlir-opt": _qmlir_opt,
    "filecheck": _filecheck,
    "diff": _diff,
    "cat": _cat,
    **{name: _process(name) for name in ("mkdir", "rm", "test", "echo", "grep", "cp", "truncate", "ls", "sed")},
}
"""The commands of RUN lines; one more tool is one more line."""


def run_command(words: Sequence[str], stdin: str) -> Result:
    """Run one command on `stdin`; `not` turns its verdict."""
    if words[0] == "not":
        result = run_command(words[1:], stdin)
        return Result(0 if result.code else 1, result.stdout, result.stderr)
    if words[0] not in COMMANDS:
        raise RunLineError(f"unknown command '{words[0]}', there are {', '.join(sorted(COMMANDS))}")
    return COMMANDS[words[0]](words[1:], stdin)


@dataclass
class _Stage:
    words: list[str]
    merge_errors: bool = False
    stdin_file: str | None = None
    stdout_file: str | None = None
    stderr_file: str | None = None


def _stages(words: Sequence[str]) -> Iterator[_Stage]:
    stage = _Stage([])
    rest = iter(words)
    for word in rest:
        match word:
            case "|":
                yield stage
                stage = _Stage([])
            case "2>&1":
                stage.merge_errors = True
            case ">":
                stage.stdout_file = next(rest)
            case "2>":
                stage.stderr_file = next(rest)
            case "<":
                stage.stdin_file = next(rest)
            case _:
                stage.words.append(word)
    yield stage


def _run_pipeline(words: Sequence[str], errors: list[str]) -> int:
    flowing, code = "", 0
    for stage in _stages(words):
        if stage.stdin_file:
            flowing = Path(stage.stdin_file).read_text(encoding="utf-8")
        result = run_command(stage.words, flowing)
        code = code or result.code
        flowing = result.stdout
        if stage.merge_errors:
            flowing = result.stderr + result.stdout
        elif stage.stderr_file:
            Path(stage.stderr_file).write_text(result.stderr, encoding="utf-8")
        else:
            errors.append(result.stderr)
        if stage.stdout_file:
            Path(stage.stdout_file).write_text(flowing, encoding="utf-8")
            flowing = ""
    if code:
        errors.append(flowing)
    return code


def substituted(command: str, path: Path, temporary: Path) -> str:
    """`command` with lit's names for the file, its folder, and a temporary file."""
    for key, value in (("%s", path), ("%S", path.parent), ("%t", temporary / path.stem), ("%T", temporary)):
        command = re.sub(rf"{key}\b", lambda _, value=value: str(value), command)
    return command


def output_for_filecheck(command: str, path: Path, temporary: Path) -> str:
    """What the commands in front of `| filecheck` print."""
    producer = substituted(command.rpartition("|")[0], path, temporary)
    target = temporary / "for_filecheck"
    errors: list[str] = []
    _run_pipeline([*shlex.split(producer), ">", str(target)], errors)
    return target.read_text(encoding="utf-8")


def run_file(path: Path, temporary: Path) -> None:
    """Run every RUN line of a file. Raises `RunLineError` at the first that fails."""
    commands = run_lines(path.read_text(encoding="utf-8"))
    if not commands:
        raise RunLineError("the file has no RUN line")
    for command in commands:
        words = shlex.split(substituted(command, path, temporary), posix=True)
        part: list[str] = []
        for word in [*words, "&&"]:
            if word not in ("&&", ";"):
                part.append(word)
                continue
            errors: list[str] = []
            if part and _run_pipeline(part, errors):
                raise RunLineError(f"RUN: {command}\n{''.join(errors)[:4000]}")
            part = []
