"""`qmlir`: the command for users of models. The file of a subcommand is imported only when the subcommand is called.

Results go to standard output (or into a file), everything else to standard error.
"""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from qmlir import registry, tools
from qmlir.registry.faults import fault_listener
from qmlir.tools.stdio import Main, Streams, Subcommand, build_argument_parser, console, near, parse_arguments


def rows() -> tuple[Subcommand, ...]:
    """Returns all subcommands of the core, of extensions and of packages, in the order of the help."""
    told = {name: text for package in registry.packages() for name, text in package.rows("command_help")}
    return tuple(Subcommand(name, told.get(name, ""), each) for name, each in registry.named("commands").items())


def _run(argv: Sequence[str] | None, streams: Streams) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    # doctor lists the faults of packages itself
    with fault_listener(lambda _: None) if words[:1] == ["doctor"] else nullcontext():
        known_rows = rows()
    row = next((row for row in known_rows if words[:1] == [row.name]), None)
    if row is not None:
        return tools.run_command(row, words[1:], streams, known_rows)
    parser, known = build_argument_parser(known_rows)
    if not words:
        streams.stderr.write(parser.format_help())
        return 2
    if not words[0].startswith("-"):
        streams.stderr.write(f"qmlir: error: unknown command '{words[0]}'{near(words[0], known)} (see qmlir --help)\n")
        return 2
    code = parse_arguments(parser, words, streams)
    assert isinstance(code, int)  # without a command there is help, a version or an error
    return code


main = Main(_run)

console_main = partial(console, main)
"""The entry point of the `qmlir` command."""
