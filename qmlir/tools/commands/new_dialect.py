"""`qmlir new-dialect`: creates a package for a new dialect, with all rooms, tests and CI."""

import argparse
from pathlib import Path

from qmlir.tools.frame import Command, Session
from qmlir.tools.layout import write_package


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir new-dialect`."""
    parser.add_argument("name", metavar="NAME", help="the name of the dialect: lower-case letters, digits and _")
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder to write (default: qmlir-NAME)")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Write the package, and say what to do next."""
    folder = Path(arguments.output or f"qmlir-{arguments.name.replace('_', '-')}")
    written = write_package(arguments.name, folder)
    session.emit(
        {"folder": str(folder), "files": written},
        lambda: f"{folder}: {len(written)} files. Next: cd {folder} && pip install -e '.[dev]' && pytest",
    )
    return 0


NEW_DIALECT = Command(add_arguments, run)
