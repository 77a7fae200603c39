"""`qmlir run`: runs a model, or the functions of a module that check their own results, interpreted or compiled."""

import argparse

from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output
from qmlir.tools.command_runner import Command

ENGINES = ("interpreter", "compiled")
"""The engines that can run a module."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir run`."""
    add_model(
        parser,
        help="ONNX model, module, folder written by qmlir quantize, program written by qmlir compile, or - for stdin",
    )
    add = parser.add_argument
    add(
        "--input", action="append", default=[], metavar="[NAME=]FILE",
        help="input arrays: a .npz file of arrays by name, NAME=FILE for one input, or x.npy for the only input "
        "(repeatable)",
    )  # fmt: skip
    add(
        "--function", metavar="NAME",
        help="function to run (default: @main, or every public function without arguments)",
    )  # fmt: skip
    add("--engine", choices=ENGINES, help="execution engine (default: interpreter; programs always run compiled)")
    add_output(parser, "output .npz file (default: print the outputs)", metavar="FILE")
    add_options(parser, *IMPORT, "--keep-casts", "--requantize", "--threads", "--isa", "--device")


RUN = Command(
    add_arguments,
    lambda arguments, session: running.run_run(arguments, session),
    examples=("run out/ --input inputs.npz", "run program/ --input x=x.npy -o outputs.npz"),
)
