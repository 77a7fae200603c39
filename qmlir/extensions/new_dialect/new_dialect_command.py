"""`qmlir new-dialect`: creates a package for a new dialect, with all its files, tests and CI."""

import argparse

from qmlir.extensions import new_dialect
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir new-dialect`."""
    parser.add_argument("name", metavar="NAME", help="name of the dialect: lower-case letters, digits and _")
    parser.add_argument("-o", "--output", metavar="DIR", help="output folder (default: qmlir-NAME)")


NEW_DIALECT = Command(
    add_arguments,
    lambda arguments, session: new_dialect.run_new_dialect(arguments, session),
    examples=("new-dialect edge_npu", "new-dialect edge_npu -o packages/edge_npu"),
)
