"""`qmlir completion`: prints a shell script that completes commands, options, choices and files.

source <(qmlir completion bash)
"""

import argparse
from collections.abc import Sequence

import shtab

from qmlir.tools.command_runner import Command, Session, fill_parser
from qmlir.tools.configuration import DIR, PATHS
from qmlir.tools.stdio import Subcommand, build_argument_parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir completion`."""
    parser.add_argument("shell", choices=list(shtab.SUPPORTED_SHELLS), metavar="SHELL", help="shell: %(choices)s")


def _mark(action: argparse.Action) -> None:
    """Enables file completion for arguments that take files: models, and arguments with the metavar of a path."""
    is_model = not action.option_strings and action.choices is None
    if is_model or action.metavar in PATHS:
        action.complete = shtab.DIRECTORY if action.metavar == DIR else shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]


def script(shell: str, rows: Sequence[Subcommand]) -> str:
    """Returns the script for `shell`, with the commands of `rows`."""
    parser, commands = build_argument_parser(rows)
    for row in rows:
        fill_parser(commands[row.name], row)
        for action in commands[row.name].actions:
            _mark(action)
    return shtab.complete(parser, shell)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Prints the completion script for the given shell."""
    text = script(arguments.shell, session.commands)
    session.emit({"shell": arguments.shell, "script": text}, lambda: text)
    return 0


COMPLETION = Command(
    add_arguments,
    run,
    epilog='In ~/.bashrc: source <(qmlir completion bash). For zsh: qmlir completion zsh > "${fpath[1]}/_qmlir"',
    examples=("completion bash", "completion zsh"),
)
