"""What every command line tool does alike: arguments, streams, one-line errors, exit codes.

0: done; 1: something is wrong with the input; 2: wrong usage; 130: interrupted.
"""

import argparse
import errno
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import IO, Protocol

from qmlir.ir.budgets import out_of_memory
from qmlir.ir.diagnostics import LINES, Diagnostic, DiagnosticError, Severity, diagnostic_handler, printable
from qmlir.registry import PackageError
from qmlir.text.diagnostics import render
from qmlir.text.parsing import STDIN
from qmlir.tools.streams import Streams, UsageError, parse_arguments
from qmlir.tools.streams import console as console

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""A disk is full, or what the user may write: it can happen wherever something is written, and is nobody's fault."""


@contextmanager
def _warnings_told(say: Callable[[Diagnostic], None]) -> Generator[None]:
    """Inside, a warning of Python's is one of the tool's: a line without the place in the source that raised it."""

    def told(message: Warning | str, *place: object, **where: object) -> None:
        say(Diagnostic(Severity.WARNING, str(message)))

    with warnings.catch_warnings():
        warnings.showwarning = told
        yield


def guarded(streams: Streams, body: Callable[[], int], show: Callable[[Diagnostic], str] = render) -> int:
    """The exit code of `body`; what is said on the way and what ends it goes to standard error, by `show`."""

    def say(diagnostic: Diagnostic) -> None:
        streams.stderr.write(show(diagnostic))

    with diagnostic_handler(say), _warnings_told(say):
        try:
            return body()
        except UsageError as error:
            streams.stderr.write(printable(str(error), LINES))
            return 2
        except DiagnosticError as error:
            say(error.diagnostic)
        except PackageError as error:
            say(Diagnostic(Severity.ERROR, str(error)))
        except MemoryError as error:
            say(Diagnostic(Severity.ERROR, out_of_memory(error)))
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            where = f" '{error.filename}'" if error.filename else ""
            say(Diagnostic(Severity.ERROR, f"cannot write{where}: {error.strerror}"))
        except UnicodeDecodeError as error:
            say(Diagnostic(Severity.ERROR, f"cannot read {STDIN}: byte {error.start} is no UTF-8 text"))
    return 1


def run_command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    streams: Streams,
    body: Callable[[argparse.Namespace, Streams], int],
) -> int:
    """Parse the arguments, run `body`, and write what is said on the way to standard error; the exit code."""

    def run() -> int:
        arguments = parse_arguments(parser, argv, streams)
        return arguments if isinstance(arguments, int) else body(arguments, streams)

    return guarded(streams, run)


class Main(Protocol):
    """The `main` of a tool: its exit code; the streams default to the process's own."""

    def __call__(
        self,
        argv: Sequence[str] | None = None,
        *,
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        stderr: IO[str] | None = None,
    ) -> int: ...


def main_of(
    build_parser: Callable[[], argparse.ArgumentParser], body: Callable[[argparse.Namespace, Streams], int]
) -> Main:
    """The `main` of a tool whose arguments `build_parser` reads and whose work `body` does."""

    def main(
        argv: Sequence[str] | None = None,
        *,
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        stderr: IO[str] | None = None,
    ) -> int:
        return run_command(build_parser(), argv, Streams.of(stdin, stdout, stderr), body)

    return main
