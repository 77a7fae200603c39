"""`qmlir compare`: the errors of one model against another on the same samples, value by value."""

import argparse

from qmlir.tools import running
from qmlir.tools.arguments import LABELS, add_model, add_options
from qmlir.tools.command_runner import Command
from qmlir.workflows.choices import LEVELS, RUNTIMES

SORTS = ("model", "sqnr")
"""The orders of the table: that of the model, or worst first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir compare`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_model(
        parser, "reference",
        help="ONNX model, module, folder written by qmlir quantize, program, or - for a module on stdin; "
        "RUNTIME:MODEL names the runtime",
    )  # fmt: skip
    add_model(
        parser, "candidate", nargs="?",
        help="model to compare (default: the float model of the folder)",
    )  # fmt: skip
    add_options(parser, "--data")
    add_options(parser, "--preprocess")
    add_options(parser, "--labels", help=LABELS)
    add = parser.add_argument
    add("--level", choices=LEVELS, help="compare a model with itself, lowered to this level (small shapes only)")
    add("--parts", action="store_true", help="compare the parts of composites, such as fc1/matmul")
    add("--min-sqnr", type=float, metavar="DB", help="exit with code 1 if the SQNR of any value is below DB decibels")
    add("--samples", type=int, metavar="N", help="compare at most N samples (default: all)")
    add("--sort", choices=SORTS, default=SORTS[0], help="order of the table: model (default), or sqnr, worst first")
    add(
        "--dump", metavar="FILE",
        help="compare the layers that a device printed with those of REFERENCE, and name the first that differs "
        "(without --data: on the random inputs of --golden)",
    )  # fmt: skip
    add("--worst", type=int, metavar="N", help="show only the N worst values")
    add_options(parser, "--shape", "--cut-inputs", "--cut-outputs")


_RUNTIMES = "\n".join(f"  {f'{name}:':24}{summary}" for name, summary in RUNTIMES.items())

COMPARE = Command(
    add_arguments,
    lambda arguments, session: running.run_compare(arguments, session),
    examples=(
        "compare out/ --data samples.npz --worst 5",
        "compare out/ --dump device.log --data samples.npz",
    ),
    epilog=f"""\
RUNTIME, as a prefix of a path (onnxruntime:model.onnx):
{_RUNTIMES}

The signal-to-quantization-noise ratio (SQNR) is 10 log10(sum reference^2 / sum difference^2). --min-sqnr ignores
values that saturate and are clipped by the next layer anyway. In JSON, null is an infinite SQNR (equal values).

exit code 1: the SQNR of a value or an output is below --min-sqnr, or a layer of --dump differs
""",
)
