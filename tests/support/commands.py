"""The commands of RUN lines, in this process where that is faster; a tool more is one line of `COMMANDS` more."""

import difflib
import io
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from filecheck.error import CheckError
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser, pattern_for_opts

from qmlir.tools import qmlir_cli, qmlir_opt, qmlir_translate


@dataclass(frozen=True)
class Result:
    """What a command left."""

    code: int
    stdout: str = ""
    stderr: str = ""


Command = Callable[[Sequence[str], str], Result]
"""A command: its arguments and its standard input to its result."""


def _tool(main: Callable[..., int]) -> Command:
    """One of our tools, by its `main`. What it raises is a fault of the tool, and ends the test with a traceback."""

    def run(arguments: Sequence[str], stdin: str) -> Result:
        out, err = io.StringIO(), io.StringIO()
        code = main(arguments, stdin=io.StringIO(stdin), stdout=out, stderr=err)
        return Result(code, out.getvalue(), err.getvalue())

    return run


def _process(*command: str | Path) -> Command:
    def run(arguments: Sequence[str], stdin: str) -> Result:
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


def _filecheck(arguments: Sequence[str], stdin: str) -> Result:
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            options = parse_argv_options(["filecheck", *arguments])
        except RuntimeError as error:
            return Result(2, stderr=f"filecheck: {error}\n")
        try:
            checks = io.StringIO(Path(options.match_filename).read_text(encoding="utf-8"))
            text = stdin if options.input_file == "-" else Path(options.input_file).read_text(encoding="utf-8")
        except OSError as error:
            return Result(2, stderr=f"filecheck: {error}\n")
        parser = Parser(options, checks, *pattern_for_opts(options))
        try:
            code = Matcher(options, FInput(options.readable_input_file(), text), parser).run()
        except CheckError as error:  # the package lets a variable without a value end its process
            return Result(1, stderr=f"{options.match_filename}:{error.op.source_line}: error: {error.message}\n")
    return Result(code, stderr=said.getvalue())


def _diff(arguments: Sequence[str], stdin: str) -> Result:
    names = [name for name in arguments if name != "-u"]
    if len(names) != 2:
        return Result(2, stderr=f"diff: takes two files and -u at most, not {' '.join(arguments)}\n")
    try:
        texts = [stdin if name == "-" else Path(name).read_text(encoding="utf-8") for name in names]
    except OSError as error:
        return Result(2, stderr=f"diff: {error}\n")
    lines = list(difflib.unified_diff(texts[0].splitlines(True), texts[1].splitlines(True), *names))
    return Result(1 if lines else 0, "".join(lines))


def _cat(arguments: Sequence[str], stdin: str) -> Result:
    try:
        return Result(0, "".join(Path(name).read_text(encoding="utf-8") for name in arguments) or stdin)
    except OSError as error:
        return Result(1, stderr=f"cat: {error}\n")


_PROCESSES = ("cmp", "cp", "echo", "grep", "ls", "mkdir", "rm", "sed", "sort", "test", "true", "truncate", "wc")

COMMANDS: dict[str, Command] = {
    "qmlir": _tool(qmlir_cli.main),
    "qmlir-opt": _tool(qmlir_opt.main),
    "qmlir-translate": _tool(qmlir_translate.main),
    "filecheck": _filecheck,
    "xdsl-opt": _process(Path(sys.executable).parent / "xdsl-opt"),
    "diff": _diff,
    "cat": _cat,
    sys.executable: _process(sys.executable),
    **{name: _process(name) for name in _PROCESSES},
}
"""Name to command. What is not here is not a command of a RUN line, even where the machine has it."""


def run_command(words: Sequence[str], stdin: str) -> Result:
    """Run one command on `stdin`; `not` in front turns its verdict."""
    name, *arguments = words
    if name in ("not", "!"):
        result = run_command(arguments, stdin)
        return Result(int(result.code == 0), result.stdout, result.stderr)
    if name not in COMMANDS:
        return Result(127, stderr=f"no command '{name}' for RUN lines, there are {', '.join(sorted(COMMANDS))}\n")
    return COMMANDS[name](arguments, stdin)
