"""Runs `qmlir finetune`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from pathlib import Path

from qmlir.extensions.training.finetuning import HeldOutFigures, finetune
from qmlir.ir.diagnostics import text_error
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.writing import check_file, check_own
from qmlir.tools.arguments import export_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, float_model, labels_beside_data
from qmlir.tools.stdio import UsageError
from qmlir.workflows.exporting import check_onnx_file, export_onnx

_MODULE = ".mlir"


def run_finetune(arguments: argparse.Namespace, session: Session) -> int:
    """Trains, writes the result, and reports the gain. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    is_onnx = output.suffix in ONNX_SUFFIXES
    if not is_onnx and output.suffix != _MODULE and (output.is_dir() or not output.exists()):
        raise UsageError(f"qmlir finetune: error: --output must be FILE.mlir or FILE.onnx, but got '{output}'\n")
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
        raise text_error("--processes must be 1: training runs in one process; use --threads")
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
