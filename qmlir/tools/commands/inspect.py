"""`qmlir inspect`: describes a model, as a whole and layer by layer."""

import argparse
from dataclasses import replace

from qmlir import inspect
from qmlir.text.plain import plain
from qmlir.tools.arguments import IMPORT, add_model, add_options, import_settings, load_model
from qmlir.tools.frame import Command, Session
from qmlir.workflows.inspection.layers import SORTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir inspect`."""
    add_model(parser)
    add_options(parser, *IMPORT, "--keep-casts")
    parser.add_argument("--sort", choices=list(SORTS), default="", help="sort layers by this column, largest first")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Print the description. Raises `DiagnosticError` for a model that cannot be read."""
    found = inspect(load_model(arguments.model, session, **import_settings(arguments)))
    if arguments.sort:
        found = replace(found, layers=tuple(sorted(found.layers, key=SORTS[arguments.sort], reverse=True)))
    share = found.integer_share
    value = {**plain(found), "integer_share": share, "kept": found.kept, "decomposed": found.decomposed}
    session.emit(value, found.text)
    return 0


INSPECT = Command(add_arguments, run)
