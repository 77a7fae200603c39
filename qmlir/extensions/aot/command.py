"""The option `--emit` of `qmlir compile`: emits programs that run without Python as C, machine code or WebAssembly."""

import argparse

from qmlir import registry
from qmlir.extensions import aot
from qmlir.targets.cpu.choices import PROGRAM_FORM
from qmlir.tools.arguments import EmissionService, add_options
from qmlir.tools.command_runner import Session


class FormatEmission:
    """Implements the service `emission` (`qmlir.tools.arguments.EmissionService`)."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--emit` and the options of its formats."""
        parser.add_argument(
            "--emit", default=PROGRAM_FORM, metavar="FORM",
            help=f"output format: {PROGRAM_FORM} (a Python package), {', '.join(registry.named('forms'))} "
            f"(default: {PROGRAM_FORM})",
        )  # fmt: skip
        parser.add_argument(
            "--name", default="model", metavar="NAME",
            help="prefix of emitted files and functions (default: model)",
        )  # fmt: skip
        parser.add_argument(
            "--triple", default="", metavar="TRIPLE",
            help="LLVM target triple, such as aarch64-linux-gnu (default: this machine)",
        )  # fmt: skip
        parser.add_argument(
            "--cpu", default="",
            help="CPU to generate code for, such as cortex-a76, or host (default: any CPU of the triple)",
        )  # fmt: skip
        parser.add_argument("--features", default="", help="additional CPU features, such as +dotprod,-fullfp16")
        parser.add_argument(
            "--golden", type=int, default=0, metavar="N",
            help="write N samples with the outputs of the interpreter as C arrays, and a main that checks them",
        )  # fmt: skip
        parser.add_argument(
            "--golden-layers", action="store_true",
            help="for --golden, also write the elements of each layer (NAME_layers.npz); the C program prints its "
            "layers if it is compiled with -DNAME_LAYERS, for qmlir compare --dump",
        )  # fmt: skip
        add_options(parser, "--data", help="samples for --golden (default: random inputs from a fixed seed)")
        add_options(parser, "--preprocess")

    def is_asked_for(self, arguments: argparse.Namespace) -> bool:
        """Returns true if `--emit` is used. Raises `DiagnosticError` for options that belong to another format."""
        aot.check_machine(arguments)
        return arguments.emit != PROGRAM_FORM

    def run(self, arguments: argparse.Namespace, session: Session) -> int:
        """Writes the files of a program that runs without Python."""
        return aot.run_emission(arguments, session)


EMISSION: EmissionService = FormatEmission()
