"""`qmlir-opt`: reads a module, runs passes on it, and writes it; the tool of compiler developers.

IR goes to standard output (or `-o`), everything else to standard error. Exit codes: 0, done; 1, an error in the input,
a failed pass, or unexpected diagnostics; 2, wrong usage.
"""

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

from qmlir.text.files import check_exists
from qmlir.tools import running
from qmlir.tools.command import guarded
from qmlir.tools.options import build_argument_parser, parse_arguments
from qmlir.tools.stdio import Streams, console, main_with


def _version() -> str:
    return f"{version('qmlir')} (xdsl {version('xdsl')})"


def _run(argv: Sequence[str] | None, streams: Streams) -> int:
    parser = build_argument_parser()
    args = parse_arguments(parser, argv)
    if args.help or args.version:
        streams.stdout.write(parser.format_help() if args.help else f"qmlir-opt {_version()}\n")
        return 0
    if args.input != "-":
        check_exists(args.input)  # before the compiler is imported, which takes a while
    return running.run_opt(args, streams)


main = main_with(lambda argv, streams: guarded(streams, lambda: _run(argv, streams)))

console_main = partial(console, main)
"""The entry point of the `qmlir-opt` command."""
