"""Runs `qmlir report`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from pathlib import Path

from qmlir.extensions.report.choices import OUTPUT
from qmlir.extensions.report.reporting import SAMPLES, report
from qmlir.specialization.inputs import parse_shapes
from qmlir.text.tables import bytes_text
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, labels_beside_data, model_or_path


def run_report(arguments: argparse.Namespace, session: Session) -> int:
    """Makes a report and writes it. Raises `DiagnosticError` for invalid inputs."""
    model = model_or_path(arguments.model, session, arguments)
    with labels_beside_data(arguments):
        found = report(
            model,
            data_in(arguments),
            arguments.output,
            reference=arguments.reference,
            labels=arguments.labels,
            shapes=parse_shapes(arguments.shape) or None,
            samples=SAMPLES if arguments.samples is None else arguments.samples,
            time=not arguments.no_time,
            threads=arguments.threads,
            isa=arguments.isa,
            title=arguments.title,
            progress=session.progress,
        )
    output = Path(arguments.output or OUTPUT)
    size = output.stat().st_size
    value = {
        "output": output,
        "bytes": size,
        "samples": found.samples,
        "figures": found.figures,
        "findings": found.findings,
        "seconds": found.seconds,
    }
    session.emit(value, lambda: f"{output}: {bytes_text(size)}\n{found.text()}")
    return 0
