"""What every command line tool does alike: arguments, streams, one-line errors, exit codes.

0: done; 1: something is wrong with the input; 2: wrong usage; 130: interrupted.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, NoReturn, Protocol

from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.text.diagnostics import render
from qmlir.text.parsing import STDIN


@dataclass(frozen=True)
class Streams:
    """Where a tool reads and writes."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]

    @staticmethod
    def of(stdin: IO[str] | None = None, stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> "Streams":
        """The given streams; the process's own for those that are left out."""
        return Streams(
            sys.stdin if stdin is None else stdin,
            sys.stdout if stdout is None else stdout,
            sys.stderr if stderr is None else stderr,
        )


def parse_arguments(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, streams: Streams
) -> argparse.Namespace | int:
    """The arguments, or the exit code where argparse has said all there is to say."""
    real = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams.stdout, streams.stderr  # argparse writes to the process's streams
    try:
        return parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    finally:
        sys.stdout, sys.stderr = real


def run_command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    streams: Streams,
    body: Callable[[argparse.Namespace, Streams], int],
) -> int:
    """Parse the arguments, run `body`, and write what is said on the way to standard error; the exit code."""

    def say(diagnostic: Diagnostic) -> None:
        streams.stderr.write(render(diagnostic))

    with diagnostic_handler(say):
        try:
            arguments = parse_arguments(parser, argv, streams)
            return arguments if isinstance(arguments, int) else body(arguments, streams)
        except DiagnosticError as error:
            say(error.diagnostic)
        except UnicodeDecodeError as error:
            say(Diagnostic(Severity.ERROR, f"cannot read {STDIN}: byte {error.start} is no UTF-8 text"))
    return 1


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


def console(main: Callable[[], int]) -> NoReturn:
    """Run the `main` of a tool as a process."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone: nothing more can be said, and Python must not try at exit.
        sys.stderr.close()
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
