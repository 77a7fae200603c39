"""`qmlir quantize`: quantizes a float model with samples, or with statistics that it carries, and writes the result.

An output folder contains the quantized module and the data it was made from.
"""

import argparse

from qmlir import registry
from qmlir.quantization.recipe_text import AUTO, Effort
from qmlir.quantization.setting_rows import setting_rows
from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_export, add_model, add_options, add_output, add_quantization
from qmlir.tools.command_runner import Command
from qmlir.workflows.choices import ENOUGH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir quantize`."""
    add_model(parser, help="float model: .onnx, .mlir, or - for a module on stdin")
    source = parser.add_mutually_exclusive_group()
    add_options(source, "--data")
    add_options(parser, "--preprocess")
    parser.add_argument(
        "--samples", type=int, metavar="N", help="use only the first N samples of --data (default: all)"
    )
    source.add_argument(
        "--profile", metavar="FILE",
        help="profile of the lowered model, instead of --data (default: statistics stored in the model)",
    )  # fmt: skip
    parser.add_argument(
        "--keep-annotations", action="store_true",
        help="keep the ranges that the model carries, and use --data only for the other values (default: samples "
        "replace them)",
    )  # fmt: skip
    add_output(parser, "output: a folder, FILE.mlir or FILE.onnx", required=True)
    parser.add_argument(
        "--effort", type=_effort, choices=(*sorted({0, *registry.efforts()}), AUTO),
        help="recover accuracy lost to rounding, without training: 1 bias correction; 2 also GPTQ and cross-layer "
        "equalization; 3 also AdaRound; auto applies the first remedy that restores the accuracy (default: 1 for "
        "models with depthwise convolutions, otherwise 0)",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--observer")
    add_options(
        parser, "--device", default=None,
        help="devices to quantize for, preferred first (qmlir-opt --list-targets lists them)",
    )  # fmt: skip
    add_quantization(parser)
    add_options(parser, "--cluster", "--resume")
    parser.add_argument(
        "--state", action="append", default=[], metavar="INPUT=OUTPUT",
        help="pair a state input with the output that updates it (past_*=present_*), so that the state stays "
        "quantized between calls (repeatable)",
    )  # fmt: skip
    for side, row in ((side, setting_rows()[side]) for side in ("inputs_as", "outputs_as")):
        parser.add_argument(
            f"--{side.replace('_', '-')}", action="append", default=[], metavar="TYPE",
            help=f"{row.summary} (repeatable; default: {row.default})",
        )  # fmt: skip
    accuracy = parser.add_argument_group("accuracy")
    add = accuracy.add_argument
    add(
        "--validation", metavar="PATH",
        help="samples for comparing the quantized model with the float model (default: held out from --data if "
        f"it has more than {ENOUGH} samples, otherwise some of --data)",
    )  # fmt: skip
    add_options(
        accuracy, "--labels",
        help="class indices of the samples of --validation, or else of --data, in a .npy or .npz file; reports the "
        "top-1 accuracy of both models",
    )  # fmt: skip
    add("--no-validate", action="store_true", help="skip the comparison with the float model")
    add("--min-sqnr", type=float, metavar="DB", help="fail if the SQNR of an output is below DB decibels")
    add(
        "--min-agreement", type=float, metavar="SHARE",
        help="fail if less than SHARE of the samples keep the class of the float model",
    )  # fmt: skip
    add_export(parser)


def _effort(text: str) -> Effort:
    return AUTO if text == AUTO else int(text)


QUANTIZE = Command(
    add_arguments,
    lambda arguments, session: running.run_quantize(arguments, session),
    epilog="exit code 1: an output misses --min-sqnr or --min-agreement; without them, lost accuracy is a warning\n",
    examples=(
        "quantize model.onnx --data samples.npz -o out/",
        "quantize model.onnx --data images/ --preprocess prepare.py:prepare --weights i4 --effort 2 -o out/",
    ),
)
