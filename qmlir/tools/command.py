"""Common behavior of the command line tools: arguments, streams, one-line errors, exit codes.

Exit codes: 0, done; 1, an error in the input; 2, wrong usage; 130, interrupted.
"""

import argparse
import errno
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.utils.exceptions import DiagnosticException

from qmlir.ir.limits import BUDGETS, out_of_memory
from qmlir.ir.messages import LINES, Diagnostic, DiagnosticError, Severity, diagnostic_handler, printable
from qmlir.registry import PackageError
from qmlir.text.diagnostics import render
from qmlir.text.files import shown_path
from qmlir.text.sources import STDIN
from qmlir.tools.stdio import Main, Streams, UsageError, parse_arguments
from qmlir.tools.stdio import console as console

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""A full disk, a quota or a limit of file sizes: any write may fail with these, through no fault of the tool."""

_NO_PATH = {errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP}
"""Errors of looking up a path: a name that is too long, a folder without permission, a cycle of links."""


@contextmanager
def _warnings_told(say: Callable[[Diagnostic], None]) -> Generator[None]:
    """Inside the `with` block, reports a Python warning as one line, without the source line that raised it."""

    def told(message: Warning | str, *position: object, **where: object) -> None:
        say(Diagnostic(Severity.WARNING, str(message)))

    with warnings.catch_warnings():
        warnings.showwarning = told
        yield


def guarded(streams: Streams, body: Callable[[], int], show: Callable[[Diagnostic], str] = render) -> int:
    """Runs `body`, and returns its exit code. Prints its diagnostics, and any error, on stderr, formatted by `show`."""

    def say(diagnostic: Diagnostic) -> None:
        streams.stderr.write(show(diagnostic))

    with diagnostic_handler(say), _warnings_told(say):
        try:
            return body()
        except UsageError as error:
            streams.stderr.write(printable(str(error), LINES))
            return 2
        except DiagnosticError as error:
            for each in error.diagnostics:
                say(each)
        except PackageError as error:
            say(Diagnostic(Severity.ERROR, str(error)))
        except DiagnosticException as error:  # raised by xDSL: the lines after the first are the IR
            say(Diagnostic(Severity.ERROR, str(error).splitlines()[0]))
        except MemoryError as error:
            say(Diagnostic(Severity.ERROR, out_of_memory(error)))
        except OSError as error:
            if error.errno not in _NO_ROOM | _NO_PATH:
                raise
            where = f" {shown_path(str(error.filename))}" if error.filename else ""
            what = "write" if error.errno in _NO_ROOM else "use"
            say(Diagnostic(Severity.ERROR, f"cannot {what}{where}: {error.strerror}"))
        except UnicodeDecodeError as error:
            say(Diagnostic(Severity.ERROR, f"cannot read {STDIN}: byte {error.start} is not UTF-8 text"))
    return 1


def main_of(
    build_parser: Callable[[], argparse.ArgumentParser], body: Callable[[argparse.Namespace, Streams], int]
) -> Main:
    """Returns the `main` of a tool that parses its arguments with `build_parser` and runs `body`."""

    def run(argv: Sequence[str] | None, streams: Streams) -> int:
        arguments = parse_arguments(build_parser(), argv, streams)
        return arguments if isinstance(arguments, int) else body(arguments, streams)

    return Main(lambda argv, streams: guarded(streams, lambda: run(argv, streams)))


# The options `--load-plugin` and `--limit` of all tools that read modules or run passes. The limits are defined in
# `qmlir.ir.limits`. `add` is the method `add_argument` of a parser or a group.


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
