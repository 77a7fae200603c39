"""`qmlir`: the door for users. One row for each subcommand; the file of the one that is asked for is imported.

Results go to standard output (or into a file), everything else to standard error.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from typing import IO, Any, NoReturn

from qmlir import tools
from qmlir.tools.streams import ArgumentParser, Streams, console, parse_arguments


@dataclass(frozen=True)
class Subcommand:
    """A subcommand: its name, and what it is for. Its file has the same name, with `_` for `-`."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """The module that has its `COMMAND`."""
        return f"qmlir.tools.commands.{self.name.replace('-', '_')}"


ROWS: tuple[Subcommand, ...] = (
    Subcommand("quantize", "quantize a float model by samples"),
    Subcommand("compile", "compile a model into a program that needs NumPy and numba only"),
    Subcommand("export", "write a model or a module as an ONNX model"),
    Subcommand("run", "run a model, a module or a saved program"),
    Subcommand("profile", "run a model on samples and write the ranges of its values"),
    Subcommand("compare", "compare two models layer by layer"),
    Subcommand("bench", "time a model, ours and in other runtimes"),
    Subcommand("search", "find the layers that need 16 bits, or do with 4, for an accuracy to hold"),
    Subcommand("tune", "find faster schedules of a model's kernels on this machine"),
    Subcommand("inspect", "say what a model is: layers, types, ranges, multiply-adds and bytes"),
    Subcommand("explain", "say why a node is quantized as it is, and what became of it"),
    Subcommand("partition", "divide a quantized model among targets, and say why the rest stays"),
    Subcommand("report", "write what quantization did to a model as a page of HTML"),
    Subcommand("new-dialect", "lay out a package for a dialect of your own, with its tests and CI"),
    Subcommand("doctor", "say what is installed here, and whether it works"),
    Subcommand("completion", "print a script that completes commands and options in a shell"),
)
"""Every subcommand, in the order of the help."""

_EPILOG = """\
exit codes:
  0    done
  1    something is wrong with the model or the data, or an expectation or a bound fails
  2    wrong usage
  130  interrupted; nothing is left half-written

A file qmlir.toml in the working directory may hold what the options say: a table for each command, and [common]. One
beside the model is read where there is none; it may say how to quantize, and nothing else.
"""


def command_of(row: Subcommand) -> Any:
    """The `Command` of a row; its file is imported."""
    return import_module(row.module).COMMAND


def build_argument_parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The command line of `qmlir` down to the name of the subcommand, and the empty parser of each."""
    parser = ArgumentParser(
        prog="qmlir",
        description="A quantizing compiler for neural networks.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"qmlir {version('qmlir')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    return parser, {row.name: commands.add_parser(row.name, help=row.summary, allow_abbrev=False) for row in ROWS}


def main(
    argv: Sequence[str] | None = None,
    *,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run `qmlir` with `argv` and return its exit code; the streams default to the process's own."""
    streams = Streams.of(stdin, stdout, stderr)
    words = sys.argv[1:] if argv is None else list(argv)
    row = next((row for row in ROWS if words[:1] == [row.name]), None)
    if row is None:
        parser, commands = build_argument_parser()
        if not words:
            streams.stderr.write(parser.format_help())
            return 2
        if not words[0].startswith("-"):
            near = "".join(f", did you mean '{name}'?" for name in get_close_matches(words[0], commands, 1))
            streams.stderr.write(f"qmlir: error: there is no command '{words[0]}'{near} (see qmlir --help)\n")
            return 2
        code = parse_arguments(parser, words, streams)
        assert isinstance(code, int)  # without a command there is help, a version or an error
        return code
    return tools.run_command(command_of(row), words[1:], streams, [each.name for each in ROWS])


def console_main() -> NoReturn:
    """The entry point of the `qmlir` command."""
    console(main)
