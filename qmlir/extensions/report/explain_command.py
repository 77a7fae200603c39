"""`qmlir explain`: explains the types of a node in a quantized model, the passes that changed it, and its kernels."""

import argparse

from qmlir.extensions import report
from qmlir.tools.arguments import add_model, add_options
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir explain`."""
    add_model(parser, help="folder written by qmlir quantize, or the .q.mlir in it")
    parser.add_argument(
        "node", metavar="NODE", help="node of the model, part of a node (fc1/matmul), tensor, input or weight"
    )
    add_options(parser, "--isa", "--threads", "--shape")


EXPLAIN = Command(
    add_arguments,
    lambda arguments, session: report.run_explain(arguments, session),
    examples=("explain out/ fc1", "explain out/ fc1/matmul --isa avx2"),
)
