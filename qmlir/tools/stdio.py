"""A tool as a process: its streams, its argument parser, and its exit codes; and the commands of `qmlir` by name.

Exit codes: 0, done; 1, an error in the model or the data, or a failed expectation or bound; 2, wrong usage; 130,
interrupted. This module does not import the compiler, so that `--help` is fast.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from typing import IO, Any, NamedTuple, NoReturn

from qmlir.registry import Named
from qmlir.text.renames import renamed


@dataclass(frozen=True)
class Streams:
    """The standard streams of a tool."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]


_Given = IO[str] | None


@dataclass(frozen=True)
class Main:
    """The `main` function of a tool, which takes the command-line arguments and returns the exit code.

    By default, it uses the arguments and streams of the process.
    """

    run: Callable[[Sequence[str] | None, Streams], int]

    def __call__(
        self, argv: Sequence[str] | None = None, *, stdin: _Given = None, stdout: _Given = None, stderr: _Given = None
    ) -> int:
        return self.run(argv, Streams(stdin or sys.stdin, stdout or sys.stdout, stderr or sys.stderr))


class UsageError(Exception):
    """Raised for a wrong command line. The message ends with a newline, and is printed unchanged."""


def near(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?`, like `qmlir.ir.diagnostics.nearest_name`, which takes a while to import."""
    found = get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


_DATA = ("--data", "--input")
"""The options with which commands take arrays: samples, or the inputs of one run."""


class ExclusiveGroup(NamedTuple):
    """A group of mutually exclusive options, which records the options added to it."""

    group: Any
    actions: list[argparse.Action]


class ArgumentParser(argparse.ArgumentParser):
    """An `argparse` parser that raises `UsageError` instead of exiting, and suggests similar names."""

    groups: Mapping[str, Sequence[str]] = {}
    """The options of each titled group, in the order of the help."""

    _titled: dict[str, Any] | None = None

    actions: list[argparse.Action]
    """All arguments, in the order in which they were added."""

    exclusive: list[ExclusiveGroup]
    """The groups of mutually exclusive options."""

    hint: Callable[[str, str | None], str] | None = None
    """Returns a hint for an unknown option, given its name without dashes and its value."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        self.actions, self.exclusive = [], []
        super().__init__(*words, **settings)

    def set_groups(self, groups: Mapping[str, Sequence[str]]) -> None:
        """Assigns all options that are added later to these titled groups, which the help lists in this order."""
        self._titled = {title: self.add_argument_group(title) for title in groups}
        self.groups = groups

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        title = next((title for title, options in self.groups.items() if names and names[-1] in options), None)
        if title is None:
            self.actions.append(action := super().add_argument(*names, **settings))
            return action
        return self.add_argument_group(title).add_argument(*names, **settings)

    def add_argument_group(self, *words: Any, **settings: Any) -> Any:
        """Returns the group with this title, creating it if there is none."""
        known = self._titled or {}
        if words and words[0] in known:
            return known[words[0]]
        return self._noting(super().add_argument_group(*words, **settings), [])

    def add_mutually_exclusive_group(self, *, required: bool = False) -> Any:
        """Adds a group of mutually exclusive options."""
        self.exclusive.append(made := ExclusiveGroup(super().add_mutually_exclusive_group(required=required), []))
        return self._noting(made.group, made.actions)

    def add_subparsers(self, **settings: Any) -> Any:
        """Adds the argument that names a subcommand."""
        self.actions.append(action := super().add_subparsers(**settings))
        return action

    def _noting(self, group: Any, members: list[argparse.Action]) -> Any:
        """Wraps a group so that its arguments are recorded when they are added."""
        add = group.add_argument

        def noted(*names: Any, **settings: Any) -> argparse.Action:
            action = add(*names, **settings)
            self.actions.append(action)
            members.append(action)
            return action

        group.add_argument = noted
        return group

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: error: {_with_near(message)} (see {self.prog} --help)\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(unknown)}")
        return found

    def _hint(self, unknown: Sequence[str]) -> str:
        known = [name for action in self.actions for name in action.option_strings]
        option, equals, value = unknown[0].partition("=")
        data = next((name for name in _DATA if name in known), None)
        if not option.startswith("-") and data is not None:
            return f"; use {data} {unknown[0]}"
        if not option.startswith("--"):
            return ""
        if not equals and len(unknown) > 1 and not unknown[1].startswith("-"):
            equals, value = "=", unknown[1]
        if option in _DATA and data is not None:
            return f"; use {data} {value}".rstrip()
        if now := renamed(option, known, self.prog.rpartition(" ")[2], lambda name: f"--{name.replace('_', '-')}"):
            return f": {now}"
        own = self.hint(option.lstrip("-"), value if equals else None) if self.hint is not None else ""
        return own if own.startswith((":", "; use ")) else near(option, known)


_CHOICE = re.compile(r"(.*)invalid choice: '(.*?)' \(choose from (.*)\)", re.DOTALL)
"""The message of argparse for a value that is not one of the choices."""


def _with_near(message: str) -> str:
    """Adds the nearest choice to argparse's message about an invalid choice."""
    found = _CHOICE.fullmatch(message)
    if found is None:
        return message
    names = [each.strip("'") for each in found[3].split(", ")]
    return f"{found[1]}invalid choice: '{found[2]}'{near(found[2], names)} (choose from: {', '.join(names)})"


def metavar_of(action: argparse.Action) -> str:
    """Returns the placeholder for the value of an argument; empty for a flag."""
    if action.nargs == 0:
        return ""
    if action.metavar is not None:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def usage_of(parser: ArgumentParser) -> str:
    """Formats a command with its arguments and required options: `qmlir export MODEL --output FILE [options]`."""
    words = [parser.prog]
    for action in parser.actions:
        if not action.option_strings:
            word = metavar_of(action)
            words.append(f"[{word}]" if action.nargs in ("?", "*") else f"{word} …" if action.nargs == "+" else word)
    required = [action for action in parser.actions if action.option_strings and action.required]
    words.extend(f"{action.option_strings[0]} {metavar_of(action)}" for action in required)
    return " ".join([*words, "[options]"])


def add_force(add: Callable[..., Any]) -> None:
    """Adds the option `--force`, which every command that writes files has."""
    add(
        "--force", action="store_true",
        help="overwrite existing files that qmlir did not write; inputs are never overwritten",
    )  # fmt: skip


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, streams: Streams
) -> argparse.Namespace | int:
    """Returns the arguments, or the exit code if argparse has handled the command line."""
    try:  # argparse writes to the process's streams
        with redirect_stdout(streams.stdout), redirect_stderr(streams.stderr):
            return parser.parse_args(argv)
    except UsageError as error:
        streams.stderr.write(str(error))
        return 2
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2


def _flushed(code: int) -> int:
    """Flushes standard output, and returns the exit code, which is nonzero if that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if code == 0:
            sys.stderr.write(f"error: cannot write to standard output: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries again at exit
        return code or 1
    return code


def console(main: Callable[[], int]) -> NoReturn:
    """Runs the `main` of a tool as a process."""
    try:
        code = _flushed(main())
    except BrokenPipeError:
        # The reader is gone: nothing more can be printed, and Python must not try at exit.
        sys.stderr.close()
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


# The command line of `qmlir` up to the name of a subcommand.


@dataclass(frozen=True)
class Subcommand:
    """A subcommand of `qmlir`: its name, its summary in the help, and its `Command` (`qmlir.tools.command_runner`)."""

    name: str
    summary: str
    command: Named
    """The entry of the subcommand in the registry, which is imported when the subcommand is called."""


_EPILOG = """\
exit codes:
  0    done
  1    error in the model or the data, or an expectation or a limit failed
  2    wrong usage
  130  interrupted; no file is left half-written

examples:
  qmlir quantize model.onnx --data samples.npz -o out/
  qmlir compile out/ -o program/

'qmlir COMMAND --help' lists the options of a command. --config FILE reads options from a TOML file.
"""


def build_argument_parser(rows: Sequence[Subcommand]) -> tuple[ArgumentParser, Mapping[str, ArgumentParser]]:
    """Returns the parser of `qmlir` up to a subcommand's name, and an empty parser for each subcommand in `rows`."""
    parser = ArgumentParser(
        prog="qmlir",
        description="A quantizing compiler for neural networks.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"qmlir {version('qmlir')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    return parser, {row.name: commands.add_parser(row.name, help=row.summary, allow_abbrev=False) for row in rows}
