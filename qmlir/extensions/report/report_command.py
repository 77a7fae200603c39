"""`qmlir report`: writes a report of the effects of quantization on a model as one self-contained HTML page."""

import argparse

from qmlir.extensions import report
from qmlir.extensions.report.choices import OUTPUT
from qmlir.tools.arguments import add_model, add_options, add_output
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir report`."""
    add_model(
        parser,
        help="folder written by qmlir quantize, quantized module (with --reference), float model (quantized first), or "
        "- for a module on stdin",
    )  # fmt: skip
    add_options(parser, "--data", required=True)
    add_options(parser, "--preprocess")
    add_output(parser, f"output page (default: {OUTPUT})", metavar="FILE")
    add = parser.add_argument
    add("--reference", metavar="FILE", help="float model of a quantized module")
    add_options(parser, "--labels")
    add("--samples", type=int, metavar="N", help="number of samples to run in the interpreter (default: 8)")
    add("--no-time", action="store_true", help="skip compilation: no times, no kernels")
    add("--title", default="", metavar="TEXT", help="page title (default: the name of the model)")
    add_options(parser, "--shape", "--cut-inputs", "--cut-outputs", "--threads", "--isa")


REPORT = Command(
    add_arguments,
    lambda arguments, session: report.run_report(arguments, session),
    examples=("report out/ --data samples.npz", "report out/ --data samples.npz --labels labels.npy -o page.html"),
)
