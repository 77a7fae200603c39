"""`qmlir quantize`: quantizes a float model with samples, or with statistics that it carries, and writes the result.

An output folder contains the quantized module and the data it was made from.
"""

import argparse
from pathlib import Path

from qmlir import registry
from qmlir.ir.diagnostics import text_error
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe_text import AUTO, Effort
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.tools.arguments import (
    IMPORT,
    add_export,
    add_model,
    add_options,
    add_output,
    add_quantization,
    data_in,
    export_settings,
    import_settings,
    load_model,
    quantization_settings,
)
from qmlir.tools.command_runner import Command, Session
from qmlir.tools.stdio import UsageError
from qmlir.workflows.exporting import check_onnx_file, export_onnx
from qmlir.workflows.folder import QuantizedFolder, check_new_folder, names_of
from qmlir.workflows.hold_out import ENOUGH
from qmlir.workflows.quantizing import quantize

_MODULE = ".mlir"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir quantize`."""
    add_model(parser, help="float model: .onnx, .mlir, or - for a module on stdin")
    source = parser.add_mutually_exclusive_group()
    add_options(source, "--data")
    add_options(parser, "--preprocess")
    parser.add_argument(
        "--samples", type=int, metavar="N", help="use only the first N samples of --data (default: all)"
    )
    source.add_argument(
        "--profile", metavar="FILE",
        help="profile of the lowered model, instead of --data (default: statistics stored in the model)",
    )  # fmt: skip
    add_output(
        parser,
        "output: a folder, FILE.mlir or FILE.onnx",
        required=True,
    )
    parser.add_argument(
        "--effort", type=_effort, choices=(*sorted({0, *registry.efforts()}), AUTO),
        help="recover accuracy lost to rounding, without training: 1 bias correction; 2 also GPTQ and cross-layer "
        "equalization; 3 also AdaRound; auto applies the first remedy that restores the accuracy (default: 1 for "
        "models with depthwise convolutions, otherwise 0)",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--observer")
    add_options(
        parser,
        "--device",
        default=None,
        help="devices to quantize for, preferred first (qmlir-opt --list-targets lists them)",
    )
    add_quantization(parser)
    add_options(parser, "--cluster", "--resume")
    parser.add_argument(
        "--state", action="append", default=[], metavar="INPUT=OUTPUT",
        help="pair a state input with the output that updates it (past_*=present_*), so that the state stays "
        "quantized between calls (repeatable)",
    )  # fmt: skip
    add = parser.add_argument_group("accuracy").add_argument
    add(
        "--validation", metavar="PATH",
        help="samples for comparing the quantized model with the float model (default: held out from --data if "
        f"it has more than {ENOUGH} samples, otherwise some of --data)",
    )  # fmt: skip
    add("--no-validate", action="store_true", help="skip the comparison with the float model")
    add("--min-sqnr", type=float, metavar="DB", help="fail if the SQNR of an output is below DB decibels")
    add(
        "--min-agreement",
        type=float,
        metavar="SHARE",
        help="fail if less than SHARE of the samples keep the class of the float model",
    )
    add_export(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
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
        validate=not arguments.no_validate,
        min_sqnr=arguments.min_sqnr,
        min_agreement=arguments.min_agreement,
        observers=arguments.observer,
        effort=arguments.effort,
        cluster=arguments.cluster,
        resume=arguments.resume,
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


def _effort(text: str) -> Effort:
    return AUTO if text == AUTO else int(text)


def _check_words(arguments: argparse.Namespace) -> None:
    """Raises `UsageError` for options that contradict each other."""
    if arguments.samples is not None and arguments.data is None:
        raise UsageError("qmlir quantize: error: --samples requires --data\n")
    asked = ("validation", "min_sqnr", "min_agreement")
    given = next((name for name in asked if getattr(arguments, name) is not None), None)
    if arguments.no_validate and given is not None:
        raise UsageError(f"qmlir quantize: error: --no-validate cannot be combined with --{given.replace('_', '-')}\n")


QUANTIZE = Command(
    add_arguments,
    run,
    epilog="exit code 1: an output misses --min-sqnr or --min-agreement; without them, lost accuracy is a warning\n",
    examples=(
        "quantize model.onnx --data samples.npz -o out/",
        "quantize model.onnx --data images/ --preprocess prepare.py:prepare --weights i4 --effort 2 -o out/",
    ),
)
