"""`qmlir profile`: runs a model on samples and writes the recorded statistics of its values.

The output is a profile, or the model with its statistics, lowered as by `qmlir quantize`.
"""

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
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output, data_in, import_settings, load_model
from qmlir.tools.command_runner import Command, Session
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.profiling import profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir profile`."""
    add_model(parser)
    add_options(parser, "--data", required=True)
    add_options(parser, "--preprocess")
    add_output(
        parser,
        "output profile (JSON), or FILE.onnx or FILE.mlir for the lowered model with its statistics, which "
        "qmlir quantize accepts without samples",
        required=True,
        metavar="FILE",
    )
    add_options(parser, *IMPORT)
    add = parser.add_argument
    add(
        "--passes", metavar="PIPELINE",
        help="passes to run first, or '' for none (default: the lowering of qmlir quantize, so that its --profile "
        "accepts the result)",
    )  # fmt: skip
    add("--function", default="main", metavar="NAME", help="function to run (default: main)")
    add("--constants", action="store_true", help="also profile constants")
    add("--axis", type=int, metavar="N", help="also record one range per index of this axis")
    add_options(parser, "--observer")
    add("--batch-size", type=int, metavar="N", help="samples per work item of a process or worker")
    add_options(parser, "--processes", "--cluster", "--resume")


def run(arguments: argparse.Namespace, session: Session) -> int:
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


PROFILE = Command(
    add_arguments,
    run,
    examples=(
        "profile model.onnx --data samples.npz -o profile.json",
        "profile model.onnx --data samples.npz -o profiled.onnx --processes 4",
    ),
)
