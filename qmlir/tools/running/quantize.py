"""Runs `qmlir quantize`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from pathlib import Path

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.quantization.profiles.profile import Profile
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.tools.arguments import export_settings, import_settings, quantization_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, load_model
from qmlir.tools.stdio import UsageError
from qmlir.workflows.exporting import check_onnx_file, export_onnx
from qmlir.workflows.folder import QuantizedFolder, check_new_folder, names_of
from qmlir.workflows.quantizing import quantize

_MODULE = ".mlir"


def run_quantize(arguments: argparse.Namespace, session: Session) -> int:
    """Quantizes a model, writes it, and reports the coverage. Raises `DiagnosticError`."""
    _check_words(arguments)
    output = Path(arguments.output)
    is_module = output.suffix == _MODULE or (output.exists() and not output.is_dir() and not output.is_file())
    is_onnx = output.suffix in ONNX_SUFFIXES
    stem = "model" if arguments.model == "-" else Path(arguments.model).stem.removesuffix(".float")
    if is_onnx:
        check_onnx_file(output, external_data=arguments.external_data)
    elif is_module:
        check_module_file(output)
    else:
        check_new_folder(output, "quantize", names_of(stem))
    if arguments.model != "-" and QuantizedFolder.holds(arguments.model):
        source = QuantizedFolder.open(arguments.model).float_module
        raise text_error(f"'{arguments.model}' is already quantized; pass its float model, '{source}'")
    module = load_model(arguments.model, session, **import_settings(arguments))
    settings = quantization_settings(arguments)
    if arguments.state:
        settings["states"] = arguments.state
    quantized = quantize(
        module,
        data_in(arguments),
        profile=Profile.load(arguments.profile) if arguments.profile else None,
        samples=arguments.samples,
        validation=data_in(arguments, "validation"),
        labels=arguments.labels,
        validate=not arguments.no_validate,
        min_sqnr=arguments.min_sqnr,
        min_agreement=arguments.min_agreement,
        observers=arguments.observer,
        effort=arguments.effort,
        cluster=arguments.cluster,
        resume=arguments.resume,
        keep_annotations=arguments.keep_annotations,
        **settings,
        progress=session.progress,
    )
    summary = quantized.summary(arguments.model, arguments.data)
    if is_onnx:
        export_onnx(quantized.module, output, **export_settings(arguments))
    elif is_module:
        save_module(quantized.module, output, PrintOptions(weights=Weights.SIDECAR))
    else:
        quantized.save_folder(output, stem, summary)
    session.emit({"output": output, **summary.to_dict()}, summary.text)
    return 0


def _check_words(arguments: argparse.Namespace) -> None:
    """Raises `UsageError` for options that contradict each other."""
    if arguments.samples is not None and arguments.data is None:
        raise UsageError("qmlir quantize: error: --samples requires --data\n")
    asked = ("validation", "min_sqnr", "min_agreement")
    given = next((name for name in asked if getattr(arguments, name) is not None), None)
    if arguments.no_validate and given is not None:
        raise UsageError(f"qmlir quantize: error: --no-validate cannot be combined with --{given.replace('_', '-')}\n")
