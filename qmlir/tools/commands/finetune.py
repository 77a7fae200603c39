"""`qmlir finetune`: trains the quantized model of a float one, by the float model or by labels, and writes the result.

The result is the module or the ONNX model that `qmlir quantize` writes, with other weights, biases and scales.
"""

import argparse
from pathlib import Path

from qmlir.arithmetic.optimizers import OptimizerKind
from qmlir.ir.diagnostics import text_error
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.quantization.learned import METHODS
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.writing import check_file, check_own
from qmlir.tools.arguments import (
    IMPORT,
    add_export,
    add_model,
    add_options,
    add_output,
    add_quantization,
    data_in,
    export_settings,
    labels_beside_data,
)
from qmlir.tools.float_models import float_model
from qmlir.tools.frame import Command, Session
from qmlir.tools.streams import UsageError
from qmlir.workflows.exporting import check_onnx_file, export_onnx
from qmlir.workflows.finetuning import FinetuneLoss, FinetuneOptions, HeldOutFigures, finetune

_MODULE = ".mlir"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir finetune`."""
    add_model(
        parser,
        help="a float model: .onnx, .mlir, or - for a module from stdin; or a folder of qmlir quantize, whose float "
        "model, profile and recipe are used",
    )
    add_options(parser, "--data", required=True, help="samples to train on: as for qmlir quantize")
    add_options(parser, "--preprocess")
    add_options(
        parser, "--labels",
        help="the class of each sample: whole numbers in a .npy or .npz file, which may be that of --data (default: "
        "the results of the float model are learned)",
    )  # fmt: skip
    parser.add_argument(
        "--profile", metavar="FILE", help="a profile of the lowered model: the ranges to begin with, instead of samples"
    )
    add_output(
        parser, "the module to write, FILE.mlir (large weights go beside it), or FILE.onnx", required=True
    )  # fmt: skip
    add = parser.add_argument_group("how to train").add_argument
    add(
        "--loss", default="", choices=[str(each) for each in FinetuneLoss],
        help="what is made small: mse, the squared error of the results against the float model's over their variance "
        "(the default without labels); kl, the divergence of their softmax from the float model's, for scores of "
        "classes; labels, the cross entropy, and kl (the default with labels)",
    )  # fmt: skip
    add("--scores", metavar="NAME", help="the output with the scores, if the model has several")
    add("--scales", default="lsq", choices=list(METHODS), help="how scales are learned (default: lsq)")
    add(
        "--train", action="append", default=[], metavar="GLOB,…",
        help="train the parameters that these globs name, and leave the others as they are (may be repeated)",
    )  # fmt: skip
    add(
        "--optimizer", default=str(OptimizerKind.ADAM), choices=[str(each) for each in OptimizerKind],
        help="what moves weights and biases: adam, the default, or sgd with momentum; scales are moved by adam",
    )  # fmt: skip
    known = FinetuneOptions
    add("--epochs", type=int, default=known.epochs, metavar="N", help="how often every sample trains (default: 10)")
    add("--batch-size", type=int, default=known.batch_size, metavar="N", help="the samples of a step (default: 64)")
    add(
        "--mixup", type=float, default=known.mixup, metavar="SHARE",
        help="the share of the samples of a step that are mixed with another one, and then labelled by the float model "
        "(default: .5 without labels where all inputs are floats; 0 with labels)",
    )  # fmt: skip
    add(
        "--learning-rate", type=float, default=known.learning_rate, metavar="R",
        help="the rate of weights and biases (default: 0.001; 0.002 with weights of at most 4 bits)",
    )  # fmt: skip
    add("--scale-rate", type=float, default=known.scale_rate, metavar="R", help="the rate of scales (default: 0.004)")
    add(
        "--warmup", type=float, default=known.warmup, metavar="SHARE",
        help="the share of the steps in which the rates rise, before they fall with a cosine (default: 0.02)",
    )  # fmt: skip
    add(
        "--validation-split", type=float, default=known.validation_split, metavar="SHARE",
        help="the share of the samples that judge the epochs, and do not train (default: 0.1)",
    )  # fmt: skip
    add(
        "--patience", type=int, metavar="N",
        help="stop after N epochs without a better one (default: all epochs, of which the best is kept)",
    )  # fmt: skip
    add("--temperature", type=float, default=known.temperature, metavar="T", help="that of kl (default: 2)")
    add("--distill", type=float, default=known.distill, metavar="SHARE", help="the share of kl in labels (default: .5)")
    add("--seed", type=int, default=known.seed, metavar="N", help="of the order of the samples (default: 0)")
    add(
        "--freeze-oscillating", action="store_true",
        help="leave weights of at most 4 bits that go to and fro between two codes at the one that they held most",
    )  # fmt: skip
    add(
        "--checkpoint", metavar="FILE",
        help="written after each epoch; a run of the same model, data and settings goes on from it, to the same bits",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--threads", "--isa")
    add_quantization(parser)
    add_export(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Train, write the result, and report what was gained. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    is_onnx = output.suffix in ONNX_SUFFIXES
    if not is_onnx and output.suffix != _MODULE and (output.is_dir() or not output.exists()):
        raise UsageError(f"qmlir finetune: error: --output is FILE.mlir or FILE.onnx, found '{output}'\n")
    if is_onnx:
        check_onnx_file(output, external_data=arguments.external_data)
    else:
        check_module_file(output)
    if arguments.checkpoint:
        check_file(Path(arguments.checkpoint))
        check_own(Path(arguments.checkpoint))
    source = float_model(arguments, session, "finetune")
    settings = source.settings
    if settings.pop("processes") != 1:
        raise text_error("--processes: training runs in one process, with --threads")
    with labels_beside_data(arguments):
        found = finetune(
            source.module, data_in(arguments), labels=arguments.labels, loss=arguments.loss, output=arguments.scores,
            scales=arguments.scales,
            train=[name for text in arguments.train for name in text.split(",") if name],
            profile=source.profile,
            optimizer=arguments.optimizer, checkpoint=arguments.checkpoint, threads=arguments.threads,
            isa=arguments.isa, progress=session.progress,
            on_epoch=lambda epoch, figures: session.detail(_epoch(epoch, figures)), epochs=arguments.epochs,
            batch_size=arguments.batch_size, mixup=arguments.mixup, learning_rate=arguments.learning_rate,
            scale_rate=arguments.scale_rate, warmup=arguments.warmup,
            validation_split=arguments.validation_split, patience=arguments.patience,
            temperature=arguments.temperature, distill=arguments.distill, seed=arguments.seed,
            freeze_oscillating=arguments.freeze_oscillating, **settings,
        )  # fmt: skip
    if is_onnx:
        export_onnx(found.module, output, **export_settings(arguments))
    else:
        save_module(found.module, output, PrintOptions(weights=Weights.SIDECAR))
    session.emit({"output": output, **found.to_dict()}, found.text)
    return 0


def _epoch(epoch: int, figures: HeldOutFigures) -> str:
    return f"epoch {epoch}: loss {figures.loss:.4g} on what is held out, {figures.figure:.4g}"


FINETUNE = Command(
    add_arguments,
    run,
    epilog="""\
Weights, biases and scales are trained in the arithmetic of the quantized model. The report compares the result with the
model that qmlir quantize would write, on the samples that are held out.
""",
)
