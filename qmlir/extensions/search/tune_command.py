"""`qmlir tune`: searches for kernel schedules that are faster on this machine than the built-in ones."""

import argparse
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions.search.tuning import TuneResult, tune
from qmlir.ir.diagnostics import printable
from qmlir.specialization.inputs import function_of, parse_shapes
from qmlir.specialization.specialize import specialize
from qmlir.tools.arguments import IMPORT, add_model, add_options, data_in, import_settings, load_model
from qmlir.tools.command_runner import Command, Session
from qmlir.tools.models import with_one_sample
from qmlir.tools.stdio import UsageError
from qmlir.workflows.quantizing import quantize


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir tune`."""
    add_model(parser)
    add_options(parser, "--data", help="samples to quantize a float model with (default: keep it in float)")
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add("--kernels", type=int, metavar="N", help="tune only the N kernels with the most work")
    add(
        "--seconds",
        type=float,
        metavar="S",
        help="stop starting new kernels after S seconds; the next run measures the rest",
    )
    add("--remeasure", action="store_true", help="measure known kernels again")
    add_options(parser, *IMPORT, "--threads", "--isa", "--cluster")


def _module(arguments: argparse.Namespace, session: Session) -> ModuleOp:
    """Loads the model with static shapes (a dynamic batch size becomes 1), quantized if there are samples."""
    module = load_model(arguments.model, session, **import_settings(arguments))
    shapes = with_one_sample(function_of(module, "main"), parse_shapes(arguments.shape))
    if arguments.data is not None:
        module = quantize(module, data_in(arguments), cluster=arguments.cluster, progress=session.progress).module
    return specialize(module, shapes)


def run(arguments: argparse.Namespace, session: Session) -> int:
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


TUNE = Command(
    add_arguments,
    run,
    epilog="Results are stored next to the cache of programs; qmlir compile uses them unless --no-tuned is given.",
    examples=(
        "tune out/ --seconds 600",
        "tune out/ --kernels 5 --threads 4",
    ),
)
