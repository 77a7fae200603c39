"""The command line of `qmlir` up to the name of a subcommand. This module does not import the compiler."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from qmlir.registry import Named
from qmlir.tools.stdio import ArgumentParser


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
