"""The commands of reports: `qmlir inspect`, `qmlir explain` and `qmlir report`, each with its arguments."""

import argparse

from qmlir.extensions import report
from qmlir.extensions.report.choices import OUTPUT, SORTS
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output
from qmlir.tools.command_runner import Command


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir inspect`."""
    add_model(parser)
    add_options(parser, *IMPORT, "--keep-casts")
    parser.add_argument("--sort", choices=SORTS, default="", help="sort layers by this column, largest first")


INSPECT = Command(
    _add_inspect,
    lambda arguments, session: report.run_inspect(arguments, session),
    examples=("inspect model.onnx", "inspect out/ --sort macs"),
)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir explain`."""
    add_model(parser, help="folder written by qmlir quantize, or the .q.mlir in it")
    parser.add_argument(
        "node", metavar="NODE", help="node of the model, part of a node (fc1/matmul), tensor, input or weight"
    )
    add_options(parser, "--isa", "--threads", "--shape")


EXPLAIN = Command(
    _add_explain,
    lambda arguments, session: report.run_explain(arguments, session),
    examples=("explain out/ fc1", "explain out/ fc1/matmul --isa avx2"),
)


def _add_report(parser: argparse.ArgumentParser) -> None:
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
    _add_report,
    lambda arguments, session: report.run_report(arguments, session),
    examples=("report out/ --data samples.npz", "report out/ --data samples.npz --labels labels.npy -o page.html"),
)
