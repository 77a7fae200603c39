"""`qmlir profile`: runs a model on samples and writes the recorded statistics of its values.

The output is a profile, or the model with its statistics, lowered as by `qmlir quantize`.
"""

import argparse

from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir profile`."""
    add_model(parser)
    add_options(parser, "--data", required=True)
    add_options(parser, "--preprocess")
    add_output(
        parser, "output profile (JSON), or FILE.onnx or FILE.mlir for the lowered model with its statistics, which "
        "qmlir quantize accepts without samples", required=True, metavar="FILE",
    )  # fmt: skip
    add_options(parser, *IMPORT)
    add = parser.add_argument
    add(
        "--passes", metavar="PIPELINE",
        help="passes to run first, or '' for none (default: the lowering of qmlir quantize, so that its --profile "
        "accepts the result)",
    )  # fmt: skip
    add("--function", default="main", metavar="NAME", help="function to run (default: main)")
    add("--constants", action="store_true", help="also profile constants")
    add("--axis", type=int, metavar="N", help="also record one range per index of this axis")
    add_options(parser, "--observer")
    add("--batch-size", type=int, metavar="N", help="samples per work item of a process or worker")
    add_options(parser, "--processes", "--cluster", "--resume")


PROFILE = Command(
    add_arguments,
    lambda arguments, session: running.run_profile(arguments, session),
    examples=(
        "profile model.onnx --data samples.npz -o profile.json",
        "profile model.onnx --data samples.npz -o profiled.onnx --processes 4",
    ),
)
