"""`qmlir doctor`: checks the installation and the CPU."""

import argparse

from qmlir.tools import running
from qmlir.tools.command_runner import Command, Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: `qmlir doctor` has only the common options."""


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Prints the findings; returns 1 if a required item is broken."""
    return running.run_doctor(arguments, session)


DOCTOR = Command(add_arguments, run, examples=("doctor", "doctor --json"))
