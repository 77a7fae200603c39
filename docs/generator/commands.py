"""The pages of commands, from their argument parsers: one for each command, and one for the options that many share.

The text is made here, not by argparse, whose own differs from one version of Python to the next.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from docs.generator.markdown import GENERATED, block, code, table
from qmlir.tools import qmlir_cli, qmlir_opt, qmlir_translate
from qmlir.tools.command_runner import build_parser
from qmlir.tools.stdio import ArgumentParser, metavar_of, usage_of

_CODES = (
    ("0", "done"),
    ("1", "something is wrong with the model or the data, or an expectation or a bound fails"),
    ("2", "wrong usage"),
    ("130", "interrupted; nothing is half-written"),
)
_SHARED = "shared-options.md"
_LEAST = 3
"""Number of commands from which on an option is explained once, on the page of shared options."""
_EXAMPLES = "examples:\n"
_TITLES = {"positional arguments": "Arguments", "options": "Arguments", "common options": "All commands"}
"""Headings for the groups of options that argparse and `qmlir.tools.command_runner` name."""

Row = tuple[str, str]
"""An argument as it is written, and its description."""


def _actions(parser: ArgumentParser) -> Sequence[argparse.Action]:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
    return [action for action in parser.actions if not isinstance(action, hidden) and action.help != argparse.SUPPRESS]


def subcommands() -> Iterator[ArgumentParser]:
    """The parser of each subcommand of `qmlir`."""
    return (build_parser(row) for row in qmlir_cli.rows())


def parsers() -> Iterator[ArgumentParser]:
    """The parser of each page: the subcommands of `qmlir`, `qmlir-opt` and `qmlir-translate`."""
    yield from subcommands()
    yield qmlir_opt.build_argument_parser()
    yield qmlir_translate.build_argument_parser()


def page_of(parser: ArgumentParser) -> str:
    """The name of the page of a parser: `quantize.md` for `qmlir quantize`."""
    return f"{parser.prog.removeprefix('qmlir ')}.md"


def examples_of(parser: ArgumentParser) -> list[str]:
    """The command lines at the end of the help."""
    return [line.strip() for line in (parser.epilog or "").partition(_EXAMPLES)[2].splitlines()]


def _written(action: argparse.Action) -> str:
    value = metavar_of(action)
    if not action.option_strings:
        return code(value)
    return ", ".join(code(f"{option} {value}" if value else option) for option in action.option_strings)


def _default(action: argparse.Action) -> str:
    default: Any = action.default
    if action.nargs == 0 or default in (None, "", argparse.SUPPRESS) or default == []:
        return ""
    return code(",".join(map(str, default)) if type(default) in (list, tuple) else str(default))


def _row(action: argparse.Action) -> Row:
    values = {**vars(action), "prog": ""}
    text = ((action.help or "") % values).replace("<", "&lt;").replace("*", "\\*")
    if action.required and action.option_strings:
        text += " (required)"
    elif "default" not in text and (default := _default(action)):
        text += f" (default: {default})"
    return _written(action), text


def _heading(title: str) -> str:
    return _TITLES.get(title, title[:1].upper() + title[1:])


def _ordered(groups: Mapping[str, list[Row]], order: Iterable[str]) -> dict[str, list[Row]]:
    """The groups of `order` first, the others as they come."""
    return {group: groups[group] for group in dict.fromkeys((*order, *groups)) if group in groups}


def _groups(parser: ArgumentParser) -> dict[str, list[Row]]:
    """The arguments of a parser by the heading of their group."""
    groups: dict[str, list[Row]] = {}
    for action in _actions(parser):
        title = vars(action)["container"].title or "options"
        groups.setdefault(_heading(title), []).append(_row(action))
    order = ["options", *parser.groups]
    return _ordered(groups, map(_heading, order))


def _shared() -> dict[str, list[Row]]:
    """The options that at least `_LEAST` commands have in one group, with one description."""
    found = [_groups(parser) for parser in parsers()]
    counts = Counter((group, row) for groups in found for group, rows in groups.items() for row in rows)
    groups: dict[str, list[Row]] = {}
    for (group, row), count in counts.items():
        if count >= _LEAST and group != _heading("options"):
            groups.setdefault(group, []).append(row)
    return _ordered(groups, max(found, key=len))


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _page(parser: ArgumentParser, shared: Mapping[str, Sequence[Row]]) -> str:
    positions = {row: group for group, rows in shared.items() for row in rows}
    text = (parser.epilog or "").partition(_EXAMPLES)[0].strip()
    parts = [GENERATED, f"# {code(parser.prog)}", parser.description or "", block("text", usage_of(parser)).rstrip()]
    parts.append(block("sh", "\n".join(examples_of(parser))).rstrip())
    if text:
        parts.append(f"{text[:1].upper()}{text[1:]}.")
    elsewhere: dict[str, list[str]] = {}
    for group, rows in _groups(parser).items():
        own = [row for row in rows if row not in positions]
        for row in rows:
            if row in positions:
                elsewhere.setdefault(positions[row], []).append(code(row[0].split("`")[1].split()[0]))
        if own:
            parts.append(f"## {group}")
            parts.append(table(("argument", "description"), own).rstrip())
    if elsewhere:
        links = [f"- [{group}]({_SHARED}#{_anchor(group)}): {', '.join(names)}" for group, names in elsewhere.items()]
        parts.extend(("## Shared options", "\n".join(links)))
    return "\n\n".join(filter(None, parts)) + "\n"


def _shared_page(shared: Mapping[str, Sequence[Row]]) -> str:
    parts = [
        GENERATED,
        "# Shared options",
        f"Options that at least {_LEAST} [commands](../commands.md) have. The page of a command lists which.",
    ]
    for group, rows in shared.items():
        parts.extend((f"## {group}", table(("option", "description"), rows).rstrip()))
    return "\n\n".join(parts) + "\n"


def _index() -> str:
    rows = [(f"[`qmlir {row.name}`](commands/{row.name}.md)", row.summary) for row in qmlir_cli.rows()]
    for tool in (qmlir_opt, qmlir_translate):
        parser = tool.build_argument_parser()
        summary = (parser.description or "").rstrip(".")
        rows.append((f"[`{parser.prog}`](commands/{page_of(parser)})", f"{summary[:1].lower()}{summary[1:]}"))
    pages = "".join(f"commands/{page_of(parser).removesuffix('.md')}\n" for parser in parsers())
    parts = [
        GENERATED,
        "# Commands",
        "A page for each command: its arguments, as `--help` prints them, with two examples. [Shared\n"
        f"options](commands/{_SHARED}) has the options that many commands have. Results go to standard output or into\n"
        "files, everything else to standard error.",
        table(("command", "what it does"), rows).rstrip(),
        "## Exit codes",
        table(("exit code", "meaning"), _CODES).rstrip(),
        block("{toctree}", f":hidden:\n\n{pages}commands/{_SHARED.removesuffix('.md')}").rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """The page of each command, the page of shared options, and the one that lists them."""
    shared = _shared()
    own = {f"commands/{page_of(parser)}": _page(parser, shared) for parser in parsers()}
    return {"commands.md": _index(), f"commands/{_SHARED}": _shared_page(shared), **own}
