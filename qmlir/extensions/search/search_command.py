"""`qmlir search`: mixed precision. Finds the layers that need more bits, or can do with fewer, for a given accuracy."""

import argparse

from qmlir.extensions import search
from qmlir.extensions.search.choices import SearchMode, Width
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output, add_quantization
from qmlir.tools.command_runner import Command
from qmlir.workflows.choices import Engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir search`."""
    add_model(
        parser,
        help="float model (.onnx or .mlir), - for a module on stdin, or a folder written by qmlir quantize, whose "
        "float model, profile and recipe are used",
    )
    add_options(parser, "--data", required=True, help="samples to measure the accuracy with, as for qmlir quantize")
    add = parser.add_argument
    add_options(parser, "--preprocess", "--labels")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--min-accuracy", type=float, metavar="A", help="accuracy to reach, 0 <= A <= 1")
    goal.add_argument("--max-drop", type=float, metavar="A", help="maximum accuracy loss against the float model")
    add("--max-bytes", type=int, metavar="N", help="maximum bytes of quantized weights and biases (--mode budget)")
    add(
        "--max-time", type=float, metavar="R",
        help="maximum run time, relative to the model as quantized (--mode budget)",
    )  # fmt: skip
    add("--measure-time", action="store_true", help="measure compiled kernels instead of estimating the time")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--calibration", metavar="PATH", help="calibration samples (default: --data)")
    source.add_argument(
        "--profile", metavar="FILE", help="profile of the lowered model, instead of calibration samples"
    )
    add_output(parser, "output folder, like that of qmlir quantize, with all measurements", required=True)
    add(
        "--mode", choices=[str(each) for each in SearchMode], default=str(SearchMode.DROP),
        help="drop: widen the worst layers until the goal is reached (default); raise: narrow weights to 4 bits while "
        "it holds; budget: minimize the predicted loss within --max-bytes and --max-time",
    )  # fmt: skip
    add(
        "--widen-to", choices=[str(Width.WIDE), str(Width.FLOAT)], default=str(Width.WIDE),
        help="width of widened layers: 16 bits, or float if unsupported (default); or always float",
    )  # fmt: skip
    add(
        "--max-steps", type=int, metavar="N",
        help="maximum number of layers to try (--mode budget: points to measure; default: 1)",
    )  # fmt: skip
    add("--scores", metavar="NAME", help="output with the logits, if the model has several outputs")
    add(
        "--engine", choices=[str(each) for each in Engine], default=str(Engine.AUTO),
        help="execution engine: auto (default) switches to compiled code if that pays off",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--threads", "--cluster", "--resume")
    add_quantization(parser)


SEARCH = Command(
    add_arguments,
    lambda arguments, session: search.run_search(arguments, session),
    examples=(
        "search model.onnx --data test.npz --labels labels.npy --max-drop 0.01 -o out/",
        "search model.onnx --data test.npz --mode budget --max-bytes 100000 -o out/",
    ),
)
