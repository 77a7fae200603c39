"""`qmlir lsp`: the language server for `.mlir` files, started by an editor."""

import argparse
import os
from importlib.util import find_spec

from qmlir.extensions import lsp
from qmlir.ir.messages import text_error
from qmlir.tools.command_runner import Command, Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir lsp`."""
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="read operations of unknown dialects")
    parser.add_argument(
        "--stdio", action="store_true", help="communicate over standard input and output (the only transport)"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Runs the server until the client disconnects."""
    if find_spec("pygls") is None:
        raise text_error("the language server requires pygls; run pip install 'qmlir[lsp]'")
    # The server closes its streams, so it gets copies of those of the process.
    given = session.stdin.fileno(), session.stdout.fileno()
    with open(os.dup(given[0]), "rb") as stdin, open(os.dup(given[1]), "wb") as stdout:
        lsp.serve(stdin, stdout, allow_unregistered=arguments.allow_unregistered_dialect)
    return 0


LSP = Command(add_arguments, run, examples=("lsp", "lsp --allow-unregistered-dialect"))
