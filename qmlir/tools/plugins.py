"""`--load-plugin`, in every tool that reads modules or runs passes."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any


def add_plugins(add: Callable[..., Any]) -> None:
    """The option; `add` is the `add_argument` of a parser or of a group."""
    add(
        "--load-plugin", action="append", default=[], metavar="PLUGIN",
        help="add a Contribution, a Universe, a dialect or a pass, as module:object, or the UNIVERSE and the "
        "CONTRIBUTION of a module or of a file.py (may be repeated)",
    )  # fmt: skip


def plugins_in(argv: Sequence[str]) -> list[str]:
    """What a command line says of plug-ins: they are loaded first, since they may add choices of other options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_plugins(parser.add_argument)
    try:
        return parser.parse_known_args(list(argv))[0].load_plugin
    except argparse.ArgumentError:  # the parser of the whole command line reports it
        return []
