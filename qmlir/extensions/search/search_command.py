"""`qmlir search`: mixed precision. Finds the layers that need more bits, or can do with fewer, for a given accuracy."""

import argparse
from dataclasses import replace
from pathlib import Path

from qmlir.extensions.search.searching import SearchMode, SearchResult, search
from qmlir.extensions.search.widths import Width
from qmlir.extensions.training.evaluating import Engine
from qmlir.quantization.recipe_text import RecipeText
from qmlir.tools.arguments import (
    IMPORT,
    add_model,
    add_options,
    add_output,
    add_quantization,
    data_in,
    labels_beside_data,
)
from qmlir.tools.command_runner import Command, Session
from qmlir.tools.models import FloatModel, float_model
from qmlir.tools.stdio import UsageError
from qmlir.workflows.folder import check_new_folder, names_of

STATE = ".search.json"
"""The file of measurements in the output folder."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir search`."""
    add_model(
        parser,
        help="float model (.onnx or .mlir), - for a module on stdin, or a folder written by qmlir quantize, whose "
        "float model, profile and recipe are used",
    )
    add_options(parser, "--data", required=True, help="samples to measure the accuracy with, as for qmlir quantize")
    add = parser.add_argument
    add_options(parser, "--preprocess", "--labels")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--min-accuracy", type=float, metavar="A", help="accuracy to reach, 0 <= A <= 1")
    goal.add_argument("--max-drop", type=float, metavar="A", help="maximum accuracy loss against the float model")
    add(
        "--max-bytes", type=int, metavar="N",
        help="maximum bytes of quantized weights and biases (--mode budget)",
    )  # fmt: skip
    add(
        "--max-time", type=float, metavar="R",
        help="maximum run time, relative to the model as quantized (--mode budget)",
    )  # fmt: skip
    add("--measure-time", action="store_true", help="measure compiled kernels instead of estimating the time")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--calibration", metavar="PATH", help="calibration samples (default: --data)")
    source.add_argument(
        "--profile", metavar="FILE", help="profile of the lowered model, instead of calibration samples"
    )
    add_output(parser, "output folder, like that of qmlir quantize, with all measurements", required=True)
    add(
        "--mode", choices=[str(each) for each in SearchMode], default=str(SearchMode.DROP),
        help="drop: widen the worst layers until the goal is reached (default); raise: narrow weights to 4 bits while "
        "it holds; budget: minimize the predicted loss within --max-bytes and --max-time",
    )  # fmt: skip
    add(
        "--widen-to", choices=[str(Width.WIDE), str(Width.FLOAT)], default=str(Width.WIDE),
        help="width of widened layers: 16 bits, or float if unsupported (default); or always float",
    )  # fmt: skip
    add(
        "--max-steps", type=int, metavar="N",
        help="maximum number of layers to try (--mode budget: points to measure; default: 1)",
    )  # fmt: skip
    add("--scores", metavar="NAME", help="output with the logits, if the model has several outputs")
    add(
        "--engine", choices=[str(each) for each in Engine], default=str(Engine.AUTO),
        help="execution engine: auto (default) switches to compiled code if that pays off",
    )  # fmt: skip
    add_options(parser, *IMPORT, "--threads", "--cluster", "--resume")
    add_quantization(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Searches and writes the result; returns 1 if the bound cannot be met. Raises `DiagnosticError`."""
    if arguments.max_steps is not None and arguments.max_steps < 0:
        raise UsageError(f"qmlir search: error: --max-steps must be >= 0, but got {arguments.max_steps}\n")
    output = Path(arguments.output)
    check_new_folder(output, "search")
    source = float_model(arguments, session, "search", uses_profile=arguments.calibration is None)
    check_new_folder(output, "search", names_of(source.stem))
    state = output / STATE
    if state.is_file():
        session.detail(f"continuing with the measurements in '{state}', if they are of this model, data and settings")
    data, calibration = data_in(arguments), data_in(arguments, "calibration")
    with labels_beside_data(arguments):
        found = search(
            source.module, data, labels=arguments.labels, min_accuracy=arguments.min_accuracy,
            max_drop=arguments.max_drop, max_bytes=arguments.max_bytes, max_time=arguments.max_time,
            measure_time=arguments.measure_time,
            mode=arguments.mode, widen_to=arguments.widen_to, calibration=calibration, profile=source.profile,
            output=arguments.scores, max_steps=arguments.max_steps, state=state, engine=arguments.engine,
            threads=arguments.threads, progress=session.progress, on_step=lambda step: session.detail(str(step)),
            cluster=arguments.cluster, resume=arguments.resume,
            **source.settings,
        )  # fmt: skip
    if found.is_reached:
        _save(output, source, found, arguments)
    session.emit(
        {**found.to_dict(), "output": output if found.is_reached else None},
        lambda: _report(found, output),
    )
    return 0 if found.is_reached else 1


def _save(output: Path, source: FloatModel, found: SearchResult, arguments: argparse.Namespace) -> None:
    """Writes the folder of the quantized model; it already contains the measurements."""
    settings = {**found.quantized.settings, "recipe": RecipeText("search.toml", found.recipe)}
    quantized = replace(found.quantized, settings=settings)
    quantized.save_folder(output, source.stem, quantized.summary(arguments.model, arguments.data))


def _report(found: SearchResult, output: Path) -> str:
    """Formats the result and its location."""
    return f"{found.text()}{output}: the quantized model with its recipe\n" if found.is_reached else found.text()


SEARCH = Command(
    add_arguments,
    run,
    examples=(
        "search model.onnx --data test.npz --labels labels.npy --max-drop 0.01 -o out/",
        "search model.onnx --data test.npz --mode budget --max-bytes 100000 -o out/",
    ),
)
