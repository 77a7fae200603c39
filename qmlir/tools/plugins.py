"""Options of all tools that read modules or run passes: plug-ins, limits, and dialects from IRDL files."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.irdl import DialectOp
from xdsl.interpreters.irdl import make_dialect
from xdsl.universe import Universe

from qmlir.environment import Environment
from qmlir.ir.diagnostics import text_error
from qmlir.ir.limits import BUDGETS
from qmlir.registry import Package
from qmlir.text.parsing import load_module

# The options `--load-plugin` and `--limit` of all tools that read modules or run passes.
#
# The limits are defined in `qmlir.ir.limits`. `add` is the method `add_argument` of a parser or a group.


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


# Loading of dialects from IRDL files, which define operations and types in text form.


def load_irdl(environment: Environment, path: Path) -> None:
    """Adds the dialects that an IRDL file defines to `environment`. Raises `DiagnosticError` if it defines none."""
    module = load_module(environment.new_context(), path)
    dialects = [make_dialect(op) for op in module.walk() if isinstance(op, DialectOp)]
    if not dialects:
        raise text_error(f"'{path}' does not define a dialect")
    environment.add(Package(str(path)), Universe(all_dialects={each.name: lambda each=each: each for each in dialects}))
