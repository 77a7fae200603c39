"""`qmlir compile`: compiles a model into a program, a folder that needs NumPy and numba or llvmlite to run.

For other targets, the folder contains the partitioned module, and the output of each target for its parts. With
`--emit`, it contains a program that runs without Python, such as C code.
"""

import argparse
from collections.abc import Mapping
from typing import Protocol

from qmlir import registry
from qmlir.targets.cpu.choices import NUMBA, emitter_names
from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output, parse_bytes
from qmlir.tools.command_runner import Command, Session

LIMITS: Mapping[str, str] = {
    "--max-code": "machine code",
    "--max-weights": "weight memory",
    "--max-arena": "scratch memory",
}
"""The sizes of a program that can be limited, by option."""


class EmissionService(Protocol):
    """The service `emission`, which writes programs without Python for `--emit`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--emit` and the options of its formats."""
        ...

    def is_asked_for(self, arguments: argparse.Namespace) -> bool:
        """Returns true if `--emit` names a format. Raises `DiagnosticError` for options of another format."""
        ...

    def run(self, arguments: argparse.Namespace, session: Session) -> int:
        """Writes the program, and returns the exit code. Raises `DiagnosticError`."""
        ...


def emission_service() -> EmissionService | None:
    """Returns the service, if a package provides it."""
    return registry.service("emission")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir compile`."""
    add_model(parser)
    add_output(parser, "output folder of the program", required=True, metavar="DIR")
    add_options(parser, *IMPORT, "--keep-casts", "--threads", "--isa", "--device")
    parser.add_argument(
        "--max-size", action="append", default=[], metavar="SIZE=MAX",
        help="maximum size of a dynamic dimension, as in sequence=256, or its buckets, sequence=16x64 (repeatable)",
    )  # fmt: skip
    parser.add_argument("--no-tuned", action="store_true", help="ignore schedules found by qmlir tune")
    parser.add_argument(
        "--codegen", choices=emitter_names(), default=NUMBA,
        help="code generator: numba, or llvm, which compiles faster and needs no numba at run time",
    )  # fmt: skip
    if (emission := emission_service()) is not None:
        emission.add_arguments(parser)
    parser.add_argument("--function", default="main", metavar="NAME", help="function to compile (default: main)")
    for option, what in LIMITS.items():
        parser.add_argument(
            option, type=parse_bytes, metavar="BYTES", help=f"fail if {what} exceeds BYTES: 65536, 256K, 4M"
        )


COMPILE = Command(
    add_arguments,
    lambda arguments, session: running.run_compile(arguments, session),
    examples=("compile out/ -o program/", "compile out/ --emit c --name net -o net/"),
)
