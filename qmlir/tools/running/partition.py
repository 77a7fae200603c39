"""Runs `qmlir partition`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from pathlib import Path

from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.tools.arguments import import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import load_model
from qmlir.workflows.partitioning import partition


def run_partition(arguments: argparse.Namespace, session: Session) -> int:
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
