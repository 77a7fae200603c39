"""The page of commands, from their argument parsers: what each takes, its options with values and defaults.

The text is made here, not by argparse, whose own differs from one version of Python to the next.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from docs.generator.markdown import GENERATED, block, code, table
from qmlir.tools import options, qmlir_cli, qmlir_translate
from qmlir.tools.frame import build_parser
from qmlir.tools.streams import actions_of, metavar_of, usage_of

_CODES = (
    ("0", "done"),
    ("1", "something is wrong with the model or the data, or an expectation or a bound fails"),
    ("2", "wrong usage"),
    ("130", "interrupted; nothing is half-written"),
)


def _actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
    return [
        action for action in actions_of(parser) if not isinstance(action, hidden) and action.help != argparse.SUPPRESS
    ]


def subcommands() -> Iterator[argparse.ArgumentParser]:
    """The parser of each subcommand of `qmlir`."""
    return (build_parser(row) for row in qmlir_cli.ROWS)


def _written(action: argparse.Action) -> str:
    value = metavar_of(action)
    if not action.option_strings:
        return code(value)
    return ", ".join(code(f"{option} {value}" if value else option) for option in action.option_strings)


def _default(action: argparse.Action) -> str:
    default: Any = action.default
    if action.required and action.option_strings:
        return "required"
    if action.nargs == 0 or default in (None, "", argparse.SUPPRESS) or default == []:
        return ""
    return code(",".join(map(str, default)) if type(default) in (list, tuple) else str(default))


def _help(action: argparse.Action) -> str:
    values = {**vars(action), "prog": ""}
    text = (action.help or "") % values
    return text.replace("<", "&lt;").replace("*", "\\*")


def _section(level: int, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"{'#' * level} {code(parser.prog)}"
    yield block("text", usage_of(parser)).rstrip()
    if parser.description:
        yield parser.description
    rows = [(_written(action), _default(action), _help(action)) for action in _actions(parser)]
    if rows:
        yield table(("argument", "default", "description"), rows).rstrip()
    if parser.epilog:
        yield block("text", parser.epilog).rstrip()


def page() -> str:
    """The page."""
    rows = [(f"[`qmlir {row.name}`](#qmlir-{row.name})", row.summary) for row in qmlir_cli.ROWS]
    parts = [
        GENERATED,
        "# Commands",
        "The arguments of each command, as `--help` prints them. Results go to standard output or into files,\n"
        "everything else to standard error.",
        table(("exit code", "meaning"), _CODES).rstrip(),
        "## `qmlir`",
        table(("command", "what it does"), rows).rstrip(),
        *(part for parser in subcommands() for part in _section(3, parser)),
        *_section(2, options.build_argument_parser()),
        *_section(2, qmlir_translate.build_argument_parser()),
    ]
    return "\n\n".join(parts) + "\n"
