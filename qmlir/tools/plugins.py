"""The options `--load-plugin` and `--limit` of all tools that read modules or run passes.

The limits are defined in `qmlir.ir.limits`. `add` is the method `add_argument` of a parser or a group.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from qmlir.ir.limits import BUDGETS


def _row(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or name not in BUDGETS or not number.isdecimal():
        samples = "; for a number of samples, use --samples" if text.isdecimal() else ""
        raise argparse.ArgumentTypeError(
            f"'{text}' must be NAME=NUMBER (available names: {', '.join(BUDGETS)}){samples}"
        )
    return name, int(number)


def add_budgets(add: Callable[..., Any]) -> None:
    """Adds the option `--limit NAME=N`."""
    numbers = ", ".join(f"{name}={each.default}" for name, each in BUDGETS.items())
    add(
        "--limit", action="append", default=[], type=_row, metavar="NAME=N",
        help=f"raise or lower a resource limit (repeatable; defaults: {numbers})",
    )  # fmt: skip


def add_plugins(add: Callable[..., Any]) -> None:
    """Adds the option `--load-plugin PLUGIN`."""
    add(
        "--load-plugin", action="append", default=[], metavar="PLUGIN",
        help="load a dialect, pass, Contribution or Universe: module:object, or a module or file.py that defines "
        "UNIVERSE or CONTRIBUTION (repeatable)",
    )  # fmt: skip


def plugins_in(argv: Sequence[str]) -> list[str]:
    """Returns the plug-ins on a command line. They are loaded first, because they may add choices to other options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_plugins(parser.add_argument)
    try:
        return parser.parse_known_args(list(argv))[0].load_plugin
    except argparse.ArgumentError:  # the parser of the whole command line reports it
        return []
