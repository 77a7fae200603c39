"""`qmlir partition`: divides a model among targets, and reports transfers and why the rest stays on the host."""

import argparse
from pathlib import Path

from qmlir.targets.partitioning.choices import Preferences
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output, import_settings, load_model
from qmlir.tools.command_runner import Command, Session
from qmlir.workflows.partitioning import partition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir partition`."""
    add_model(parser, help="quantized model: folder written by qmlir quantize, or module")
    add_options(parser, "--device", help="devices, preferred first (default: those named in the module)")
    add_output(parser, "output module, with one function per part", metavar="FILE")
    add_options(parser, *IMPORT)
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


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Divides the model and prints the report. Raises `DiagnosticError`."""
    output = None if arguments.output is None else Path(arguments.output)
    if output is not None:
        check_module_file(output)
    module = load_model(arguments.model, session, **import_settings(arguments))
    found = partition(
        module,
        arguments.device,
        transfer_bytes=arguments.transfer_bytes,
        intensity=arguments.intensity,
        min_ops=arguments.min_ops,
    )
    if output is not None:
        save_module(found.module, output, PrintOptions(weights=Weights.SIDECAR))
    session.emit(found.reports, found.text)
    return 0


PARTITION = Command(
    add_arguments,
    run,
    examples=(
        "partition out/ --device npu,cpu",
        "partition out/ --device npu,cpu --min-ops 4 -o parts.mlir",
    ),
)
