"""`qmlir tune`: searches for kernel schedules that are faster on this machine than the built-in ones."""

import argparse

from qmlir.extensions import search
from qmlir.tools.arguments import IMPORT, add_model, add_options
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir tune`."""
    add_model(parser)
    add_options(parser, "--data", help="samples to quantize a float model with (default: keep it in float)")
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add("--kernels", type=int, metavar="N", help="tune only the N kernels with the most work")
    add(
        "--seconds", type=float, metavar="S",
        help="stop starting new kernels after S seconds; the next run measures the rest",
    )  # fmt: skip
    add("--remeasure", action="store_true", help="measure known kernels again")
    add_options(parser, *IMPORT, "--threads", "--isa", "--cluster")


TUNE = Command(
    add_arguments,
    lambda arguments, session: search.run_tune(arguments, session),
    epilog="Results are stored next to the cache of programs; qmlir compile uses them unless --no-tuned is given.",
    examples=("tune out/ --seconds 600", "tune out/ --kernels 5 --threads 4"),
)
