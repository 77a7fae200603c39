"""`qmlir export`: writes a float or quantized model or module as an ONNX or LiteRT model."""

import argparse

from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_export, add_model, add_options, add_output
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir export`."""
    add_model(parser)
    add_output(parser, "output model, FILE.onnx or FILE.tflite", required=True, metavar="FILE")
    add_options(parser, *IMPORT, "--requantize")
    add_export(parser)


EXPORT = Command(
    add_arguments,
    lambda arguments, session: running.run_export(arguments, session),
    examples=("export out/ -o quantized.onnx", "export out/ -o quantized.tflite"),
)
