"""`qmlir inspect`: describes a model as a whole and layer by layer, or a compiled program by its manifest."""

import argparse

from qmlir.extensions import report
from qmlir.extensions.report.choices import SORTS
from qmlir.tools.arguments import IMPORT, add_model, add_options
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir inspect`."""
    add_model(parser)
    add_options(parser, *IMPORT, "--keep-casts", "--requantize")
    parser.add_argument("--sort", choices=SORTS, default="", help="sort layers by this column, largest first")


INSPECT = Command(
    add_arguments,
    lambda arguments, session: report.run_inspect(arguments, session),
    examples=("inspect model.onnx", "inspect out/ --sort macs"),
)
