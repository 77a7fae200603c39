"""`qmlir bench`: times a model compiled by qmlir and in other runtimes, alternating between them in one process."""

import argparse

from qmlir.extensions import bench
from qmlir.targets.runtimes.packages import TITLES
from qmlir.tools.arguments import add_model, add_options
from qmlir.tools.command_runner import Command

ROUNDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir bench`."""
    add_model(
        parser,
        help="ONNX model (.onnx), module (.mlir), folder written by qmlir quantize, program written by "
        "qmlir compile, or - for a module on stdin",
    )
    add_options(parser, "--data", help="samples to calibrate a float model with, and to run (default: random)")
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add(
        "--against", default="", metavar="PEER,…",
        help=f"baselines for ONNX models: {','.join(TITLES)} (pip install 'qmlir[peers]')",
    )  # fmt: skip
    add(
        "--rounds", type=int, default=ROUNDS, metavar="N", help=f"number of rounds, in random order (default: {ROUNDS})"
    )
    add("--seconds", type=float, default=0.3, metavar="S", help="approximate duration of a round (default: 0.3)")
    add(
        "--processor-time", action="store_true",
        help="measure CPU time instead of wall-clock time; useful for one thread on a busy machine",
    )  # fmt: skip
    add_options(parser, "--shape", "--cut-inputs", "--cut-outputs", "--threads", "--isa")


BENCH = Command(
    add_arguments,
    lambda arguments, session: bench.run_bench(arguments, session),
    examples=("bench model.onnx", "bench model.onnx --data samples.npz --against onnxruntime --threads 4"),
)
