"""Runs `qmlir profile`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from pathlib import Path

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import PIPELINES, QUANTIZE, quantize_lowering
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.writing import check_file
from qmlir.tools.arguments import import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, load_model
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.profiling import profile


def run_profile(arguments: argparse.Namespace, session: Session) -> int:
    """Profiles a model and writes its statistics. Raises `DiagnosticError`."""
    output, passes = Path(arguments.output), arguments.passes
    is_onnx = output.suffix in ONNX_SUFFIXES
    (check_module_file if output.suffix == ".mlir" else check_file)(output)  # checked before the samples run
    module = load_model(arguments.model, session, **import_settings(arguments))
    if carries := is_onnx or output.suffix == ".mlir":
        lowers = passes is None
        module = run_pipeline(
            module,
            quantize_lowering(module) if lowers else parse_pipeline(passes, default_environment().passes, PIPELINES),
        )
        verify(module)
        passes = ""
    found = profile(
        module,
        data_in(arguments),
        passes=passes,
        function=arguments.function,
        batch_size=arguments.batch_size,
        processes=arguments.processes,
        constants=arguments.constants,
        axis=arguments.axis,
        observers=arguments.observer,
        cluster=arguments.cluster,
        resume=arguments.resume,
        progress=session.progress,
    )
    if carries:
        run_pipeline(module, QUANTIZE.passes("profile"), taken=found)
    if is_onnx:
        export_onnx(module, output)
    elif carries:
        save_module(module, output, PrintOptions(weights=Weights.SIDECAR))
    else:
        found.save(output)
    value = {"output": arguments.output, "samples": found.samples, "values": len(found.values)}
    session.say(f"{arguments.output}: {len(found.values)} values of {found.samples} samples")
    session.emit(value, str)  # the result is the file, so there is no text
    return 0
