"""RUN lines in-process, so that a FileCheck file takes milliseconds.

lit itself reads the file: its keywords (`RUN`, `REQUIRES`, `UNSUPPORTED`, `XFAIL`, `DEFINE`, …), its substitutions, its
shell grammar and `tests/lit.cfg.py`. What is here runs the commands that it read, and gives lit's result codes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lit.LitConfig import LitConfig
from lit.ShCommands import Command, GlobItem, Pipeline, Seq
from lit.ShUtil import ShParser
from lit.Test import Result as LitResult
from lit.Test import Test, TestSuite
from lit.TestingConfig import TestingConfig
from lit.TestRunner import (
    applySubstitutions,
    getDefaultSubstitutions,
    getTempPaths,
    kPdbgRegex,
    parseIntegratedTestScript,
)

from tests.support.commands import Result, run_command

TESTS = Path(__file__).resolve().parents[1]
SHOWN_LINES = 30

COMMENTS = {".mlir": "//", ".onnxtxt": "#"}
"""What a FileCheck file is called, and how its comments begin."""


@dataclass(frozen=True)
class Outcome:
    """How a file ended, in lit's words, and for a person what happened."""

    code: str
    report: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the file does not do what it says."""
        return self.code in ("FAIL", "XPASS", "UNRESOLVED")


@dataclass(frozen=True)
class RunLine:
    """One RUN line as lit reads it: where it stands, its text, and its commands as a tree of lit's shell."""

    position: str
    text: str
    tree: Seq | Pipeline


@dataclass
class RunFile:
    """A FileCheck file: its RUN lines, or the outcome where lit would not run it."""

    path: Path
    lines: list[RunLine] = field(default_factory=list[RunLine])
    outcome: Outcome | None = None
    fails_as_expected: bool = False


@cache
def _lit_config() -> TestingConfig:
    lit = LitConfig(
        "lit", path=[], diagnostic_level="error", useValgrind=False, valgrindLeakCheck=False, valgrindArgs=[],
        noExecute=False, debug=False, isWindows=False, order="smart", params={},
    )  # fmt: skip
    config = TestingConfig.fromdefaults(lit)
    config.load_from_path(str(TESTS / "lit.cfg.py"), lit)
    return config


def read_file(path: Path, temporary: Path) -> RunFile:
    """What lit makes of the file; `%t` lies in `temporary`."""
    config = _lit_config()
    suite = TestSuite(config.name, str(path.parent), str(temporary), config)
    test = Test(suite, (path.name,), config)
    script = parseIntegratedTestScript(test)
    if isinstance(script, LitResult):
        return RunFile(path, outcome=Outcome(script.code.name, f"{path}: {script.output}"))
    folder, base = getTempPaths(test)
    Path(folder).mkdir(parents=True, exist_ok=True)
    features = dict.fromkeys(config.available_features, True)
    commands = applySubstitutions(script, getDefaultSubstitutions(test, folder, base), features)
    read = RunFile(path, fails_as_expected=test.isExpectedToFail())
    for command in commands:
        position, text = re.fullmatch(kPdbgRegex, command).groups()
        try:
            read.lines.append(RunLine(position, text.strip(), ShParser(text, pipefail=True).parse()))
        except ValueError as error:
            read.outcome = Outcome("FAIL", f"{path}: {position}: {error}\n  {text.strip()}")
    return read


def _words(command: Command) -> list[str]:
    words: list[str] = []
    for argument in command.args:
        words += argument.resolve(str(TESTS.parent)) if isinstance(argument, GlobItem) else [argument]
    return words


def _redirected(command: Command, result: Result) -> Result:
    """The result after the command's output has gone where its redirections say."""
    # A process writes its standard output when it ends, behind what it said on standard error.
    streams = {1: [result.stdout], 2: [result.stderr]}
    for operator, target in command.redirects:
        match operator:
            case (">" | ">>" as kind, *number):
                source = number[0] if number else 1
                with open(target, "a" if kind == ">>" else "w", encoding="utf-8") as file:
                    file.writelines(reversed(streams[source]))
                streams[source] = []
            case ("&>",):
                Path(target).write_text(result.stderr + result.stdout, encoding="utf-8")
                streams = {1: [], 2: []}
            case (">&", 2) if target == "1":
                streams = {1: streams[1] + streams[2], 2: []}
            case (">&",) if target == "2":
                streams = {1: [], 2: streams[1] + streams[2]}
            case _:
                pass
    return Result(result.code, "".join(reversed(streams[1])), "".join(reversed(streams[2])))


def _shortened(text: str) -> Iterator[str]:
    lines = text.rstrip("\n").split("\n")
    yield from (f"    {line}" for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        yield f"    … {len(lines) - SHOWN_LINES} lines more"


@dataclass(frozen=True)
class Step:
    """A command that was run: its words, its standard input, and its result after redirections."""

    words: Sequence[str]
    stdin: str
    result: Result

    @property
    def name(self) -> str:
        """The command, for a report."""
        return " ".join(self.words[:2]) if self.words[0] == "not" else self.words[0]


class Shell:
    """Runs the trees that lit's shell grammar gives, and remembers each command."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def run(self, tree: Seq | Pipeline) -> int:
        """The exit code of a sequence or a pipeline."""
        if isinstance(tree, Pipeline):
            return self.run_pipeline(tree.commands)[0]
        code = self.run(tree.lhs)
        if (tree.op == "&&" and code) or (tree.op == "||" and not code):
            return code
        return self.run(tree.rhs)

    def run_pipeline(self, commands: Sequence[Command]) -> tuple[int, str]:
        """The first failing exit code of the commands, and what the last one printed."""
        text, code = "", 0
        for command in commands:
            for operator, name in command.redirects:
                if operator == ("<",):
                    text = Path(name).read_text(encoding="utf-8")
            words = _words(command)
            result = _redirected(command, run_command(words, text))
            self.steps.append(Step(words, text, result))
            text, code = result.stdout, code or result.code
        return code, text

    def report(self) -> str:
        """What the commands said, for a person who looks for a fault."""
        lines: list[str] = []
        for step in self.steps:
            if step.result.code:
                lines.append(f"  {step.name} ended with exit code {step.result.code}")
            if step.result.stderr:
                lines += [f"  {step.name}, standard error:", *_shortened(step.result.stderr)]
            if step.result.stdout and step is self.steps[-1]:
                lines += [f"  {step.name}, standard output:", *_shortened(step.result.stdout)]
        return "\n".join(lines)


def run_line(path: Path, line: RunLine) -> Outcome:
    """Run one RUN line."""
    shell = Shell()
    try:
        if shell.run(line.tree) == 0:
            return Outcome("PASS")
        code, reason = "FAIL", shell.report()
    except OSError as error:  # a redirection from or to a file that cannot be opened
        code, reason = "UNRESOLVED", f"  {error}"
    return Outcome(code, f"{path}: {line.position}\n  {line.text}\n{reason}")


def run_file(path: Path, temporary: Path) -> Outcome:
    """Run the RUN lines of a file until one fails, as lit does."""
    read = read_file(path, temporary)
    outcome = read.outcome
    if outcome is None:
        outcomes = (run_line(path, line) for line in read.lines)
        outcome = next((each for each in outcomes if each.is_failure), Outcome("PASS"))
    if read.fails_as_expected and outcome.code in ("PASS", "FAIL"):
        return Outcome("XFAIL", outcome.report) if outcome.is_failure else Outcome("XPASS", f"{path}: passes")
    return outcome
