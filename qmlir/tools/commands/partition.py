"""`qmlir partition`: divides a model among targets, and reports transfers and why the rest stays on the host."""

import argparse

from qmlir.targets.partitioning.preferences import Preferences
from qmlir.tools import running
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir partition`."""
    add_model(parser, help="quantized model: folder written by qmlir quantize, or module")
    add_options(parser, "--device", help="devices, preferred first (default: those named in the module)")
    add_output(parser, "output module, with one function per part", metavar="FILE")
    add_options(parser, *IMPORT, "--requantize")
    add = parser.add_argument_group("partitioning").add_argument
    add(
        "--transfer-bytes", type=int, default=Preferences.transfer_bytes, metavar="BYTES",
        help=f"fixed cost of a transfer, in bytes (default: {Preferences.transfer_bytes})",
    )  # fmt: skip
    add(
        "--intensity", type=float, default=Preferences.intensity, metavar="N",
        help="minimum number of multiply-adds per transferred byte for a device (default: 0)",
    )  # fmt: skip
    add(
        "--min-ops", type=int, default=Preferences.min_ops, metavar="N",
        help=f"minimum number of operations of a part (default: {Preferences.min_ops})",
    )  # fmt: skip


PARTITION = Command(
    add_arguments,
    lambda arguments, session: running.run_partition(arguments, session),
    examples=("partition out/ --device npu,cpu", "partition out/ --device npu,cpu --min-ops 4 -o parts.mlir"),
)
