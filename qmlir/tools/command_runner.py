"""The framework of the subcommands of `qmlir`: command line, configuration and output.

Each file in `qmlir/tools/commands/` defines a `Command`. The framework adds the common options, reads the file named by
`--config`, and calls `run` with the arguments and a `Session`. A command prints its result with `Session.emit`, as text
or, with `--json`, as JSON.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from qmlir import registry
from qmlir.ir.limits import budgets
from qmlir.ir.messages import LINES, Diagnostic, Severity, printable, text_error
from qmlir.text.data import plain
from qmlir.text.diagnostics import render
from qmlir.text.files import access
from qmlir.tools.command import add_budgets, add_plugins, guarded, plugins_in
from qmlir.tools.configuration import configured, note_paths, write_configuration
from qmlir.tools.stdio import ArgumentParser, Streams, Subcommand, parse_arguments, usage_of


@dataclass(frozen=True)
class Session(Streams):
    """The streams of a command, its verbosity, and all available subcommands."""

    quiet: bool = False
    verbose: bool = False
    json: bool = False
    commands: Sequence[Subcommand] = ()

    @property
    def progress(self) -> IO[str] | None:
        """The `progress` argument for library functions: standard error, or `None` if the session is quiet."""
        return None if self.quiet else self.stderr

    def say(self, text: str) -> None:
        """Prints a line on standard error, unless the session is quiet."""
        if not self.quiet:
            self.stderr.write(f"{printable(text, LINES)}\n")

    def detail(self, text: str) -> None:
        """Prints a line on standard error if `--verbose` is given."""
        if self.verbose:
            self.say(text)

    def emit(self, value: Any, text: Callable[[], str], *, is_styled: bool = False) -> None:
        """Prints the result of a command: `text()`, or, with `--json`, `value` as JSON (converted by `plain`).

        Unprintable characters are escaped, unless `is_styled` states that the text contains escape sequences.
        """
        written = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) if self.json else text()
        if self.json or not is_styled:
            written = printable(written, LINES)
        try:
            self.stdout.write(written if written.endswith("\n") or not written else f"{written}\n")
        except BrokenPipeError:  # the reader is gone, which is not the command's concern
            raise
        except OSError as error:
            raise text_error(f"cannot write to standard output: {error.strerror}") from error


@dataclass(frozen=True)
class Command:
    """A subcommand: its arguments, and the function that runs it, a lambda if that must be imported late.

    `run` returns the exit code: 0, or 1 if an expectation or a bound fails. It raises `DiagnosticError` for errors in a
    model or data, and `UsageError` for errors in the command line.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Session], int]
    epilog: str = ""
    examples: Sequence[str] = ()
    """Example command lines for the end of the help, without the leading `qmlir`."""


_GROUPS = {
    "data": ("--preprocess", "--samples", "--labels", "--scores", "--axis", "--constants", "--observer"),
    "types": (),
    "accuracy": (),
    "training": (),
    "partitioning": (),
    "output": (
        "--force", "--emit", "--name", "--max-code", "--max-weights", "--max-arena", "--title", "--no-time", "--sort",
        "--worst", "--parts",
    ),
    "machine": ("--device", "--isa", "--threads", "--codegen", "--triple", "--cpu", "--features", "--no-tuned"),
    "ONNX import": ("--shape", "--cut-inputs", "--cut-outputs", "--no-fallback", "--strip-training", "--keep-casts"),
    "ONNX export": (),
    "advanced": ("--cluster", "--resume", "--processes", "--state", "--passes", "--function", "--batch-size"),
}  # fmt: skip
"""The groups of options in the help; other options of a command precede them."""


def command_of(row: Subcommand) -> Command:
    """Imports the file of a subcommand, and returns its `Command`. Raises `PackageError` if it cannot be loaded."""
    return row.command.load(Command)


def fill_parser(parser: ArgumentParser, row: Subcommand) -> None:
    """Adds the arguments of a subcommand and the common options to `parser`."""
    command = command_of(row)
    parser.description = f"{row.summary[:1].upper()}{row.summary[1:]}."
    lines = "".join(f"  qmlir {each}\n" for each in command.examples)
    parser.epilog = "\n".join(filter(None, (command.epilog, f"examples:\n{lines}" if lines else ""))) or None
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_groups(_GROUPS)
    command.add_arguments(parser)
    parser.usage = usage_of(parser)
    group = parser.add_argument_group("common options")
    group.add_argument("--quiet", action="store_true", help="print only results, warnings and errors")
    group.add_argument("--verbose", action="store_true", help="print more details")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    add_plugins(group.add_argument)
    add_budgets(group.add_argument)
    group.add_argument("--config", metavar="FILE", help="read options from a TOML file")
    group.add_argument("--write-config", action="store_true", help="write these options to the --config file and exit")


def build_parser(row: Subcommand) -> ArgumentParser:
    """Returns the parser of a subcommand."""
    parser = ArgumentParser(prog=f"qmlir {row.name}", allow_abbrev=False)
    fill_parser(parser, row)
    return parser


def _shown(diagnostic: Diagnostic, *, verbose: bool) -> str:
    """Formats a diagnostic for a user: one line, no remarks, and no IR unless `verbose` is set."""
    if verbose:
        return render(diagnostic)
    return "" if diagnostic.severity is Severity.REMARK else render(replace(diagnostic.for_caller(), op=None))


def run_command(row: Subcommand, argv: Sequence[str], streams: Streams, rows: Sequence[Subcommand]) -> int:
    """Runs the subcommand `row`, one of `rows`, with the arguments `argv` after its name; returns the exit code."""
    arguments = argparse.Namespace(verbose=False)

    def run() -> int:
        with registry.plugged(map(registry.plugin, plugins_in(argv))):
            return run_with_plugins()

    def run_with_plugins() -> int:
        nonlocal arguments
        found = configured(
            lambda: build_parser(row), row.name, [each.name for each in rows],
            lambda each: parse_arguments(each, argv, streams),
            lambda text: streams.stderr.write(f"{printable(text)}\n"),
        )  # fmt: skip
        if isinstance(found, int):
            return found
        arguments = found
        session = Session(
            streams.stdin, streams.stdout, streams.stderr, found.quiet, found.verbose, found.json, rows
        )  # fmt: skip
        if found.write_config:
            session.say(f"wrote {write_configuration(build_parser(row), row.name, found)}")
            return 0
        with budgets(dict(found.limit)), access(force=getattr(found, "force", False)):
            note_paths(build_parser(row), found)
            return command_of(row).run(found, session)

    return guarded(streams, run, lambda diagnostic: _shown(diagnostic, verbose=arguments.verbose))
