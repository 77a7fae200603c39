"""The service `emission` of an extension, which writes programs without Python, and the limits of program sizes."""

import argparse
from collections.abc import Mapping
from typing import Protocol

from qmlir import registry
from qmlir.tools.command_runner import Session

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
