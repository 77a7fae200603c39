"""Runs `qmlir tune`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions.search.tuning import TuneResult, tune
from qmlir.ir.diagnostics import printable
from qmlir.specialization.inputs import function_of, parse_shapes
from qmlir.specialization.specialize import specialize
from qmlir.tools.arguments import import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, load_model, with_one_sample
from qmlir.tools.stdio import UsageError
from qmlir.workflows.quantizing import quantize


def _module(arguments: argparse.Namespace, session: Session) -> ModuleOp:
    """Loads the model with static shapes (a dynamic batch size becomes 1), quantized if there are samples."""
    module = load_model(arguments.model, session, **import_settings(arguments))
    shapes = with_one_sample(function_of(module, "main"), parse_shapes(arguments.shape))
    if arguments.data is not None:
        module = quantize(module, data_in(arguments), cluster=arguments.cluster, progress=session.progress).module
    return specialize(module, shapes)


def run_tune(arguments: argparse.Namespace, session: Session) -> int:
    """Tunes the model's kernels and prints the result. Raises `DiagnosticError` if the model cannot be tuned."""
    if arguments.kernels is not None and arguments.kernels < 1:
        raise UsageError(f"qmlir tune: error: --kernels must be at least 1, but got {arguments.kernels}\n")
    if arguments.seconds is not None and not arguments.seconds >= 0:
        raise UsageError(f"qmlir tune: error: --seconds must be >= 0, but got {arguments.seconds}\n")
    found = tune(
        _module(arguments, session), isa=arguments.isa, threads=arguments.threads, kernels=arguments.kernels,
        seconds=arguments.seconds, remeasure=arguments.remeasure, cluster=arguments.cluster, progress=session.progress,
        on_kernel=lambda each: session.detail(str(each)), on_trouble=lambda text: _warn(session, text),
    )  # fmt: skip
    session.emit(_value(found), found.text)
    return 0


def _warn(session: Session, text: str) -> None:
    session.stderr.write(f"warning: {printable(text)}\n")


def _value(found: TuneResult) -> dict[str, Any]:
    kernels = [{**vars(each.tuned), **vars(each)} for each in found.kernels]
    for each in kernels:
        del each["tuned"], each["kernel"]
    return {
        "output": found.path, "isa": found.isa, "threads": found.threads, "remaining": found.remaining,
        "kernels": kernels,
    }  # fmt: skip
