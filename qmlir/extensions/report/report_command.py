"""`qmlir report`: writes a report of the effects of quantization on a model as one self-contained HTML page."""

import argparse
from pathlib import Path

from qmlir.extensions.report.reporting.making import SAMPLES, report
from qmlir.specialization.inputs import parse_shapes
from qmlir.text.tables import bytes_text
from qmlir.tools.arguments import add_model, add_options, add_output, data_in, labels_beside_data, model_or_path
from qmlir.tools.command_runner import Command, Session

OUTPUT = "report.html"


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


def run(arguments: argparse.Namespace, session: Session) -> int:
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


REPORT = Command(
    add_arguments,
    run,
    examples=(
        "report out/ --data samples.npz",
        "report out/ --data samples.npz --labels labels.npy -o page.html",
    ),
)
